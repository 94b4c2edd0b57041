// The servers, channels and threads we are in: their names and roles, from gateway events or requested if missing, and how far each was read.
import type { API, GatewayGuildCreateDispatchData } from '@discordjs/core'
import type { ChatMemory } from '../../base/chat.ts'
import type { Clock } from '../../base/time.ts'
import { codes, troubleOf } from './errors.ts'
import { before, compareIds, laterOf, type Member, type Spot, wholeMember } from './message.ts'

interface KnownGuild {
  readonly name: string
  /** The bot's own roles. */
  readonly ownRoles: readonly string[]
}

interface KnownChannel {
  readonly name: string
  readonly guild: string | null
  /** Of a thread: its parent channel. */
  readonly parent: string | null
}

/** The fields that all of Discord's channel types have. */
export interface ChannelData {
  readonly id: string
  readonly type: number
  readonly name?: string | null
  readonly parent_id?: string | null
  readonly guild_id?: string
}

export interface Places {
  learnGuild(guild: GatewayGuildCreateDispatchData): void
  learnChannel(channel: ChannelData, guild: string | null): void
  forgetGuild(guild: string): void
  forgetChannel(channel: string): void
  /** If the name cannot be found out, it is the channel's id. */
  spot(channel: string, guild: string | null): Promise<Spot>
  /** The guild of a channel. Undefined: the channel is unknown. */
  guildOf(channel: string): string | null | undefined
  ownRoles(guild: string): Promise<readonly string[]>
  member(guild: string, user: string): Promise<Member>
}

/** Announcement, public and private threads. */
const threadTypes: readonly number[] = [10, 11, 12]
const inDirectMessages: readonly number[] = [1, 3]

/** Attempts before a message is handled without its place: the gate may depend on it. */
const tries = 4
const longestPauseMs = 5000

export function openPlaces(api: API, ourId: () => string, clock: Clock, trouble: (error: unknown) => void): Places {
  const guilds = new Map<string, KnownGuild>()
  const channels = new Map<string, KnownChannel>()
  const requests = new Map<string, Promise<void>>()

  const learnRoles = (
    id: string,
    name: string,
    roles: readonly { readonly id: string; readonly tags?: { readonly bot_id?: string } }[],
  ) => {
    const ownRoles = roles.filter(({ tags }) => tags?.bot_id === ourId()).map(role => role.id)
    guilds.set(id, { name, ownRoles })
  }

  const learnChannel = ({ id, type, name, parent_id }: ChannelData, guild: string | null) => {
    const parent = threadTypes.includes(type) ? (parent_id ?? null) : null
    channels.set(id, { name: name ?? id, guild: inDirectMessages.includes(type) ? null : guild, parent })
  }

  /** One request at a time for the same thing; after a failure, the next message tries again. */
  const once = (what: string, ask: () => Promise<void>): Promise<void> => {
    const running = requests.get(what)
    if (running) return running
    const request = withRetries(ask)
      .catch(trouble)
      .finally(() => requests.delete(what))
    requests.set(what, request)
    return request
  }

  async function withRetries<T>(ask: () => Promise<T>): Promise<T> {
    for (let n = 1; ; n++) {
      try {
        return await ask()
      } catch (error) {
        const found = troubleOf(error)
        if (found.type !== 'passing' || n >= tries) throw error
        const pause = Math.min(longestPauseMs, Math.max(found.afterMs, 100 * 2 ** n))
        await clock.sleep(pause, new AbortController().signal)
      }
    }
  }

  const guildOf = async (id: string): Promise<KnownGuild> => {
    if (!guilds.has(id))
      await once(`guild ${id}`, async () => {
        // A compatible server may leave the roles out.
        const { name, roles = [] } = await api.guilds.get(id)
        learnRoles(id, name, roles)
      })
    return guilds.get(id) ?? { name: id, ownRoles: [] }
  }

  const channelOf = async (id: string, guild: string | null): Promise<KnownChannel> => {
    if (!channels.has(id))
      await once(`channel ${id}`, async () => {
        const channel = await api.channels.get(id)
        const { name, parent_id } = channel as ChannelData
        learnChannel({ id, type: channel.type, name: name ?? null, parent_id: parent_id ?? null }, guild)
      })
    return channels.get(id) ?? { name: id, guild, parent: null }
  }

  return {
    learnChannel,
    learnGuild({ id, name, roles, channels: all, threads }) {
      learnRoles(id, name, roles)
      for (const one of [...all, ...threads]) learnChannel(one as ChannelData, id)
    },
    forgetGuild(id) {
      guilds.delete(id)
      for (const [channel, { guild }] of channels) if (guild === id) channels.delete(channel)
    },
    forgetChannel: id => void channels.delete(id),
    async spot(id, guild) {
      if (guild === null) return { id, name: '', guild: null, parent: null }
      const { name, parent } = await channelOf(id, guild)
      const above = parent === null ? null : { id: parent, name: (await channelOf(parent, guild)).name }
      return { id, name, guild: { id: guild, name: (await guildOf(guild)).name }, parent: above }
    },
    guildOf: channel => channels.get(channel)?.guild,
    ownRoles: async guild => (await guildOf(guild)).ownRoles,
    async member(guild, user) {
      try {
        return wholeMember(await withRetries(() => api.guilds.getMember(guild, user)))
      } catch (error) {
        trouble(error)
        return { roles: [] }
      }
    },
  }
}

