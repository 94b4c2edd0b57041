// What the adapters of all platforms have in common: their life; and sending, where the draft ends first, an invalid token ends everything,
// and no draft is left behind.
import { type ChatAdapter, type ChatMemory, ChatUnusable, type Outgoing, type Posted } from '../base/chat.ts'
import type { EventSink, NewEvent, Place, Refused } from '../base/event.ts'
import { createSerial } from '../base/serial.ts'
import type { Clock } from '../base/time.ts'
import { within } from '../base/within.ts'
import type { Answers, DraftNote, Drafts } from './live-drafts.ts'
import type { StopNotes } from './stop-notes.ts'
import { type AnyTrouble, postedOf } from './trouble.ts'

export interface SenderParts<Trouble extends AnyTrouble> {
  readonly answers: Answers
  readonly stops?: StopNotes
  troubleOf(error: unknown): Trouble
  /** Resolves with the id of the message. */
  deliver(place: Place, message: Outgoing, signal: AbortSignal): Promise<string>
  removeDraft(about: string, draft: DraftNote): Promise<void>
  /** It has been sent: it would not be sent again even if we were killed now. */
  sent(deliveryKey: string): void
  refusedToken(): void
  /** What else an error says. */
  learn?(trouble: Trouble, place: Place): void
}

export interface Sender {
  post(place: Place, message: Outgoing, drafts: Drafts, signal: AbortSignal): Promise<Posted>
  /** Removes drafts whose answer was posted elsewhere. Failures are left for the next time. */
  removeLeftDrafts(): Promise<void>
  /** The token is invalid: nothing more is sent, because platforms block bots that keep trying. */
  isOver(): boolean
}

export function createSender<Trouble extends AnyTrouble>(parts: SenderParts<Trouble>): Sender {
  const { answers, stops } = parts
  let over: Trouble | null = null
  const inOrder = createSerial()

  const removeLeftDrafts = () =>
    inOrder(async () => {
      // Temporary problems: the draft stays on the list.
      for (const { about, draft } of over ? [] : answers.left())
        await parts.removeDraft(about, draft).catch(() => undefined)
    })

  function failed(error: unknown, place: Place, answered: string | null): Posted {
    const trouble = parts.troubleOf(error)
    if (trouble.type === 'token') {
      over = trouble
      parts.refusedToken()
    }
    parts.learn?.(trouble, place)
    if (trouble.type === 'refused' && answered !== null) {
      answers.leaveDraft(answered)
      void removeLeftDrafts()
    }
    return postedOf(trouble)
  }

  return {
    removeLeftDrafts,
    isOver: () => over !== null,
    async post(place, message, drafts, signal) {
      if (over) return postedOf(over)
      const answered = message.kind === 'final' ? message.about : null
      try {
        if (answered !== null) {
          await drafts.finish(answered)
          stops?.over(answered)
        }
        signal.throwIfAborted()
        const id = await parts.deliver(place, message, signal)
        parts.sent(message.key)
        if (message.kind === 'final') void removeLeftDrafts()
        return { type: 'posted', ref: { place, id } }
      } catch (error) {
        return failed(error, place, answered)
      }
    },
  }
}

/** Resolves with false if the platform refuses it permanently. */
export const createUnlessRefused =
  (troubleOf: (error: unknown) => AnyTrouble) =>
  async (doing: Promise<unknown>): Promise<boolean> => {
    try {
      await doing
      return true
    } catch (error) {
      if (troubleOf(error).type === 'refused') return false
      throw error
    }
  }

// The life of an adapter: from the sink it is given to the end of what is in progress.

const stopping: Refused = { type: 'refused', why: 'stopping', reason: 'Stopping: please try again in a minute.' }
/** Events in progress get this long at shutdown. The platform sends the rest again. */
const endingMs = 3000

export function createLifetime(clock: Clock) {
  const unusable = Promise.withResolvers<never>()
  unusable.promise.catch(() => undefined)
  /** The intake; null while the chat is not running. */
  let sink: EventSink | null = null
  let life: AbortSignal = new AbortController().signal
  const underway = new Set<Promise<unknown>>()
  return {
    signal: () => life,
    accept: async (event: NewEvent) => (sink ? sink(event) : stopping),
    /** Ends the chat: it cannot be used as configured. */
    giveUp: (why: string) => unusable.reject(new ChatUnusable(why)),
    /** The end waits for it. An event that throws would throw again: it is reported, and counts as handled. */
    handling(work: Promise<boolean>, broke: (error: unknown) => void): Promise<boolean> {
      const handled = work.catch((error: unknown) => {
        broke(error)
        return true
      })
      underway.add(handled)
      void handled.then(() => underway.delete(handled))
      return handled
    },
    async run(given: EventSink, signal: AbortSignal, connect: (life: AbortSignal) => Promise<void>): Promise<void> {
      const ending = new AbortController()
      sink = given
      life = AbortSignal.any([signal, ending.signal])
      const connected = connect(life)
      try {
        await Promise.race([connected, unusable.promise])
      } finally {
        sink = null
        ending.abort()
        await connected.catch(() => undefined)
        await within(Promise.allSettled(underway), endingMs, clock)
      }
    },
  }
}

/** Drafts are shown when their turn comes; everything else is posted. */
export const postOrDraft = (
  drafts: Drafts,
  post: (place: Place, message: Outgoing, signal: AbortSignal) => Promise<Posted>,
): Pick<ChatAdapter, 'post' | 'edit'> => ({
  async post(place, message, signal) {
    if (message.kind !== 'draft') return post(place, message, signal)
    drafts.show(place, message, signal)
    return { type: 'posted', ref: { place, id: message.about ?? '' } }
  },
  edit: async ({ place }, message, signal) => drafts.show(place, message, signal),
})

// Where messages with buttons are, so that a later one can replace them. Stored: the answer may come after a restart.

export interface PostedAt {
  readonly channel: string
  readonly id: string
}

export interface Buttoned {
  posted(message: Outgoing, where: PostedAt): void
  /** The message that this one replaces; null: none that is known. */
  replacedBy(message: Outgoing): PostedAt | null
}

export function openButtoned(memory: ChatMemory): Buttoned {
  const nameOf = (key: string) => `buttons:${key}`
  return {
    posted({ key, buttons = [] }, where) {
      if (buttons.length > 0) memory.put(nameOf(key), JSON.stringify(where))
    },
    replacedBy: ({ replaces }) =>
      replaces === undefined ? null : (JSON.parse(memory.get(nameOf(replaces)) ?? 'null') as PostedAt | null),
  }
}
