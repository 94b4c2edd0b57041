// Words the outcome of a turn for people.
import type { FailureReason, TurnEnd } from '../base/agent.ts'
import type { EventPayload } from '../base/event.ts'
import type { Wording } from './deliveries.ts'
import { explain, explainError } from './explain.ts'

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
