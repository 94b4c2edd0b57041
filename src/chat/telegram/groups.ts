// Groups that became supergroups: they have another id now, but stay the same conversation.
import type { ChatMemory } from '../../base/chat.ts'

export interface Groups {
  moved(from: number, to: number): void
  /** Where a message to this chat is sent. */
  current(chat: number): number
  /** The id under which the conversation began: its lane, its session and the channels of jobs keep it. */
  original(chat: number): number
}

export function openGroups(memory: ChatMemory): Groups {
  // Without a colon in its name, the entry is kept for good.
  const name = 'moved'
  const read = () => JSON.parse(memory.get(name) ?? '{}') as Record<string, number>
  let known = read()
  return {
    moved(from, to) {
      if (known[from] === to || from === to) return
      known = { ...read(), [from]: to }
      memory.put(name, JSON.stringify(known))
    },
    current: chat => known[chat] ?? chat,
    original(chat) {
      const [from] = Object.entries(known).find(([, to]) => to === chat) ?? []
      return from === undefined ? chat : Number(from)
    },
  }
}
