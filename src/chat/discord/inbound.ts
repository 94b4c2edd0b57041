// Incoming Discord events, in order per channel: messages become events; edits and deletions change waiting ones.
import type {
  API,
  APIMessage,
  GatewayGuildCreateDispatchData,
  GatewayMessageCreateDispatchData,
  GatewayMessageDeleteBulkDispatchData,
  GatewayMessageDeleteDispatchData,
} from '@discordjs/core'
import type { Accepted, Attachment, Changed, Duplicate, NewEvent, Refused, Sender } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import { type AttachmentSeen, dropAttachments } from './attachments.ts'
import { missed, missedSince, pageSize } from './catch-up.ts'
import type { Away, Directs } from './direct-messages.ts'
import { persist, troubleOf } from './errors.ts'
import {
  compareIds,
  eventOf,
  isForUs,
  isFromPerson,
  keyOf,
  type Member,
  type MessageSeen,
  nameOf,
  type Spot,
  senderOf,
  type Us,
  wholeMessage,
  wordsOf,
} from './message.ts'
import { readableIn } from './permissions.ts'
import type { Cursors, Places, Threads } from './places.ts'

export interface InboundParts {
  readonly api: API
  readonly clock: Clock
  readonly cursors: Cursors
  readonly places: Places
  readonly threads: Threads
  readonly directs: Directs
  readonly workspace: string
  readonly opensThreads: boolean
  readonly catchUpMs: number
  ourId(): string
  /** Hands the event to the intake. */
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  change(key: string, event: NewEvent | null): Promise<Changed>
  knows(sender: Sender): boolean
  fetch(message: string, files: readonly AttachmentSeen[]): Promise<readonly Attachment[]>
  /** Tells a person why a message was not accepted. */
  explain(channel: string, message: string, reason: string): Promise<void>
  /** Saves the progress: now, or when there is time. */
  save(when: 'now' | 'soon'): void
  trouble(why: string): void
  catchingUp(places: number): void
  caughtUp(messages: number): void
  broke(error: unknown): void
}

/** Each resolves when it is handled. False: not now; Discord must send it again after the next start. */
export interface Inbound {
  message(message: GatewayMessageCreateDispatchData, missed: boolean): Promise<boolean>
  edited(message: GatewayMessageCreateDispatchData): Promise<boolean>
  deleted(message: GatewayMessageDeleteDispatchData | GatewayMessageDeleteBulkDispatchData): Promise<boolean>
  /** The bot was added to a thread: from now on, messages there are for it. */
  joined(thread: string): Promise<boolean>
  /** The bot was removed from a thread: it is silent there until somebody mentions it. */
  left(thread: string): Promise<boolean>
  /** Handles the messages of a guild (null: direct messages) that were sent while the bot was offline. */
  catchUp(guild: GatewayGuildCreateDispatchData | null, horizon: string | null, signal: AbortSignal): Promise<boolean>
}

type InboundMessage = MessageSeen & {
  readonly attachments: readonly AttachmentSeen[]
  /** Sent while the bot was offline. */
  readonly missed?: boolean
}

/** How many channels are caught up in parallel. */
const atOnce = 4
const directMessagesLookedAt = 200
const rememberedIds = 2000

