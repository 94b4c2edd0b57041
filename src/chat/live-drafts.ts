// Live drafts: the answer so far, edited at the platform's pace, one edit at a time. Drafts may be lost.
import type { Outgoing } from '../base/chat.ts'
import type { Place } from '../base/event.ts'
import type { Clock } from '../base/time.ts'

const lookEveryMs = 200

/** What a draft shows. */
export interface Doing {
  readonly text: string
  /** What the agent is doing; null: only writing. */
  readonly label: string | null
  readonly steps: number
}

export interface DraftParts {
  readonly clock: Clock
  /** The least time between two edits in this place. */
  everyMs(place: Place): number
  /** Blank: there is nothing to show. */
  render(doing: Doing, place: Place): string
  /** After an error: how long to wait at least; null: the draft is over. */
  trouble(error: unknown): { readonly afterMs: number | null; readonly why: string }
  /** Sets the text of the draft that answers `about`. */
  write(place: Place, about: string, key: string, content: string): Promise<void>
  /** True while the draft would end up between the pieces of an earlier answer. */
  held(place: Place, about: string): boolean
  lost(place: Place, why: string): void
}

export interface Drafts {
  /** Returns immediately. Only the latest text is shown, when the next edit is due. */
  show(place: Place, message: Outgoing, signal: AbortSignal): void
  /** Resolves when no edit of the draft is in flight; none follows. */
  finish(about: string): Promise<void>
}

interface Draft {
  text: string
  label: string | null
  steps: number
  shown: string
  over: boolean
  /** The edit in flight. */
  writing: Promise<void>
  busy: boolean
}

export function createLiveDrafts({ clock, everyMs, render, trouble, write, held, lost }: DraftParts): Drafts {
  const drafts = new Map<string, Draft>()

  const blank = (): Draft => ({
    ...{ text: '', label: null, steps: 0, shown: '' },
    ...{ over: false, busy: false, writing: Promise.resolve() },
  })

  /** Runs while there is something new, one edit per pause. */
  async function keepShowing(draft: Draft, place: Place, about: string, key: string, signal: AbortSignal) {
    draft.busy = true
    while (!draft.over && !signal.aborted) {
      const content = render(draft, place)
      if (content === '' || content === draft.shown) break
      if (held(place, about)) {
        await clock.sleep(lookEveryMs, signal)
        continue
      }
      let pause = everyMs(place)
      draft.writing = write(place, about, key, content).then(
        () => {
          draft.shown = content
        },
        error => {
          const { afterMs, why } = trouble(error)
          if (afterMs === null) draft.over = true
          else pause = Math.max(pause, afterMs)
          lost(place, why)
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
      if (!draft.busy && render(draft, place) !== '') void keepShowing(draft, place, about, key, signal)
    },
    async finish(about) {
      const draft = drafts.get(about)
      if (!draft) return
      drafts.delete(about)
      draft.over = true
      await draft.writing
    },
  }
}
