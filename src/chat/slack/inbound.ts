// Incoming messages, in order per channel: they become events; edits and deletions change waiting ones.
import type { ChatPeople } from '../../base/chat-module.ts'
import type { Accepted, Attachment, Changed, Duplicate, NewEvent, Refused, Sender } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import { forwarded } from '../quoted.ts'
import { type CatchUpParts, channelsOf, missedIn } from './catch-up.ts'
import type { Directory } from './directory.ts'
import {
  conversationOf,
  eventOf,
  type FileSeen,
  idOf,
  isDirect,
  isFromPerson,
  isMentioned,
  keyOf,
  type MessageSeen,
  promptOf,
  type Self,
  senderOf,
  threadOf,
} from './message.ts'
import { overlapMs, type Progress } from './progress.ts'
import { before, laterOf, timestampAt } from './timestamp.ts'

export interface InboundParts extends CatchUpParts {
  readonly clock: Clock
  readonly directory: Directory
  readonly progress: Progress
  readonly opensThreads: boolean
  readonly catchUpMs: number
  self(): Self
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  change(key: string, event: NewEvent | null): Promise<Changed>
  readonly knows: ChatPeople['knows']
  fetch(message: string, files: readonly FileSeen[]): Promise<readonly Attachment[]>
  drop(message: string): Promise<void>
  /** A typed command in the form that every chat has. */
  asCommand(text: string): string
  /** Tells a person why a message was not accepted. */
  explain(message: MessageSeen, reason: string): Promise<void>
  save(when: 'now' | 'soon'): void
  catchingUp(places: number): void
  caughtUp(messages: number): void
  broke(error: unknown): void
}

/** Each resolves when it is handled. False: not now; Slack must send it again. */
export interface Inbound {
  message(message: MessageSeen): Promise<boolean>
  edited(message: MessageSeen): Promise<boolean>
  deleted(channel: string, ts: string): Promise<boolean>
  catchUp(signal: AbortSignal): Promise<void>
}

/** How many channels are caught up in parallel. */
const atOnce = 4