export function createInbound(parts: InboundParts): Inbound {
  const { api, clock, cursors, places, threads, directs } = parts
  /** The last piece of work of each channel. */
  const lastWork = new Map<string, Promise<unknown>>()
  const slots = createSlots(atOnce)
  /** Ids of handled messages: they may come again when a session is resumed or caught up. */
  const dealtWith = new Set<string>()
  /** How this session started. Null: it was resumed, and Discord replays everything that was missed. */
  let begun: { readonly horizon: string | null; readonly signal: AbortSignal } | null = null

  /** One at a time per channel: a later message must not overtake one whose files take long. */
  function inOrder<T>(channel: string, work: () => Promise<T>): Promise<T> {
    const done = (lastWork.get(channel) ?? Promise.resolve()).then(work, work)
    lastWork.set(channel, done)
    const forget = () => {
      if (lastWork.get(channel) === done) lastWork.delete(channel)
    }
    done.then(forget, forget)
    return done
  }

  const usIn = async (guild: string | null, message: MessageSeen): Promise<Us> => ({
    id: parts.ourId(),
    // Only requested if needed.
    roles: guild !== null && message.mention_roles.length > 0 ? await places.ownRoles(guild) : [],
  })

  async function receive(message: InboundMessage, guild: string | null): Promise<boolean> {
    const { id, channel_id: channel } = message
    if (dealtWith.has(id)) return true
    cursors.began(id)
    const outcome = await decide(message, guild).catch((error: unknown) => {
      parts.broke(error)
      return 'ignored' as const
    })
    if (outcome === 'later') return false
    if (dealtWith.size >= rememberedIds) dealtWith.delete(dealtWith.values().next().value ?? '')
    dealtWith.add(id)
    cursors.seen(channel, guild, id)
    parts.save(outcome === 'ignored' ? 'soon' : 'now')
    return true
  }

  async function decide(message: InboundMessage, guild: string | null): Promise<'taken' | 'ignored' | 'later'> {
    const { channel_id: channel } = message
    if (!isFromPerson(message, { id: parts.ourId() })) return 'ignored'
    if (guild === null) directs.met(message.author.id, channel)
    const us = await usIn(guild, message)
    const takesPart = cursors.takesPart(channel)
    if (!isForUs(message, us, guild === null, takesPart)) return 'ignored'
    const text = wordsOf(message, us)
    const called = message.mentions.some(one => one.id === us.id) || message.mention_roles.length > 0
    // Without the intent, Discord blanks messages that do not mention us, so there is nothing to handle.
    if (text === '' && message.attachments.length === 0 && !called && guild !== null) return 'ignored'
    const { spot, member } = await whereAndWho(message, guild)
    const known = parts.knows(senderOf(message.author.id, member.roles, spot))
    const isReply = message.referenced_message?.author.id === us.id
    const begins = known && !isReply && !text.startsWith('/') && canBegin(spot)
    const conversation = begins ? message.id : channel
    if (conversation !== channel) threads.plan(message.id, channel, text)
    const event = await eventFor(message, text, spot, member, conversation, known)
    const answer = await parts.accept(event)
    if (answer.type !== 'refused') {
      if (spot.parent !== null) cursors.takePart(channel)
      return 'taken'
    }
    threads.drop(message.id)
    // No answer and no cursor: the next start receives the message again and answers it then.
    if (answer.why === 'stopping') return 'later'
    if (message.attachments.length > 0) await dropAttachments(message.id, parts.workspace)
    if (answer.reason !== '') await parts.explain(channel, message.id, answer.reason)
    return 'taken'
  }

  const canBegin = ({ id, guild, parent }: Spot) =>
    parts.opensThreads && guild !== null && parent === null && !threads.impossibleIn(id)

  async function whereAndWho(message: InboundMessage, guild: string | null): Promise<{ spot: Spot; member: Member }> {
    const spot = await places.spot(message.channel_id, guild)
    if (message.member || guild === null) return { spot, member: message.member ?? { roles: [] } }
    // Fetched messages do not include the roles.
    return { spot, member: await places.member(guild, message.author.id) }
  }

  async function eventFor(
    message: InboundMessage,
    text: string,
    spot: Spot,
    member: Member,
    conversation: string,
    known: boolean,
  ): Promise<NewEvent> {
    const { id, author, missed = false } = message
    const attachments = known && message.attachments.length > 0 ? await parts.fetch(id, message.attachments) : []
    const words = text === '' && attachments.length > 0 ? `(${nameOf(author, member)} sent this without text.)` : text
    return eventOf({ id, text: words, author, member, spot, conversation, attachments, missed })
  }

  async function edit(message: InboundMessage, guild: string | null): Promise<void> {
    if (!isFromPerson(message, { id: parts.ourId() })) return
    const us = await usIn(guild, message)
    const { spot, member } = await whereAndWho(message, guild)
    if (!parts.knows(senderOf(message.author.id, member.roles, spot))) return
    const { id, channel_id: channel } = message
    const conversation = threads.has(id) || cursors.takesPart(id) ? id : channel
    await parts.change(keyOf(id), await eventFor(message, wordsOf(message, us), spot, member, conversation, true))
  }

  /** The messages after an id. Waits out temporary problems; skips channels that may not be read. */
  async function pageOf(channel: string, after: string, signal: AbortSignal): Promise<readonly APIMessage[]> {
    try {
      const page = await persist(() => api.channels.getMessages(channel, { after, limit: pageSize }), clock, signal)
      return page.map(one => wholeMessage(one))
    } catch (error) {
      signal.throwIfAborted()
      parts.trouble(`messages missed in channel ${channel} cannot be read: ${troubleOf(error).why}`)
      return []
    }
  }

  /** Up to, but excluding, `upTo` (null: all). Returns how many there were. */
  async function catchUpIn(
    channel: string,
    guild: string | null,
    after: string,
    upTo: string | null,
    signal: AbortSignal,
  ): Promise<number> {
    let found = 0
    for await (const message of missed(last => slots(() => pageOf(channel, last, signal)), after)) {
      if (upTo !== null && compareIds(message.id, upTo) >= 0) break
      found++
      if (!(await receive({ ...message, missed: true }, guild))) throw new NotNow()
    }
    return found
  }

  /** A channel that is new to us may contain earlier messages, and they come first. */
  async function receiveDirect(message: InboundMessage): Promise<boolean> {
    const { id, channel_id: channel } = message
    if (begun && cursors.lastSeen(channel, null) === null) {
      const { horizon, signal } = begun
      const after = missedSince({ seen: null, horizon, newest: id, now: clock.now(), maxAgeMs: parts.catchUpMs })
      try {
        if (after !== null) await catchUpIn(channel, null, after, id, signal)
      } catch (error) {
        if (signal.aborted || error instanceof NotNow) return false
        throw error
      }
    }
    return receive(message, null)
  }

  function channelsOf(guild: GatewayGuildCreateDispatchData | null): readonly Away[] {
    if (guild === null)
      return cursors
        .known(null)
        .slice(0, directMessagesLookedAt)
        .map(({ channel }) => ({ channel, newest: null }))
    const mayRead = readableIn(guild, parts.ourId())
    const readable = [...guild.channels, ...guild.threads].flatMap((one): readonly Away[] =>
      'last_message_id' in one && mayRead(one) ? [{ channel: one.id, newest: one.last_message_id ?? '0' }] : [],
    )
    const listed = new Set([...guild.channels, ...guild.threads].map(({ id }) => id))
    // An archived thread is not listed, but somebody may have written there before it was archived.
    const archived = cursors.known(guild.id).filter(({ channel }) => !listed.has(channel) && cursors.takesPart(channel))
    return [...readable, ...archived.map(({ channel }) => ({ channel, newest: null }))]
  }

  return {
    message({ guild_id: guild, ...message }, missed) {
      const received = { ...message, missed }
      return inOrder(message.channel_id, () =>
        guild === undefined ? receiveDirect(received) : receive(received, guild),
      )
    },

    async edited(message) {
      // Discord also sends updates for link previews; then nobody has edited anything.
      if (message.edited_timestamp === null || message.content === undefined || !message.author) return true
      await inOrder(message.channel_id, () => edit(message, message.guild_id ?? null)).catch(parts.broke)
      return true
    },

    async deleted(message) {
      const ids = 'ids' in message ? message.ids : [message.id]
      const cancel = async () => {
        for (const id of ids) {
          const { changed } = await parts.change(keyOf(id), null)
          if (changed) await dropAttachments(id, parts.workspace)
        }
      }
      await inOrder(message.channel_id, cancel).catch(parts.broke)
      return true
    },

    joined: thread =>
      inOrder(thread, async () => {
        cursors.takePart(thread)
        return true
      }),

    left: thread =>
      inOrder(thread, async () => {
        cursors.leave(thread)
        return true
      }),

    async catchUp(guild, horizon, signal) {
      const guildId = guild?.id ?? null
      const now = clock.now()
      // Nobody can have addressed us before we joined.
      const joined = Date.parse(guild?.joined_at ?? '') || 0
      const maxAgeMs = Math.min(parts.catchUpMs, now - joined)
      const jobs = new Map<string, Promise<number>>()
      const begin = ({ channel, newest }: Away) => {
        const seen = cursors.lastSeen(channel, guildId)
        const after = missedSince({ seen, horizon, newest, now, maxAgeMs })
        if (after === null || jobs.has(channel)) return
        const job = () => catchUpIn(channel, guildId, after, null, signal)
        jobs.set(channel, inOrder(channel, job))
      }
      for (const away of channelsOf(guild)) begin(away)
      const failures: unknown[] = []
      if (guild === null) {
        begun = { horizon, signal }
        try {
          if (horizon !== null) for await (const away of directs.channels(signal)) begin(away)
        } catch (error) {
          failures.push(error)
        }
      }
      if (jobs.size > 0) parts.catchingUp(jobs.size)
      const ends = await Promise.allSettled(jobs.values())
      const found = ends.reduce((sum, end) => sum + (end.status === 'fulfilled' ? end.value : 0), 0)
      if (found > 0) parts.caughtUp(found)
      for (const end of ends) if (end.status === 'rejected') failures.push(end.reason)
      for (const error of failures) if (!signal.aborted && !(error instanceof NotNow)) parts.broke(error)
      return failures.length === 0
    },
  }
}

/** The gateway is stopping: the rest is for the next start. */
class NotNow extends Error {}

/** At most `most` at a time; the others wait. */
function createSlots(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async work => {
    if (running >= most) await new Promise<void>(resolve => waiting.push(resolve))
    running++
    try {
      return await work()
    } finally {
      running--
      waiting.shift()?.()
    }
  }
}
