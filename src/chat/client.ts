// A connection that listens to a conversation. It only sends what the client does not know yet.
import type { Connected, Socket } from '../base/socket.ts'
import type { ServerFrame } from './frames.ts'

export interface Client {
  /** True: it has left this process and arrives even if the process is killed now. */
  send(frame: ServerFrame): boolean
  /** Whether everything sent so far has arrived. */
  reached(): Promise<boolean>
  /** The whole text so far. A client that accepts parts gets only the new part. */
  draft(id: string, text: string): void
  /** Sends at most `most` changed positions: the nearest, and those that are off by most. True: there are more. */
  waiting(positions: ReadonlyMap<string, number>, most: number): boolean
}

export function createClient(socket: Socket, { drafts }: Connected): Client {
  /** The draft texts that the client has. */
  const shown = new Map<string, string>()
  let sent = new Map<string, number>()

  const send = (frame: ServerFrame): boolean => {
    if (frame.type === 'final') shown.delete(frame.id)
    if (frame.type === 'waiting') sent.set(frame.id, frame.position)
    return socket.send(JSON.stringify(frame))
  }

  return {
    send,
    reached: () => socket.reached(),
    draft(id, text) {
      if (drafts === 'whole') return void send({ type: 'draft', id, text })
      const before = shown.get(id)
      shown.set(id, text)
      if (before === undefined || !text.startsWith(before)) return void send({ type: 'draft', id, text })
      // Half a surrogate pair is sent again with its other half.
      const from = /[\ud800-\udbff]$/.test(before) ? before.length - 1 : before.length
      send({ type: 'draft', id, from, text: text.slice(from) })
    },
    waiting(positions, most) {
      // Forget messages that are no longer waiting.
      sent = new Map([...sent].filter(([id]) => positions.has(id)))
      const changed = [...positions].filter(([id, position]) => sent.get(id) !== position)
      for (const [id, position] of changed.length > most ? urgent(changed, sent, most) : changed)
        send({ type: 'waiting', id, position })
      return changed.length > most
    },
  }
}

type Place = readonly [id: string, position: number]

function urgent(changed: readonly Place[], sent: ReadonlyMap<string, number>, most: number): readonly Place[] {
  const near = changed.slice(0, most / 2)
  const wrongBy = ([id, position]: Place) => Math.abs((sent.get(id) ?? Number.POSITIVE_INFINITY) - position)
  const far = changed.slice(most / 2).sort((a, b) => (wrongBy(a) < wrongBy(b) ? 1 : -1))
  return [...near, ...far.slice(0, most / 2)]
}