export function createInbound(parts: InboundParts): Inbound {
  const { progress, directory, clock } = parts
  const turns = new Map<string, Promise<unknown>>()
  /** New messages wait until it is known in which channels others come first. */
  let listed: Promise<unknown> = Promise.resolve()

  /** One at a time per channel: a later message must not overtake one whose files take long. */
  function inOrder<T>(channel: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(channel) ?? Promise.resolve()).then(work, work)
    turns.set(channel, turn)
    const leave = () => {
      if (turns.get(channel) === turn) turns.delete(channel)
    }
    turn.then(leave, leave)
    return turn
  }

  /** A message comes twice if it mentions us, and again if Slack has not heard from us in time. */
  async function receive(message: MessageSeen, missed: boolean): Promise<boolean> {
    const id = idOf(message.channel, message.ts)
    if (progress.isDone(id)) return true
    progress.began(id, message.ts)
    const outcome = await decide(message, missed).catch((error: unknown) => {
      parts.broke(error)
      return 'ignored' as const
    })
    if (outcome === 'later') return false
    progress.ended(id, message.ts, outcome === 'taken')
    parts.save(outcome === 'taken' ? 'now' : 'soon')
    return true
  }

  async function decide(message: MessageSeen, missed: boolean): Promise<'taken' | 'ignored' | 'later'> {
    if (!isFromPerson(message, parts.self()) || !isForUs(message)) return 'ignored'
    const { channel, ts, files = [] } = message
    const { sender, text } = await understand(message)
    const thread = threadOf(message)
    const known = parts.knows(sender)
    const begins = thread === null && known && parts.opensThreads && !isDirect(channel) && !text.startsWith('/')
    const event = await eventFor(message, sender, text, begins ? ts : thread, known, missed)
    const answer = await parts.accept(event)
    if (answer.type !== 'refused') {
      const own = begins ? ts : thread
      if (own !== null) progress.takePart(channel, own)
      return 'taken'
    }
    // Not confirmed and not remembered: it comes again, and is answered then.
    if (answer.why === 'stopping') return 'later'
    if (files.length > 0) await parts.drop(idOf(channel, ts))
    if (answer.reason !== '') await parts.explain(message, answer.reason)
    return 'taken'
  }

  function isForUs(message: MessageSeen): boolean {
    const { channel, parent_user_id } = message
    if (isDirect(channel) || isMentioned(message, parts.self())) return true
    const thread = threadOf(message)
    return thread !== null && (parent_user_id === parts.self().id || progress.takesPart(channel, thread))
  }

  async function understand(message: MessageSeen): Promise<{ readonly sender: Sender; readonly text: string }> {
    const { channel, user = '', attachments = [] } = message
    const self = parts.self()
    const spot = { channel, name: await directory.channel(channel), thread: threadOf(message) }
    const sender = senderOf(user, message.user_team ?? message.team ?? self.team, spot, self)
    const own = await promptOf(message.text ?? '', self, directory)
    const shared = attachments.flatMap(({ is_share, text = '' }) => (is_share && text !== '' ? [text] : []))
    const all = [...shared.map(forwarded), own].filter(Boolean).join('\n\n')
    return { sender, text: parts.asCommand(all) }
  }

  async function eventFor(
    message: MessageSeen,
    sender: Sender,
    text: string,
    thread: string | null,
    known: boolean,
    missed: boolean,
  ): Promise<NewEvent> {
    const { channel, ts, files = [] } = message
    const id = idOf(channel, ts)
    const name = await directory.user(sender.user)
    const attachments = known && files.length > 0 ? await parts.fetch(id, files) : []
    const words = text === '' && attachments.length > 0 ? `(${name} sent this without text.)` : text
    const author = { id: sender.user, name }
    return eventOf({
      id,
      text: words,
      author,
      sender,
      conversation: conversationOf(channel, thread),
      attachments,
      ts,
      missed,
    })
  }

  async function edit(message: MessageSeen): Promise<void> {
    if (!isFromPerson(message, parts.self())) return
    const { sender, text } = await understand(message)
    if (!parts.knows(sender)) return
    const { channel, ts } = message
    const thread = threadOf(message) ?? (progress.takesPart(channel, ts) && !isDirect(channel) ? ts : null)
    await parts.change(keyOf(idOf(channel, ts)), await eventFor(message, sender, text, thread, true, false))
  }

  async function cancel(channel: string, ts: string): Promise<void> {
    const id = idOf(channel, ts)
    const { changed } = await parts.change(keyOf(id), null)
    if (changed) await parts.drop(id)
  }

  async function catchUpIn(channel: string, oldest: string, signal: AbortSignal): Promise<number> {
    let found = 0
    for (const message of await missedIn(parts, channel, oldest, progress.threadsOf(channel), signal)) {
      const id = idOf(channel, message.ts)
      if (progress.isDone(id)) continue
      if (!(await receive(message, true))) throw new NotNow()
      if (progress.isDone(id)) found++
    }
    return found
  }

  const settled = async (work: Promise<unknown>): Promise<boolean> => {
    await work.catch(parts.broke)
    return true
  }

  return {
    message: message => listed.then(() => inOrder(message.channel, () => receive(message, false))),
    edited: message => settled(inOrder(message.channel, () => edit(message))),
    deleted: (channel, ts) => settled(inOrder(channel, () => cancel(channel, ts))),

    async catchUp(signal) {
      const since = progress.since()
      const now = clock.now()
      // On the first start, earlier messages are not answered.
      if (since === null) return progress.beginAt(timestampAt(now))
      progress.hold()
      const left = laterOf(before(since, overlapMs), progress.origin() ?? since)
      const oldest = laterOf(left, timestampAt(now - parts.catchUpMs))
      const listing = Promise.withResolvers<void>()
      listed = listing.promise
      try {
        const channels = await channelsOf(parts, signal)
        const slots = createSlots(atOnce)
        const jobs = channels.map(({ id, name, is_im }) => {
          directory.learnChannel(id, is_im ? null : (name ?? id))
          return inOrder(id, () => slots(() => catchUpIn(id, oldest, signal)))
        })
        listing.resolve()
        if (jobs.length > 0) parts.catchingUp(jobs.length)
        const ends = await Promise.allSettled(jobs)
        const found = ends.reduce((sum, end) => sum + (end.status === 'fulfilled' ? end.value : 0), 0)
        if (found > 0) parts.caughtUp(found)
        const failures = ends.flatMap(end => (end.status === 'rejected' ? [end.reason as unknown] : []))
        for (const error of failures) if (!signal.aborted && !(error instanceof NotNow)) parts.broke(error)
        if (failures.length === 0) progress.release()
      } finally {
        listing.resolve()
      }
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