// Threads that we open: a conversation that starts in a channel gets one with its first answer.

export interface Threads {
  /** Plans a thread for the conversation that starts with this message. */
  plan(message: string, channel: string, name: string): void
  /** Whether a thread is planned, or was refused, for this message. */
  has(message: string): boolean
  /** Threads are not allowed in this channel, so messages there share one conversation. */
  impossibleIn(channel: string): boolean
  /** Cancels the plan: the message is not answered. */
  drop(message: string): void
  /** The channel to post to for a conversation. Opens the planned thread if needed. */
  channelOf(conversation: string): Promise<string>
}

interface PlannedThread {
  readonly channel: string
  readonly name: string
  /** It cannot be opened, so the answers go to the channel. */
  readonly refused?: true
}

const dayInMinutes = 1440

export function openThreads(api: API, memory: ChatMemory, opened: (thread: string) => void): Threads {
  const nameOf = (id: string) => `thread:${id}`
  const underway = new Map<string, Promise<string>>()
  /** Until the next start; by then it may be allowed. */
  const impossible = new Set<string>()

  /** A thread that starts with a message has the id of that message. */
  async function open(id: string, planned: PlannedThread): Promise<string> {
    try {
      const body = { name: planned.name, auto_archive_duration: dayInMinutes }
      await api.channels.createThread(planned.channel, body, id)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble.type !== 'refused') throw error
      if (trouble.code !== codes.threadExists) {
        if (trouble.code !== codes.unknownMessage) impossible.add(planned.channel)
        memory.put(nameOf(id), JSON.stringify({ ...planned, refused: true }))
        return planned.channel
      }
    }
    opened(id)
    memory.put(nameOf(id), null)
    return id
  }

  return {
    plan: (message, channel, name) => memory.put(nameOf(message), JSON.stringify({ channel, name: titleOf(name) })),
    has: message => memory.get(nameOf(message)) !== null,
    impossibleIn: channel => impossible.has(channel),
    drop: message => memory.put(nameOf(message), null),
    async channelOf(conversation) {
      const text = memory.get(nameOf(conversation))
      if (text === null) return conversation
      const planned = JSON.parse(text) as PlannedThread
      if (planned.refused) return planned.channel
      const opening = underway.get(conversation) ?? open(conversation, planned)
      underway.set(conversation, opening)
      return opening.finally(() => underway.delete(conversation))
    },
  }
}

/** Discord allows names of 1 to 100 characters. */
function titleOf(text: string): string {
  const line = [...text.replace(/\s+/g, ' ').trim()]
  return line.length === 0 ? 'Conversation' : line.length <= 80 ? line.join('') : `${line.slice(0, 79).join('')}…`
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
