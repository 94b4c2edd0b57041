// The life of an adapter: from the sink it is given to the end of what is in progress; and its drafts, which need no answer.
import { type ChatAdapter, ChatUnusable, type Outgoing, type Posted } from '../base/chat.ts'
import type { EventSink, NewEvent, Place, Refused } from '../base/event.ts'
import type { Clock } from '../base/time.ts'
import { within } from '../base/within.ts'
import type { Drafts } from './live-drafts.ts'

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
