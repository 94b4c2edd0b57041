// Words for people when something went wrong: what kind of trouble, and what they can do. Nothing of the machine.
import type { FailureReason } from '../base/agent.ts'
import type { RefusalReason } from '../base/event.ts'
import { excerpt } from '../base/scrub.ts'

export interface Failure {
  readonly why: FailureReason
  readonly detail: string
  readonly until?: number
  readonly backend: string
}

type Scrub = (text: string) => string

export function explain(failure: Failure, scrub: Scrub, formatTime: (ms: number) => string = utc): string {
  const { backend } = failure
  const said = firstLine(failure.detail, scrub)
  const quote = said === '' ? '' : ` It said: ${said}`
  switch (failure.why) {
    case 'not-installed':
      return `Not installed: ${backend} is missing on this machine or does not start. Install it there, then send your message again.`
    case 'not-logged-in':
      return `Not logged in: ${backend} needs a login or a valid key. Run \`${backend}\` once in a terminal on that machine and log in, then send your message again.`
    case 'session-lost':
      return `Session lost: ${backend} could not take up the earlier conversation. Send your message again and a new one begins.`
    case 'rate-limited':
      return `Rate limited: ${backend} has reached its usage limit${until(failure.until, formatTime)}.`
    case 'overloaded':
      return `Overloaded: the service behind ${backend} has too much to do${until(failure.until, formatTime)}.`
    case 'refused':
      return `Refused: ${backend} did not accept this request.${quote} Put it differently, or start a new chat.`
    case 'timed-out':
      return `Timed out: ${backend} took too long and was stopped. Ask again, or ask for a smaller step.`
    case 'max-turns':
      return `Max turns: ${backend} used up the steps it may take for one message. Write "continue" to go on.`
    case 'crashed':
      return `Crashed: ${backend} ended unexpectedly.${quote} Try again; if it keeps happening, the owner finds more in the log.`
    case 'unreadable':
      return `Unreadable: ${backend} gave an answer that I could not read. Try again; if it keeps happening, the owner finds more in the log.`
    case 'stopped':
      return `Stopped: ${backend} was stopped before it was done. Write again to go on.`
    default:
      return failure.why satisfies never
  }
}

/** `depth` is how many wait; `max` how many may wait or, for a text that is too long, how many characters it may have. */
export function explainRefusal(why: RefusalReason, { depth, max }: { depth?: number; max?: number } = {}): string {
  switch (why) {
    case 'busy':
      return 'Busy: I am answering as many conversations as I can at once. Please try again later.'
    case 'full': {
      const number = depth === undefined ? '' : ` (${depth}${max === undefined ? '' : ` of ${max}`})`
      return `Queue full: too many messages are waiting${number}. Please try again later.`
    }
    case 'stopping':
      return 'Stopping: I am shutting down and take no new messages. Please try again in a minute.'
    case 'too-long':
      return `Too long: this message has more than ${max ?? 'the allowed'} characters. Please shorten it or send it in parts.`
    case 'empty':
      return 'Empty: there is no text in this message. Please write what you want to ask.'
    case 'cancelled':
      return 'Cancelled: this message was taken back before it was answered. Please send it anew if you want it after all.'
    case 'not-attached':
      return 'Not attached: a file of this message is not there (any more). Please attach it again.'
    case 'stranger':
      return 'Not allowed: I only answer people whom my owner has let in. Please ask to be let in.'
    case 'too-fast':
      return 'Too fast: please wait a moment before you write again.'
    case 'over-budget':
      return 'Over budget: what may be spent today is spent. Please try again tomorrow, or ask my owner.'
    case 'not-stored':
      return 'Not stored: your message could not be saved, so it will not be answered. Please send it again; the owner finds more in the log.'
    default:
      return why satisfies never
  }
}

/** For what was thrown: its type, and as much of its message as may be seen. */
export function explainError(error: unknown, scrub: Scrub): string {
  const { name, message } = partsOf(error)
  const said = firstLine(message, scrub)
  return `Something went wrong (${nameOf(name, scrub)})${said === '' ? '.' : `: ${said}`} Try again; if it keeps happening, the owner finds more in the log.`
}

function until(ms: number | undefined, formatTime: (ms: number) => string): string {
  return ms !== undefined && Math.abs(ms) <= 8.64e15
    ? ` until ${formatTime(ms)}. Ask again then`
    : '; it will answer again later'
}

const utc = (ms: number) => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Scrubbed before it is cut, since a halved key is not recognised; without marks that would change the text around it. */
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
    // A getter of a foreign error threw; even then there is something to say.
    return { name: 'Error', message: '' }
  }
}
