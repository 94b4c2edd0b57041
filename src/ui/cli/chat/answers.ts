// Prints answers on the screen as they grow, each under its question.
import { cutTo, type Paint, withoutControls } from '../terminal.ts'
import { type GrowingText, growingText } from './printed-draft.ts'
import type { Screen } from './screen.ts'
import { stoppedNote, textBeforeStop } from './stopped.ts'
import type { Unanswered } from './unanswered.ts'
import type { Frame } from './wire.ts'

export interface Answers {
  /** The question typed last, which is the last line on the screen. */
  asked(id: string): void
  grow(id: string, draft: string): void
  /** `question` is the text it answers, if that was not asked in this session. */
  end(final: Extract<Frame, { type: 'final' }>, question?: string): void
  refuse(id: string, reason: string): void
}

export function openAnswers(screen: Screen, paint: Paint, columns: () => number, unanswered: Unanswered): Answers {
  let lastAsked: string | null = null
  let growing: { readonly id: string; readonly text: GrowingText } | null = null

  const begin = (id: string, question = unanswered.textOf(id) ?? 'unprompted, or an earlier message'): GrowingText => {
    if (growing?.id === id) return growing.text
    // Something else was printed between the question and its answer: repeat the question.
    if (id !== lastAsked) screen.print(paint('dim', `↳ ${cutTo(question, columns() - 3)}`))
    growing = { id, text: growingText() }
    return growing.text
  }
  const close = (id: string): void => {
    unanswered.ended(id)
    growing = null
    lastAsked = null
    screen.print('')
  }

  return {
    asked(id) {
      lastAsked = id
    },
    grow: (id, draft) => screen.flow(begin(id).grow(withoutControls(draft))),
    end({ id, text, ok }, question) {
      const answer = begin(id, question)
      const soFar = ok ? text : textBeforeStop(text)
      if (soFar !== null && (ok || soFar !== '')) screen.flow(answer.finish(withoutControls(soFar)))
      if (!ok) screen.print(soFar === null ? paint('red', withoutControls(text)) : paint('yellow', stoppedNote))
      close(id)
    },
    refuse(id, reason) {
      begin(id)
      screen.print(paint('yellow', `refused: ${withoutControls(reason)}`))
      close(id)
    },
  }
}
