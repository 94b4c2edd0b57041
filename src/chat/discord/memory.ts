// What must survive a restart: commands and buttons that wait for their answer, and how far each channel was read.
import type { ChatMemory } from '../../base/chat.ts'
import { before, compareIds, laterOf } from './message.ts'

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

// Cursors: the last handled message of each channel, and the threads the bot is in.

export interface Cursors {
  /** Handling of this message has started. */
  began(message: string): void
  /** Everything in this channel up to this message has been handled. */
  seen(channel: string, guild: string | null, message: string): void
  lastSeen(channel: string, guild: string | null): string | null
  /** Everything up to this message has been handled, in all channels; null: this is the first start. */
  horizon(): string | null
  /** Earlier messages are ignored. */
  beginAt(message: string): void
  /** The horizon does not move until all missed messages have been handled. */
  hold(): void
  release(): void
  /** Channels of a guild (null: direct messages) with handled messages, the latest first. */
  known(guild: string | null): readonly { readonly channel: string; readonly seen: string }[]
  takesPart(thread: string): boolean
  takePart(thread: string): void
  leave(thread: string): void
  /** Saves the changes. */
  save(): void
}

export function openCursors(memory: ChatMemory): Cursors {
  const news = new Map<string, string>()
  const parts = new Map<string, boolean>()
  const open = new Set<string>()
  let settled = memory.get('horizon')
  let latest = settled
  let held = false

  const nameOf = (channel: string, guild: string | null) => `seen:${guild ?? '@me'}:${channel}`
  const lastSeen = (channel: string, guild: string | null) => {
    const name = nameOf(channel, guild)
    return news.get(name) ?? memory.get(name)
  }
  const thread = (id: string) => `in:${id}`

  /** Not past a message in progress: channels without a cursor are caught up from the horizon. */
  const settle = () => {
    if (held || latest === null) return
    let reached = latest
    for (const id of open) if (compareIds(id, reached) <= 0) reached = before(id)
    settled = settled === null ? reached : laterOf(settled, reached)
  }

  return {
    lastSeen,
    horizon: () => settled,
    began: message => void open.add(message),
    seen(channel, guild, message) {
      open.delete(message)
      latest = latest === null ? message : laterOf(latest, message)
      const known = lastSeen(channel, guild)
      news.set(nameOf(channel, guild), known === null ? message : laterOf(known, message))
    },
    beginAt(message) {
      latest = message
      settled = message
      memory.put('horizon', message)
    },
    hold() {
      settle()
      held = true
    },
    release() {
      held = false
    },
    known(guild) {
      const prefix = `seen:${guild ?? '@me'}:`
      return memory.list(prefix).map(({ name, value }) => ({ channel: name.slice(prefix.length), seen: value }))
    },
    takesPart(id) {
      // Called for every message, so it is cached.
      const known = parts.get(id) ?? memory.get(thread(id)) !== null
      if (parts.size > 10_000) parts.clear()
      parts.set(id, known)
      return known
    },
    takePart(id) {
      parts.set(id, true)
      memory.put(thread(id), '')
    },
    leave(id) {
      parts.set(id, false)
      memory.put(thread(id), null)
    },
    save() {
      const before = settled
      settle()
      if (settled !== null && settled !== before) memory.put('horizon', settled)
      for (const [name, value] of news) memory.put(name, value)
      news.clear()
    },
  }
}
