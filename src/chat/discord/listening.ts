// What happens on Discord, one channel after its own order: messages become events, edits and deletions change what waits.
import type {
  API,
  APIMessage,
  GatewayGuildCreateDispatchData,
  GatewayMessageCreateDispatchData,
  GatewayMessageDeleteBulkDispatchData,
  GatewayMessageDeleteDispatchData,
} from '@discordjs/core'
import type { Accepted, Attachment, Changed, Duplicate, NewEvent, Refused, Standing } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import { type AttachmentSeen, dropAttachments } from './attachments.ts'
import { missed, missedSince, pageSize } from './catch-up.ts'
import {
  eventOf,
  isForUs,
  isFromPerson,
  keyOf,
  type Member,
  type MessageSeen,
  nameOf,
  type Spot,
  standingOf,
  type Us,
  wordsOf,
} from './heard.ts'
import type { Marks } from './marks.ts'
import { readableIn } from './permissions.ts'
import type { Places } from './places.ts'
import type { Threads } from './threads.ts'
import { troubleOf } from './trouble.ts'

export interface ListeningParts {
  readonly api: API
  readonly clock: Clock
  readonly marks: Marks
  readonly places: Places
  readonly threads: Threads
  readonly workspace: string
  readonly opensThreads: boolean
  readonly catchUpMs: number
  ourId(): string
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  change(key: string, event: NewEvent | null): Promise<Changed>
  knows(standing: Standing): boolean
  fetch(message: string, files: readonly AttachmentSeen[]): Promise<readonly Attachment[]>
  /** Tells a person why a message was not taken. */
  explain(channel: string, message: string, reason: string): Promise<void>
  /** What was dealt with is to be written down: at once, or when there is time. */
  save(when: 'now' | 'soon'): void
  trouble(why: string): void
  catchingUp(places: number): void
  caughtUp(messages: number): void
  broke(error: unknown): void
}

/** All resolve when it is dealt with. False: not now, but it is to be told again after the next start. */
export interface Listening {
  message(message: GatewayMessageCreateDispatchData): Promise<boolean>
  edited(message: GatewayMessageCreateDispatchData): Promise<boolean>
  deleted(message: GatewayMessageDeleteDispatchData | GatewayMessageDeleteBulkDispatchData): Promise<boolean>
  /** We were taken into a thread: what is said there from now on is for us. */
  joined(thread: string): Promise<boolean>
  /** We were sent out of a thread: there we are silent until somebody calls us. */
  left(thread: string): Promise<boolean>
  /** What was said in a guild (null: to us directly) while we were away. */
  catchUp(guild: GatewayGuildCreateDispatchData | null, horizon: string | null, signal: AbortSignal): Promise<boolean>
}

type Heard = MessageSeen & { readonly attachments: readonly AttachmentSeen[] }

/** How many channels are caught up with side by side. */
const atOnce = 4
const directMessagesLookedAt = 200
const rememberedIds = 2000

