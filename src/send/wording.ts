// How a turn came out, in words for the person.
import type { FailureReason, TurnEnd } from '../base/agent.ts'
import type { Happening } from '../base/event.ts'
import { explain, explainError } from './explain.ts'
import type { Wording } from './letters.ts'
import { withoutSilence } from './silence.ts'

export interface Voice {
  readonly scrub: (text: string) => string
  readonly formatTime: (ms: number) => string
}

/**
 * What is said about an event; null: nothing. Nobody waits for what time or a program set off: they are told what came of it, not
 * that it is late, and the check that failed is tried again soon anyway.
 */
export function wordingFor(kind: Happening['kind'], end: TurnEnd, voice: Voice): Wording | null {
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
      // Before our own notes come behind it: with them it would never be silence.
      const text = withoutSilence(end.text)
      return text === null ? null : wordingOf({ ...end, text }, voice)
    }
    // Its parent hears of it.
    case 'assignment':
      return null
    default:
      return kind satisfies never
  }
}

export function wordingOf(end: TurnEnd, { scrub, formatTime }: Voice): Wording {
  switch (end.type) {
    case 'answered':
      return { kind: 'final', ok: true, text: [end.text, ...notesOn(end)].join('\n\n') }
    case 'stopped':
      return { kind: 'final', ok: false, text: end.text.trim() === '' ? 'Stopped.' : `${end.text}\n\n*Stopped.*` }
    case 'put-off':
      return {
        kind: 'notice',
        ok: true,
        mark: String(end.until),
        text: `${whatPasses(end.why, end.backend)} I will try again at ${formatTime(end.until)}.`,
      }
    case 'set-aside':
      return {
        kind: 'final',
        ok: false,
        text: `This message was begun ${end.attempts} times and cut off each time, so I set it aside. Look at what has been done so far, then send it again if you want.`,
      }
    case 'broke':
      return { kind: 'final', ok: false, text: explainError(end.error, scrub) }
    case 'failed':
      return { kind: 'final', ok: false, text: explain(end, scrub, formatTime) }
    default:
      return end satisfies never
  }
}

function whatPasses(why: FailureReason, backend: string): string {
  if (why === 'rate-limited') return `${backend} has reached its usage limit.`
  return why === 'overloaded' ? `The service behind ${backend} has too much to do.` : `${backend} ended unexpectedly.`
}

function notesOn({ sessionWasLost, instead, backend }: Extract<TurnEnd, { type: 'answered' }>): readonly string[] {
  const lost = sessionWasLost ? [lostNote] : []
  const moved = instead.map(one => `*(${shortly(one.why, one.backend)} This answer is from ${backend}.)*`)
  return [...lost, ...moved.slice(0, 1)]
}

function shortly(why: FailureReason, backend: string): string {
  if (why === 'not-installed') return `${backend} is not installed.`
  return why === 'not-logged-in' ? `${backend} is not logged in.` : whatPasses(why, backend)
}

const lostNote = '*(The earlier session was lost; I went on from the recent messages of this conversation.)*'
