// Answers on their way out. `createDeliveries` turns an answer into deliveries for the outbox: worded and split to fit the platform, each with
// a key that makes a repeat harmless. `createDeliver` works on the outbox: it posts each delivery until the platform has accepted or refused it.
import type { FailureReason, TurnEnd } from '../base/agent.ts'
import type { ChatAdapter, ChatLimits, Delivery, FileScope, TextDocument } from '../base/chat.ts'
import { type EventPayload, type NewEvent, placeName } from '../base/event.ts'
import type { FollowUp, Outcome, Taken } from '../base/lanes.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { explain, explainError } from './explain.ts'
import { split } from './split.ts'

export interface Wording {
  readonly kind: Delivery['kind']
  readonly text: string
  readonly ok: boolean
  /** Distinguishes several notices about the same message. */
  readonly tag?: string
  /** Sent as a file where the chat takes files; elsewhere it follows the text. */
  readonly document?: TextDocument
}

/** The key of the first (often only) piece of an event's final. */
export const finalKey = (eventKey: string) => `${eventKey}#final`

export interface LinkedFiles {
  /** The workspace file at this path; null: there is none that may be sent. */
  find(path: string, scope?: FileScope): string | null
  /** Which files may be sent for these events, which are answered together. Undefined: those of the owner. */
  scopeOf(events: readonly NewEvent[]): FileScope | undefined
}

const noFiles: LinkedFiles = { find: () => null, scopeOf: () => undefined }

type Answered = Pick<Taken<NewEvent>, 'key' | 'item' | 'earlier'>

export function createDeliveries(chats: ReadonlyMap<string, ChatAdapter>, { find, scopeOf } = noFiles) {
  return (taken: Answered, wording: Wording): readonly FollowUp[] => {
    const scope = scopeOf([...taken.earlier.map(one => one.item), taken.item])
    return [
      // Only a message needs a visible end, because somebody is waiting for it. Reports and webhooks do not.
      ...(wording.kind === 'final'
        ? taken.earlier
            .filter(one => one.item.what.kind === 'message')
            .flatMap(one => deliveriesTo(one.item, one.key, togetherWith(wording)))
        : []),
      ...deliveriesTo(taken.item, taken.key, wording, scope),
    ]
  }

  function deliveriesTo(event: NewEvent, key: string, wording: Wording, scope?: FileScope): readonly FollowUp[] {
    const { kind, ok, tag = '', document } = wording
    const { replyTo: place, what } = event
    if (!place) return []
    const about = what.kind === 'message' || what.kind === 'command' ? what.id : null
    const base = kind === 'final' ? finalKey(key) : `${key}#notice-${tag}`
    const limits = chats.get(place.chat)?.limits ?? null
    const asFile = document && limits?.fileOver !== undefined
    const text = document && !asFile ? `${wording.text}\n\n${document.text}` : wording.text
    return piecesFor(text, limits).map((piece, i) => {
      const files = ok && what.kind !== 'command' ? filesLinkedIn(piece, path => find(path, scope)) : []
      return {
        queue: 'out',
        lane: placeName(place),
        key: i === 0 ? base : `${base}-${i}`,
        item: {
          ...{ place, kind, about, text: piece, ok },
          ...withFiles(files, scope),
          ...(asFile && { document }),
          ...(what.kind === 'command' ? { command: true } : {}),
        } satisfies Delivery,
      }
    })
  }
}

const mostLinked = { files: 10, links: 1000 }

/** The files that a text links to, as far as `find` finds them. */
export function filesLinkedIn(text: string, find: (path: string) => string | null): readonly string[] {
  const found = new Set<string>()
  for (const target of targetsIn(text)) {
    if (found.size >= mostLinked.files) break
    const file = find(target)
    if (file !== null) found.add(file)
  }
  return [...found]
}

/** The targets of markdown links and images that can only be paths. Linear, because an answer may contain anything. */
function targetsIn(text: string): ReadonlySet<string> {
  const targets = new Set<string>()
  for (const [, between = ''] of text.matchAll(/\]\(([^()\n]+)\)/g)) {
    // Looking for each file takes a while, and no answer links to that many.
    if (targets.size >= mostLinked.links) break
    const target = between.trim().replace(/^<|>$/g, '')
    if (/^[a-z][a-z\d+.-]*:|^[/\\#?~]|[<>]/i.test(target)) continue
    const plain = decoded(target).replace(/^(?:\.\/)+/, '')
    if (plain !== '' && !plain.includes('\0')) targets.add(plain)
  }
  return targets
}

function decoded(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target // A stray % is no encoding.
  }
}

