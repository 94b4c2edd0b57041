// Where messages with buttons are, so that a later one can replace them. Stored: the answer may come after a restart.
import type { ChatMemory, Outgoing } from '../base/chat.ts'

export interface Posted {
  readonly channel: string
  readonly id: string
}

export interface Buttoned {
  posted(message: Outgoing, where: Posted): void
  /** The message that this one replaces; null: none that is known. */
  replacedBy(message: Outgoing): Posted | null
}

export function openButtoned(memory: ChatMemory): Buttoned {
  const nameOf = (key: string) => `buttons:${key}`
  return {
    posted({ key, buttons = [] }, where) {
      if (buttons.length > 0) memory.put(nameOf(key), JSON.stringify(where))
    },
    replacedBy: ({ replaces }) =>
      replaces === undefined ? null : (JSON.parse(memory.get(nameOf(replaces)) ?? 'null') as Posted | null),
  }
}
