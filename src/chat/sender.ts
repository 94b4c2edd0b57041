// What sending has in common on all platforms: the draft ends first, an invalid token ends everything, and no draft is left behind.
import type { Outgoing, Posted } from '../base/chat.ts'
import type { Place } from '../base/event.ts'
import { createSerial } from '../base/serial.ts'
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
