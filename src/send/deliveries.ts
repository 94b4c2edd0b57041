// Turns an answer into deliveries: worded and split to fit the platform, each with a key that makes a repeat harmless.
// The only path from the outbox to a platform: posts each delivery until the platform has accepted or refused it.
import type { ChatAdapter, ChatLimits, Delivery, FileScope } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { FollowUp, Outcome, Taken } from '../base/lanes.ts'
import { placeName } from '../base/place.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { split } from './split.ts'

export interface Wording {
  readonly kind: Delivery['kind']
  readonly text: string
  readonly ok: boolean
  /** Distinguishes several notices about the same message. */
  readonly tag?: string
}

/** The key of the first (often only) piece of an event's final. */
export const finalKey = (eventKey: string) => `${eventKey}#final`

export interface LinkedFiles {
  /** The workspace files that a text links to. */
  filesIn(text: string, scope?: FileScope): readonly string[]
  /** Which files may be sent for these events, which are answered together. Undefined: those of the owner. */
  scopeOf(events: readonly NewEvent[]): FileScope | undefined
}

const noFiles: LinkedFiles = { filesIn: () => [], scopeOf: () => undefined }

type Answered = Pick<Taken<NewEvent>, 'key' | 'item' | 'earlier'>

export function createDeliveries(chats: ReadonlyMap<string, ChatAdapter>, { filesIn, scopeOf } = noFiles) {
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
    const { kind, text, ok, tag = '' } = wording
    const { replyTo: place, what } = event
    if (!place) return []
    const about = what.kind === 'message' || what.kind === 'command' ? what.id : null
    const base = kind === 'final' ? finalKey(key) : `${key}#notice-${tag}`
    return piecesFor(text, chats.get(place.chat)?.limits ?? null).map((piece, i) => {
      const files = ok && what.kind !== 'command' ? filesIn(piece, scope) : []
      return {
        queue: 'out',
        lane: placeName(place),
        key: i === 0 ? base : `${base}-${i}`,
        item: {
          ...{ place, kind, about, text: piece, ok },
          ...withFiles(files, scope),
          ...(what.kind === 'command' ? { command: true } : {}),
        } satisfies Delivery,
      }
    })
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
    const { kind, about: answered, text, ok, files = [], scope } = delivery
    const posted = await chat.post(
      delivery.place,
      {
        ...{ key, kind, about: answered, text, ok, action: null },
        ...withFiles(files, scope),
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
