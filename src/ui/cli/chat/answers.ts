// Answers on the screen: the one that grows, each under the question it belongs to.
import { cutTo, type Paint, withoutControls } from '../terminal.ts'
import { type GrowingText, growingText } from './growing.ts'
import type { Screen } from './screen.ts'
import { saidUntilStopped, stoppedNote } from './stopped.ts'
import type { Unanswered } from './unanswered.ts'
import type { Frame } from './wire.ts'

export interface Answers {
  /** The question that was typed last, and stands on the screen. */
  asked(id: string): void
  grow(id: string, draft: string): void
  /** `question`: what it answers, where that was not asked in this session. */
  end(final: Extract<Frame, { type: 'final' }>, question?: string): void
  refuse(id: string, reason: string): void
}

export function openAnswers(screen: Screen, paint: Paint, columns: () => number, unanswered: Unanswered): Answers {
  let lastAsked: string | null = null
  let growing: { readonly id: string; readonly text: GrowingText } | null = null

  const begin = (id: string, question = unanswered.textOf(id) ?? 'unasked, or an earlier message'): GrowingText => {
    if (growing?.id === id) return growing.text
    // Other words stand between the question and its answer: say which one it was.
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
      const said = ok ? text : saidUntilStopped(text)
      if (said !== null && (ok || said !== '')) screen.flow(answer.finish(withoutControls(said)))
      if (!ok) screen.print(said === null ? paint('red', withoutControls(text)) : paint('yellow', stoppedNote))
      close(id)
    },
    refuse(id, reason) {
      begin(id)
      screen.print(paint('yellow', `refused: ${withoutControls(reason)}`))
      close(id)
    },
  }
}
