// Commands and buttons that wait for their answer. Stored, so that they are answered in place after a restart.
import type { ChatMemory } from '../../base/chat.ts'

/** A command or button that somebody used, while it can still be answered in place. */
export interface Asked {
  readonly app: string
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly until: number
  /** Only the person who used it sees the answer. */
  readonly privately: boolean
}

export interface PendingQuestions {
  remember(id: string, asked: Asked): void
  /** It cannot be answered in place. */
  forget(id: string): void
  /** The answer is only for the person who asked, even if it can no longer be shown in place. */
  isPrivate(id: string): boolean
  /** Null: not a command, or too long ago. Waits until the command is acknowledged to Discord. */
  open(id: string): Promise<Asked | null>
  /** Answers wait for this. */
  acknowledging(id: string, done: Promise<unknown>): void
}

export function createPendingQuestions(memory: ChatMemory, now: () => number): PendingQuestions {
  const nameOf = (id: string) => `asked:${id}`
  const underway = new Map<string, Promise<unknown>>()
  const stored = (id: string): Asked | null => {
    const text = memory.get(nameOf(id))
    return text === null ? null : (JSON.parse(text) as Asked)
  }
  return {
    remember: (id, asked) => memory.put(nameOf(id), JSON.stringify(asked)),
    forget(id) {
      const asked = stored(id)
      memory.put(nameOf(id), asked?.privately ? JSON.stringify({ ...asked, until: 0 }) : null)
    },
    isPrivate: id => stored(id)?.privately === true,
    async open(id) {
      await underway.get(id)
      const asked = stored(id)
      return asked && asked.until > now() ? asked : null
    },
    acknowledging(id, done) {
      underway.set(
        id,
        done.finally(() => underway.delete(id)),
      )
    },
  }
}
