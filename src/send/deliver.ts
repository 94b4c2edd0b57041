// The one path from the outbox to a platform: a letter is posted until the platform has it or will never take it.
import type { ChatAdapter, Letter } from '../base/chat.ts'
import type { Outcome, Taken } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'

/** A platform that stays away for this many tries (pauses grow to ten minutes) does not get the letter. */
const mostRetries = 100
const longestPauseMs = 600_000

export function openDelivery(chats: ReadonlyMap<string, ChatAdapter>, clock: Clock, tell: Tell) {
  return async (taken: Taken<Letter>, signal: AbortSignal): Promise<Outcome> => {
    const { id, key, retries, item: letter } = taken
    const about = { id, place: letter.place, length: letter.text.length }
    const chat = chats.get(letter.place.chat)
    if (!chat) {
      tell({ type: 'letter-refused', ...about, why: `the chat ${letter.place.chat} is not on` })
      return { type: 'failed', why: 'chat-off' }
    }
    const { kind, about: answered, text, ok, files } = letter
    const posted = await chat.post(
      letter.place,
      {
        ...{ key, kind, about: answered, text, ok, action: null, again: taken.interrupted || retries > 0 },
        ...(files === undefined ? {} : { files }),
      },
      signal,
    )
    switch (posted.type) {
      case 'posted':
        tell({ type: 'letter-sent', ...about })
        return { type: 'done' }
      case 'absent':
        return { type: 'later', at: Number.POSITIVE_INFINITY }
      case 'refused':
        tell({ type: 'letter-refused', ...about, why: posted.why })
        return { type: 'failed', why: posted.why }
      case 'try-again': {
        if (retries >= mostRetries) {
          tell({ type: 'letter-refused', ...about, why: `gave up after ${retries} tries: ${posted.why}` })
          return { type: 'failed', why: posted.why }
        }
        tell({ type: 'letter-delayed', ...about, why: posted.why })
        const pause = Math.max(posted.afterMs, Math.min(longestPauseMs, 500 * 2 ** Math.min(retries, 20)))
        return { type: 'later', at: clock.now() + pause, retry: true }
      }
      default:
        return posted satisfies never
    }
  }
}