/** The fields of a delivery that name its files. */
export const withFiles = (files: readonly string[], scope?: FileScope): Pick<Delivery, 'files' | 'scope'> =>
  files.length === 0
    ? {}
    : { files, ...(scope && { scope: { ...scope, files: scope.files.filter(file => files.includes(file)) } }) }

const togetherWith = ({ ok }: Wording): Wording => ({
  kind: 'final',
  text: ok
    ? 'Answered together with your next message.'
    : 'Handled together with your next message, which failed. See the error there.',
  ok,
})

/** For chats that take no files, names the files in the text, which would make no sense or be empty without them. */
export function withFilesNamed(text: string, files: readonly string[], limits: ChatLimits | null): string {
  const named = limits?.namesFiles === true ? files.filter(file => !text.includes(file)) : []
  if (named.length === 0) return text
  const list = named.map(file => `\`${file}\``).join(', ')
  return `${text.trimEnd()}\n\nIn the workspace: ${list}`.trimStart()
}

/** Splits a text into pieces that fit the platform. */
export function piecesFor(text: string, limits: ChatLimits | null): readonly string[] {
  const tooLong = limits !== null && limits.measure(text) > limits.length
  const asFile = limits?.fileOver !== undefined && limits.measure(text) > limits.fileOver
  const parts = limits && tooLong && !asFile ? split(text, limits) : [text]
  // Every message gets a visible end, even if the agent had nothing to say.
  return parts.some(part => part.trim() !== '') ? parts : ['(The agent finished without an answer.)']
}

/** After this many retries over this much time, a delivery is given up. */
const most = { retries: 100, ms: 12 * 3_600_000 }
const longestPauseMs = 600_000

export function createDeliver(chats: ReadonlyMap<string, ChatAdapter>, clock: Clock, emit: Emit) {
  return async (taken: Taken<Delivery>, signal: AbortSignal): Promise<Outcome> => {
    const { id, key, retries, item: delivery } = taken
    const about = { id, place: delivery.place, length: delivery.text.length }
    const chat = chats.get(delivery.place.chat)
    if (!chat) {
      emit({ type: 'delivery-refused', ...about, why: `the chat ${delivery.place.chat} is not enabled` })
      return { type: 'failed', why: 'chat-off' }
    }
    const { kind, about: answered, text, ok, files = [], scope, document, buttons, replaces } = delivery
    const posted = await chat.post(
      delivery.place,
      {
        ...{ key, kind, about: answered, text, ok, action: null },
        ...withFiles(files, scope),
        ...(document && { document }),
        ...(buttons && { buttons }),
        ...(replaces !== undefined && { replaces }),
      },
      signal,
    )
    switch (posted.type) {
      case 'posted':
        emit({ type: 'delivery-sent', ...about })
        return { type: 'done' }
      case 'absent':
        return { type: 'later', at: Number.POSITIVE_INFINITY }
      case 'refused':
        emit({ type: 'delivery-refused', ...about, why: posted.why })
        return { type: 'failed', why: posted.why }
      case 'try-again': {
        if (retries >= most.retries && clock.now() - taken.at >= most.ms) {
          emit({ type: 'delivery-refused', ...about, why: `gave up after ${retries} tries: ${posted.why}` })
          return { type: 'failed', why: posted.why }
        }
        emit({ type: 'delivery-delayed', ...about, why: posted.why })
        const pause = Math.max(posted.afterMs, Math.min(longestPauseMs, 500 * 2 ** Math.min(retries, 20)))
        return { type: 'later', at: clock.now() + pause, retry: true }
      }
      default:
        return posted satisfies never
    }
  }
}

/** A text with its files, as the chat takes it. Files without text are a message too. */
export function piecesOf(text: string, files: readonly string[], limits: ChatLimits | null): readonly string[] {
  const whole = withFilesNamed(text, files, limits)
  return whole.trim() === '' ? [''] : piecesFor(whole, limits)
}

// Words the outcome of a turn for people.

export interface Voice {
  readonly scrub: (text: string) => string
  readonly formatTime: (ms: number) => string
  /** The command to log in to a backend. */
  readonly loginWith: (backend: string) => string
}

/**
 * The message about an event; null: none. Nobody waits for scheduled events and hooks: people get their results, but no word of
 * a delay, and a failed heartbeat is retried soon anyway.
 */
