// Live drafts: what was said so far, edited at Discord's pace and one edit after the other. A draft may lose anything.
import type { Outgoing } from '../../base/chat.ts'
import type { Place } from '../../base/event.ts'
import type { Clock } from '../../base/time.ts'
import { draftOf } from './render.ts'
import { troubleOf } from './trouble.ts'

/** The limits for edits are not published; this pace has been found to be good. */
export const editEveryMs = 1200

export interface DraftParts {
  readonly clock: Clock
  /** Makes this the text of the draft that answers `about`. */
  write(place: Place, about: string, key: string, content: string): Promise<void>
  lost(place: Place, why: string): void
}

export interface Drafts {
  /** Comes back at once; it is shown when it is due, and only the latest is. */
  show(place: Place, message: Outgoing, signal: AbortSignal): void
  /** Resolves when nothing of the draft is on its way; nothing more follows. */
  finish(about: string): Promise<void>
}

interface Draft {
  text: string
  label: string | null
  steps: number
  shown: string
  over: boolean
  /** The edit that is on its way. */
  writing: Promise<void>
  /** The last edit failed, and yet Discord may have taken it. */
  again: (() => Promise<void>) | null
  busy: boolean
}

export function openDrafts({ clock, write, lost }: DraftParts): Drafts {
  const drafts = new Map<string, Draft>()

  const blank = (): Draft => ({
    ...{ text: '', label: null, steps: 0, shown: '' },
    ...{ over: false, busy: false, writing: Promise.resolve(), again: null },
  })

  /** Goes on while there is something new, one edit per pause. */
  async function keepShowing(draft: Draft, place: Place, about: string, key: string, signal: AbortSignal) {
    draft.busy = true
    while (!draft.over && !signal.aborted) {
      const content = draftOf(draft)
      if (content === '' || content === draft.shown) break
      let pause = editEveryMs
      draft.writing = write(place, about, key, content).then(
        () => {
          draft.shown = content
          draft.again = null
        },
        error => {
          const trouble = troubleOf(error)
          if (trouble.type === 'passing') {
            pause = Math.max(editEveryMs, trouble.afterMs)
            if (trouble.afterMs === 0) draft.again = () => write(place, about, key, content)
          } else draft.over = true
          lost(place, trouble.why)
        },
      )
      await draft.writing
      await clock.sleep(pause, signal)
    }
    draft.busy = false
  }

  return {
    show(place, { about, key, text, action }, signal) {
      if (about === null) return
      const draft = drafts.get(about) ?? blank()
      drafts.set(about, draft)
      draft.text = text
      if (action?.phase === 'started') draft.steps++
      if (action) draft.label = action.phase === 'started' ? action.label : null
      if (!draft.busy && draftOf(draft) !== '') void keepShowing(draft, place, about, key, signal)
    },
    async finish(about) {
      const draft = drafts.get(about)
      if (!draft) return
      drafts.delete(about)
      draft.over = true
      await draft.writing
      // A draft that stands there unknown to us would stay for ever; the same key finds it.
      await draft.again?.().catch(() => undefined)
    },
  }
}