export function openListening(parts: ListeningParts): Listening {
  const { api, clock, marks, places, threads } = parts
  const turns = new Map<string, Promise<unknown>>()
  const slots = openSlots(atOnce)
  /** What was heard may come again when a session is resumed or caught up with. */
  const dealtWith = new Set<string>()

  /** One after the other in a channel: files that take long must not let a later message pass. */
  function inOrder<T>(channel: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(channel) ?? Promise.resolve()).then(work, work)
    turns.set(channel, turn)
    const leave = () => {
      if (turns.get(channel) === turn) turns.delete(channel)
    }
    turn.then(leave, leave)
    return turn
  }

  const usIn = async (guild: string | null, message: MessageSeen): Promise<Us> => ({
    id: parts.ourId(),
    // Only asked for when it matters.
    roles: guild !== null && message.mention_roles.length > 0 ? await places.ownRoles(guild) : [],
  })

  async function hear(message: Heard, guild: string | null): Promise<boolean> {
    const { id, channel_id: channel } = message
    if (dealtWith.has(id)) return true
    marks.began(id)
    const outcome = await judge(message, guild).catch((error: unknown) => {
      parts.broke(error)
      return 'ignored' as const
    })
    if (outcome === 'later') return false
    if (dealtWith.size >= rememberedIds) dealtWith.delete(dealtWith.values().next().value ?? '')
    dealtWith.add(id)
    marks.seen(channel, guild, id)
    parts.save(outcome === 'ignored' ? 'soon' : 'now')
    return true
  }

  async function judge(message: Heard, guild: string | null): Promise<'taken' | 'ignored' | 'later'> {
    const { channel_id: channel } = message
    if (!isFromPerson(message, { id: parts.ourId() })) return 'ignored'
    const us = await usIn(guild, message)
    const takesPart = marks.takesPart(channel)
    if (!isForUs(message, us, guild === null, takesPart)) return 'ignored'
    const text = wordsOf(message, us)
    const called = message.mentions.some(one => one.id === us.id) || message.mention_roles.length > 0
    // Without the intent, Discord blanks the text of what does not mention us: nothing was heard then.
    if (text === '' && message.attachments.length === 0 && !called && guild !== null) return 'ignored'
    const { spot, member } = await whereAndWho(message, guild)
    const known = parts.knows(standingOf(message.author.id, member.roles, spot))
    const isReply = message.referenced_message?.author.id === us.id
    const begins = known && !isReply && !text.startsWith('/') && canBegin(spot)
    const conversation = begins ? message.id : channel
    if (conversation !== channel) threads.owe(message.id, channel, text)
    const event = await eventFor(message, text, spot, member, conversation, known)
    const answer = await parts.accept(event)
    if (answer.type !== 'refused') {
      if (spot.parent !== null) marks.takePart(channel)
      return 'taken'
    }
    threads.drop(message.id)
    // Nobody is told and nothing noted: the next start hears it again and answers it then.
    if (answer.why === 'stopping') return 'later'
    if (message.attachments.length > 0) await dropAttachments(message.id, parts.workspace)
    if (answer.reason !== '') await parts.explain(channel, message.id, answer.reason)
    return 'taken'
  }

  const canBegin = ({ id, guild, parent }: Spot) =>
    parts.opensThreads && guild !== null && parent === null && !threads.impossibleIn(id)

  async function whereAndWho(message: Heard, guild: string | null): Promise<{ spot: Spot; member: Member }> {
    const spot = await places.spot(message.channel_id, guild)
    if (message.member || guild === null) return { spot, member: message.member ?? { roles: [] } }
    // What is fetched instead of heard does not tell the roles.
    return { spot, member: await places.member(guild, message.author.id) }
  }

  async function eventFor(
    message: Heard,
    text: string,
    spot: Spot,
    member: Member,
    conversation: string,
    known: boolean,
  ): Promise<NewEvent> {
    const { id, author } = message
    const attachments = known && message.attachments.length > 0 ? await parts.fetch(id, message.attachments) : []
    const words = text === '' && attachments.length > 0 ? `(${nameOf(author, member)} sent this without a word.)` : text
    return eventOf({ id, text: words, author, member, spot, conversation, attachments })
  }

  async function edit(message: Heard, guild: string | null): Promise<void> {
    if (!isFromPerson(message, { id: parts.ourId() })) return
    const us = await usIn(guild, message)
    const { spot, member } = await whereAndWho(message, guild)
    if (!parts.knows(standingOf(message.author.id, member.roles, spot))) return
    const { id, channel_id: channel } = message
    const conversation = threads.has(id) || marks.takesPart(id) ? id : channel
    await parts.change(keyOf(id), await eventFor(message, wordsOf(message, us), spot, member, conversation, true))
  }

  /** The messages after one; what passes is waited for, what is forbidden is skipped. */
  async function pageOf(channel: string, after: string, signal: AbortSignal): Promise<readonly APIMessage[]> {
    for (let tries = 0; ; tries++) {
      try {
        return await api.channels.getMessages(channel, { after, limit: pageSize })
      } catch (error) {
        const found = troubleOf(error)
        signal.throwIfAborted()
        if (found.type !== 'passing') {
          parts.trouble(`what was said meanwhile in channel ${channel} cannot be read: ${found.why}`)
          return []
        }
        await clock.sleep(Math.max(found.afterMs, Math.min(60_000, 500 * 2 ** Math.min(tries, 10))), signal)
        signal.throwIfAborted()
      }
    }
  }

  async function catchUpIn(channel: string, guild: string | null, after: string, signal: AbortSignal) {
    let found = 0
    for await (const message of missed(last => slots(() => pageOf(channel, last, signal)), after)) {
      found++
      if (!(await hear(message, guild))) throw new NotNow()
    }
    return found
  }

  interface Away {
    readonly channel: string
    readonly newest: string | null
  }

  function channelsOf(guild: GatewayGuildCreateDispatchData | null): readonly Away[] {
    if (guild === null)
      return marks
        .known(null)
        .slice(0, directMessagesLookedAt)
        .map(({ channel }) => ({ channel, newest: null }))
    const mayRead = readableIn(guild, parts.ourId())
    const told = [...guild.channels, ...guild.threads].flatMap((one): readonly Away[] =>
      'last_message_id' in one && mayRead(one) ? [{ channel: one.id, newest: one.last_message_id ?? '0' }] : [],
    )
    const listed = new Set([...guild.channels, ...guild.threads].map(({ id }) => id))
    // A thread that fell asleep meanwhile is not told of, but perhaps somebody spoke there before it did.
    const asleep = marks.known(guild.id).filter(({ channel }) => !listed.has(channel) && marks.takesPart(channel))
    return [...told, ...asleep.map(({ channel }) => ({ channel, newest: null }))]
  }

  return {
    message: message => inOrder(message.channel_id, () => hear(message, message.guild_id ?? null)),

    async edited(message) {
      // Discord also tells of previews it has made; nobody has written anything then.
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
        marks.takePart(thread)
        return true
      }),

    left: thread =>
      inOrder(thread, async () => {
        marks.leave(thread)
        return true
      }),

    async catchUp(guild, horizon, signal) {
      const guildId = guild?.id ?? null
      const now = clock.now()
      // Nobody can have meant us before we were there.
      const joined = Date.parse(guild?.joined_at ?? '') || 0
      const maxAgeMs = Math.min(parts.catchUpMs, now - joined)
      const jobs = channelsOf(guild).flatMap(({ channel, newest }) => {
        const seen = marks.lastSeen(channel, guildId)
        const after = missedSince({ seen, horizon, newest, now, maxAgeMs })
        return after === null ? [] : [inOrder(channel, () => catchUpIn(channel, guildId, after, signal))]
      })
      if (jobs.length > 0) parts.catchingUp(jobs.length)
      const ends = await Promise.allSettled(jobs)
      const found = ends.reduce((sum, end) => sum + (end.status === 'fulfilled' ? end.value : 0), 0)
      if (found > 0) parts.caughtUp(found)
      const failures = ends.flatMap(end => (end.status === 'rejected' ? [end.reason as unknown] : []))
      for (const error of failures) if (!signal.aborted && !(error instanceof NotNow)) parts.broke(error)
      return failures.length === 0
    },
  }
}

/** The gateway is stopping: the rest is for the next start. */
class NotNow extends Error {}

/** So many at a time, the others wait. */
function openSlots(most: number): <T>(work: () => Promise<T>) => Promise<T> {
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