export function wordingFor(kind: EventPayload['kind'], end: TurnEnd, voice: Voice): Wording | null {
  const wording = wordingOf(end, voice)
  switch (kind) {
    case 'message':
    case 'command':
    case 'report':
      return wording
    case 'heartbeat':
    case 'cron':
    case 'hook':
    case 'webhook': {
      if (wording.kind === 'notice' || (kind === 'heartbeat' && !wording.ok)) return null
      if (end.type !== 'answered') return wording
      // An agent that talks while it works and then ends with the silence word has nothing to report.
      if (end.last !== undefined && withoutSilence(end.last) === null) return null
      // Before our own notes are appended: with them it would never be silent.
      const text = withoutSilence(end.text)
      return text === null ? null : wordingOf({ ...end, text }, voice)
    }
    // The result goes to its parent.
    case 'assignment':
      return null
    default:
      return kind satisfies never
  }
}

export function wordingOf(end: TurnEnd, { scrub, formatTime, loginWith }: Voice): Wording {
  switch (end.type) {
    case 'answered':
      return { kind: 'final', ok: true, text: [end.text, ...notesOn(end)].join('\n\n') }
    case 'stopped':
      return { kind: 'final', ok: false, text: end.text.trim() === '' ? 'Stopped.' : `${end.text}\n\n*Stopped.*` }
    case 'put-off':
      return {
        kind: 'notice',
        ok: true,
        // It may take many retries until there is room; one notice is enough.
        tag: end.why === 'no-room' ? end.why : String(end.until),
        text: `${temporaryProblem(end.why, end.backend)} ${end.why === 'no-room' ? 'I will answer as soon as there is room' : `I will try again at ${formatTime(end.until)}`}.`,
      }
    case 'set-aside':
      return {
        kind: 'final',
        ok: false,
        text: `I started this message ${end.attempts} times and was interrupted each time, so I gave up on it. Check what has been done so far, then send it again if you want.`,
      }
    case 'broke':
      return { kind: 'final', ok: false, text: explainError(end.error, scrub) }
    case 'failed':
      return {
        kind: 'final',
        ok: false,
        text: explain({ ...end, loginWith: loginWith(end.backend) }, scrub, formatTime),
      }
    default:
      return end satisfies never
  }
}

function temporaryProblem(why: FailureReason, backend: string): string {
  if (why === 'rate-limited') return `${backend} has reached its usage limit.`
  if (why === 'no-room') return 'This machine has too many files and processes open to start the agent.'
  return why === 'overloaded' ? `The service behind ${backend} is overloaded.` : `${backend} ended unexpectedly.`
}

function notesOn({ sessionWasLost, instead, backend }: Extract<TurnEnd, { type: 'answered' }>): readonly string[] {
  const lost = sessionWasLost ? [lostNote] : []
  const moved = instead.map(one => `*(${briefly(one.why, one.backend)} This answer is from ${backend}.)*`)
  return [...lost, ...moved.slice(0, 1)]
}

function briefly(why: FailureReason, backend: string): string {
  if (why === 'not-installed') return `${backend} is not installed.`
  return why === 'not-logged-in' ? `${backend} is not logged in.` : temporaryProblem(why, backend)
}

const lostNote = '*(The earlier session was lost; I continued from the recent messages of this conversation.)*'

/** The silence word as models write it: escaped, spaced, in any case. */
const word = 'HEARTBEAT[\\s_\\\\*-]{0,3}OK'
const longest = 20
const atStart = new RegExp(`^${word}(?![\\p{L}\\p{N}])`, 'iu')
const atEnd = new RegExp(`(?<![\\p{L}\\p{N}])${word}$`, 'iu')
/** Some models write it at both ends. */
const rounds = 3

/** The text without the silence word at either end, in any markdown or punctuation; null: nothing is left. */
export function withoutSilence(text: string): string | null {
  let rest = text
  for (let round = 0; round < rounds; round++) rest = withoutTrailing(withoutLeading(rest))
  return /[\p{L}\p{N}]/u.test(rest) ? rest.trim() : null
}

function withoutLeading(text: string): string {
  const first = text.search(/[\p{L}\p{N}]/u)
  const [found] = (first < 0 ? null : atStart.exec(text.slice(first, first + longest))) ?? []
  return found === undefined ? text : text.slice(first + found.length).replace(/^[*_`~"'”’.!:;,)\]}>]+/u, '')
}

function withoutTrailing(text: string): string {
  const end = text.search(/[\p{L}\p{N}][^\p{L}\p{N}]*$/u)
  const head = text.slice(0, end + 1)
  const [found] = (end < 0 ? null : atEnd.exec(head.slice(-longest))) ?? []
  if (found === undefined) return text
  const before = head.slice(0, -found.length).trimEnd()
  // Also drops the opening marks around the word: a fence, a quote, emphasis.
  return before.slice(0, 1 + lastOutside(before, '*_`~"\'“‘([{<> \n-'))
}

function lastOutside(text: string, marks: string): number {
  let at = text.length - 1
  while (at >= 0 && marks.includes(text[at] ?? '')) at--
  return at
}
