// A small message with the Stop button, beside a draft that cannot have one itself: a stream, or a platform's own draft.
import type { Place } from '../base/event.ts'
import type { Answers, Doing } from './live-drafts.ts'

export interface StopNotes {
  /** Called with each change of the draft. A short answer is over before the second one, and needs no button. */
  drafted(place: Place, about: string, key: string, doing: Doing): Promise<void>
  /** The answer is there: its note is left to be removed. */
  over(about: string): void
}

export const stopNoteText = 'Working on it.'

const noteOf = (about: string): string => `${about}#stop`

/** `post` posts the note and resolves with its id. The note is stored like a draft, so none stays after a kill. */
export function createStopNotes(
  answers: Answers,
  post: (place: Place, about: string, key: string) => Promise<string>,
): StopNotes {
  const begun = new Set<string>()
  return {
    async drafted(place, about, key, { label }) {
      const isShort = label === null && !begun.has(about)
      begun.add(about)
      if (isShort || answers.draftOf(noteOf(about)) !== null) return
      const note = { channel: place.conversation, nonce: `${key}-stop`, id: null }
      answers.drafted(noteOf(about), note)
      // If its confirmation is lost, it is found when it is removed.
      const id = await post(place, about, note.nonce).catch(() => null)
      answers.drafted(noteOf(about), { ...note, id })
    },
    over(about) {
      begun.delete(about)
      answers.leaveDraft(noteOf(about))
    },
  }
}
