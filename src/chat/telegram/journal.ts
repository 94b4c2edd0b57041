// What we have posted in each chat, and what we may have posted: recorded before the request, because Telegram has no nonce.
import type { ChatMemory } from '../../base/chat.ts'

/** A request whose outcome is unknown. The message, if it exists, is newer than `after`. */
export interface OpenPost {
  readonly key: string
  readonly after: number
}

export interface Journal {
  /** The message that this key was posted as; null: none that we know of. */
  find(chat: number, key: string): number | null
  open(chat: number): OpenPost | null
  begin(chat: number, key: string): void
  exists(chat: number, key: string, message: number): void
  /** It was not posted. */
  failed(chat: number, key: string): void
  isOurs(chat: number, message: number): boolean
  /** A message with this id exists. */
  seen(chat: number, message: number): void
}

interface Record {
  /** The oldest first. */
  readonly own: readonly (readonly [message: number, key: string])[]
  readonly open: OpenPost | null
}

const mostOwn = 60

export function openJournal(memory: ChatMemory): Journal {
  const nameOf = (chat: number) => `posts:${chat}`
  const load = (chat: number): Record => JSON.parse(memory.get(nameOf(chat)) ?? '{"own":[],"open":null}') as Record
  const store = (chat: number, { own, open }: Record) =>
    memory.put(nameOf(chat), JSON.stringify({ own: own.slice(-mostOwn), open }))
  /** The highest id we know. A supergroup counts its own messages; all other chats of the bot share one counter. */
  const newest = new Map<string, number>()
  const counterOf = (chat: number) => (isSupergroup(chat) ? String(chat) : 'shared')

  const seen = (chat: number, message: number) => {
    const counter = counterOf(chat)
    if (message > (newest.get(counter) ?? 0)) newest.set(counter, message)
  }

  return {
    seen,
    find(chat, key) {
      const [message] = load(chat).own.find(([, of]) => of === key) ?? []
      return message ?? null
    },
    open: chat => load(chat).open,
    begin(chat, key) {
      const { own } = load(chat)
      const after = Math.max(newest.get(counterOf(chat)) ?? 0, ...own.map(([message]) => message))
      store(chat, { own, open: { key, after } })
    },
    exists(chat, key, message) {
      const { own, open } = load(chat)
      seen(chat, message)
      const others = own.filter(([id, of]) => id !== message && of !== key)
      store(chat, { own: [...others, [message, key]], open: open?.key === key ? null : open })
    },
    failed(chat, key) {
      const { own, open } = load(chat)
      if (open?.key === key) store(chat, { own, open: null })
    },
    isOurs: (chat, message) => load(chat).own.some(([id]) => id === message),
  }
}

/** Their ids are -100 and ten digits or more; those of other groups are greater. */
export const isSupergroup = (chat: number): boolean => chat <= -1_000_000_000_000
