// What we have posted in each chat, and what we may have posted: recorded before the request, because Telegram has no nonce.
import type { Button, ChatMemory } from '../../base/chat.ts'

/** A request whose outcome is unknown. The message, if it exists, is newer than `after`. */
export interface OpenPost {
  readonly key: string
  readonly after: number
  /** Missing: it has none. */
  readonly buttons?: readonly Button[]
}

export interface Journal {
  /** The message that this key was posted as; null: none that we know of. */
  find(chat: number, key: string): number | null
  open(chat: number): OpenPost | null
  /** `about`: the message it answers, which is older; 0: none. */
  begin(chat: number, key: string, about: number, buttons: readonly Button[]): void
  exists(chat: number, key: string, message: number): void
  /** It was not posted. */
  failed(chat: number, key: string): void
  /** Whether we know whose message has this id, in this chat or in one that shares its counter. */
  isKnown(chat: number, message: number): boolean
  /** Somebody's message has this id. */
  seen(chat: number, message: number): void
}

interface Record {
  /** The oldest first. */
  readonly own: readonly (readonly [message: number, key: string])[]
  readonly open: OpenPost | null
}

const mostOwn = 60
const mostSeen = 500

export function openJournal(memory: ChatMemory): Journal {
  const nameOf = (chat: number) => `posts:${chat}`
  const load = (chat: number): Record => JSON.parse(memory.get(nameOf(chat)) ?? '{"own":[],"open":null}') as Record
  const store = (chat: number, { own, open }: Record) =>
    memory.put(nameOf(chat), JSON.stringify({ own: own.slice(-mostOwn), open }))
  /** A supergroup counts its own messages; all other chats of the bot share one counter. */
  const counterOf = (chat: number) => (isSupergroup(chat) ? String(chat) : 'shared')
  const recent = new Map<string, Set<number>>()
  const newestName = (counter: string) => `newest:${counter}`
  const newest = (counter: string) => Number(memory.get(newestName(counter)) ?? 0)

  const seen = (chat: number, message: number) => {
    const counter = counterOf(chat)
    const ids = recent.get(counter) ?? new Set()
    recent.set(counter, ids.add(message))
    if (ids.size > mostSeen) ids.delete(ids.values().next().value ?? 0)
    if (message > newest(counter)) memory.put(newestName(counter), String(message))
  }

  return {
    seen,
    find(chat, key) {
      const [message] = load(chat).own.find(([, of]) => of === key) ?? []
      return message ?? null
    },
    open: chat => load(chat).open,
    begin(chat, key, about, buttons) {
      const { own } = load(chat)
      const after = Math.max(newest(counterOf(chat)), about, ...own.map(([message]) => message))
      store(chat, { own, open: { key, after, ...(buttons.length > 0 && { buttons }) } })
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
    isKnown: (chat, message) =>
      load(chat).own.some(([id]) => id === message) || recent.get(counterOf(chat))?.has(message) === true,
  }
}

/** Their ids are -100 and ten digits or more; those of other groups are greater. */
export const isSupergroup = (chat: number): boolean => chat <= -1_000_000_000_000
