// Commands and buttons that somebody used, while they can still be answered in place; and people who are answered privately.
import type { ChatMemory } from '../../base/chat.ts'

export interface Asked {
  /** Slack's address for answers: good for half an hour, five times. */
  readonly url: string
  /** Milliseconds since the epoch. */
  readonly until: number
  /** Only the person who used it sees the answer. */
  readonly privately: boolean
  readonly user: string
  readonly used: number
}

export interface Questions {
  remember(id: string, asked: Omit<Asked, 'used'>): void
  /** Null: it was not a command or button. */
  find(id: string): Asked | null
  /** Whether the address can be used (once more). */
  use(id: string): boolean
  /** What this message is told is only for its author. */
  answerPrivately(message: string, user: string): void
  privateFor(message: string): string | null
}

const mostUses = 5

export function openQuestions(memory: ChatMemory, now: () => number): Questions {
  const nameOf = (id: string) => `asked:${id}`
  const find = (id: string) => JSON.parse(memory.get(nameOf(id)) ?? 'null') as Asked | null
  return {
    find,
    remember: (id, asked) => memory.put(nameOf(id), JSON.stringify({ ...asked, used: 0 })),
    use(id) {
      const asked = find(id)
      if (asked === null || asked.until <= now() || asked.used >= mostUses) return false
      memory.put(nameOf(id), JSON.stringify({ ...asked, used: asked.used + 1 }))
      return true
    },
    answerPrivately: (message, user) => memory.put(`author:${message}`, user),
    privateFor: message => memory.get(`author:${message}`),
  }
}
