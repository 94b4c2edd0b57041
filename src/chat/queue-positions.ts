// Reports queue positions as the queue moves: immediately, then at a fixed rate however long the queue is.
import type { Client } from './client.ts'

interface PositionsParts {
  /** By the ids of the waiting messages, the next one first. */
  positions(conversation: string): ReadonlyMap<string, number>
  listeners(conversation: string): readonly Client[]
}

/** For each client and update. */
const most = 40
const pauseMs = 200
/** Positions that were left out follow when the queue stops moving. */
const restMs = 1000

export function createPositions({ positions, listeners }: PositionsParts) {
  const pausing = new Map<string, { moved: boolean }>()
  const owed = new Map<string, NodeJS.Timeout>()

  const emit = (conversation: string): void => {
    clearTimeout(owed.get(conversation))
    owed.delete(conversation)
    const clients = listeners(conversation)
    if (clients.length === 0) return
    const now = positions(conversation)
    const isMore = clients.map(client => client.waiting(now, most)).includes(true)
    const pause = { moved: false }
    pausing.set(conversation, pause)
    setTimeout(() => {
      pausing.delete(conversation)
      if (pause.moved) emit(conversation)
      else if (isMore) owed.set(conversation, setTimeout(emit, restMs - pauseMs, conversation).unref())
    }, pauseMs).unref()
  }

  return {
    moved(conversation: string): void {
      const pause = pausing.get(conversation)
      if (pause) pause.moved = true
      else emit(conversation)
    },
    /** Sends all positions to a client that has just connected. */
    greet: (conversation: string, client: Client): void =>
      void client.waiting(positions(conversation), Number.POSITIVE_INFINITY),
  }
}
