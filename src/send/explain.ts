// Explains failures to people: what kind of problem it is and what they can do. Reveals nothing about the machine.
import type { FailureReason } from '../base/agent.ts'
import type { RefusalReason } from '../base/event.ts'
import { excerpt } from '../base/scrub.ts'

export interface Failure {
  readonly why: FailureReason
  readonly detail: string
  readonly until?: number
  readonly backend: string
  /** The command to log in; if missing, the name of the backend. */
  readonly loginWith?: string
}

type Scrub = (text: string) => string

export function explain(failure: Failure, scrub: Scrub, formatTime: (ms: number) => string = utc): string {
  const { backend } = failure
  const message = firstLine(failure.detail, scrub)
  const quote = message === '' ? '' : ` It said: ${message}`
  switch (failure.why) {
    case 'not-installed':
      return `Not installed: ${backend} is missing on this machine or does not start. Install it there, then send your message again.`
    case 'not-logged-in':
      return `Not logged in: ${backend} needs a login or a valid key. Run \`${failure.loginWith ?? backend}\` once in a terminal on that machine and log in, then send your message again.`
    case 'session-lost':
      return `Session lost: ${backend} could not resume the earlier conversation. Send your message again to start a new one.`
    case 'rate-limited':
      return `Rate limited: ${backend} has reached its usage limit${until(failure.until, formatTime)}.`
    case 'overloaded':
      return `Overloaded: the service behind ${backend} is overloaded${until(failure.until, formatTime)}.`
    case 'refused':
      return `Refused: ${backend} did not accept this request.${quote} Rephrase it, or start a new chat.`
    case 'unknown-model':
      return `Unknown model: ${backend} does not know the chosen model, or you have no access to it.${quote} Choose another with \`/model NAME\`, or go back with \`/model default\`; for a job or hook, change its \`Model:\` line.`
    case 'timed-out':
      return `Timed out: ${backend} took too long and was stopped. Ask again, or ask for a smaller step.`
    case 'max-turns':
      return `Max turns: ${backend} reached the maximum number of steps for one message. Write "continue" to continue.`
    case 'crashed':
      return `Crashed: ${backend} ended unexpectedly.${quote} Try again; if it keeps happening, the owner can find details in the log.`
    case 'unreadable':
      return `Unreadable: ${backend} gave an answer that could not be read. Try again; if it keeps happening, the owner can find details in the log.`
    case 'no-room':
      return `No room: this machine has too many files and processes open to start ${backend}. Try again in a minute; the owner can find details in the log.`
    case 'stopped':
      return `Stopped: ${backend} was stopped before it finished. Write again to continue.`
    default:
      return failure.why satisfies never
  }
}

/** `depth`: how many are waiting. `max`: how many may wait or, for a text that is too long, its maximum length. */
export function explainRefusal(why: RefusalReason, { depth, max }: { depth?: number; max?: number } = {}): string {
  switch (why) {
    case 'busy':
      return 'Busy: I am answering as many conversations as I can at once. Please try again later.'
    case 'full': {
      const number = depth === undefined ? '' : ` (${depth}${max === undefined ? '' : ` of ${max}`})`
      return `Queue full: too many messages are waiting${number}. Please try again later.`
    }
    case 'stopping':
      return 'Stopping: I am shutting down and accept no new messages. Please try again in a minute.'
    case 'too-long':
      return `Too long: this message has more than ${max ?? 'the allowed'} characters. Please shorten it or send it in parts.`
    case 'empty':
      return 'Empty: there is no text in this message. Please write what you want to ask.'
    case 'cancelled':
      return 'Cancelled: this message was withdrawn before it was answered. Please send it again if you still want an answer.'
    case 'not-attached':
      return 'Not attached: a file of this message no longer exists. Please attach it again.'
    case 'stranger':
      return 'Not allowed: I only answer people whom my owner has approved. Please ask the owner for access.'
    case 'too-fast':
      return 'Too fast: please wait a moment before you write again.'
    case 'over-budget':
      return 'Over budget: the budget for today is used up. Please try again tomorrow, or ask my owner.'
    case 'used-up':
      return 'Used up: you have had as many answers as you may have in an hour. Please try again later.'
    case 'not-stored':
      return 'Not stored: your message could not be saved, so it will not be answered. Please send it again; the owner can find details in the log.'
    default:
      return why satisfies never
  }
}

/** For thrown errors: the type, and the part of the message that may be shown. */
export function explainError(error: unknown, scrub: Scrub): string {
  const { name, message } = partsOf(error)
  const shown = firstLine(message, scrub)
  return `Something went wrong (${nameOf(name, scrub)})${shown === '' ? '.' : `: ${shown}`} Try again; if it keeps happening, the owner can find details in the log.`
}

function until(ms: number | undefined, formatTime: (ms: number) => string): string {
  return ms !== undefined && Math.abs(ms) <= 8.64e15
    ? ` until ${formatTime(ms)}. Ask again then`
    : '; it will answer again later'
}

const utc = (ms: number) => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Scrubs before cutting, because half a key is not recognized. Removes backticks, which would change the text around it. */
function firstLine(text: string, scrub: Scrub): string {
  const line = scrub(text)
    .split('\n')
    .find(one => /[\p{L}\d]/u.test(one))
  const words = excerpt((line ?? '').replace(/[`\s]+/g, ' '), 200).replace(/[.:,]$/, '')
  return words === '' || /[!?…]$/.test(words) ? words : `${words}.`
}

function nameOf(name: string, scrub: Scrub): string {
  return /^[\w$. -]{1,80}$/.test(name) && scrub(name) === name ? name : 'Error'
}

function partsOf(error: unknown): { readonly name: string; readonly message: string } {
  try {
    if (error instanceof Error) return { name: String(error.name), message: String(error.message) }
    return { name: typeof error, message: typeof error === 'string' ? error : '' }
  } catch {
    // A getter of a foreign error threw; there must still be a message.
    return { name: 'Error', message: '' }
  }
}
