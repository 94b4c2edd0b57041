// What a person at the terminal sees of a conversation.
import { cutTo, type Paint, type Terminal, withoutControls } from '../terminal.ts'
import type { Heard } from './conversation.ts'
import { type GrowingText, growingText } from './growing.ts'
import { progressRow } from './progress.ts'
import type { Screen } from './screen.ts'
import type { Unanswered } from './unanswered.ts'

export interface View {
  heard(what: Exclude<Heard, { type: 'lost' }>): void
  /** The question that was typed last, and stands on the screen. */
  asked(id: string): void
  tick(): void
}

export function openView(screen: Screen, paint: Paint, terminal: Terminal, unanswered: Unanswered): View {
  let away = true
  let ticks = 0
  let recalled = false
  let lastAsked: string | null = null
  let growing: { readonly id: string; readonly text: GrowingText } | null = null
  const columns = (): number => terminal.stdout.columns ?? 80

  const name = (id: string): void => {
    // Other words stand between the question and its answer: say which one it was.
    const question = unanswered.textOf(id) ?? 'unasked, or an earlier message'
    if (id !== lastAsked) screen.print(paint('dim', `↳ ${cutTo(question, columns() - 3)}`))
  }
  const answerTo = (id: string): GrowingText => {
    if (growing?.id === id) return growing.text
    name(id)
    growing = { id, text: growingText() }
    return growing.text
  }
  const ended = (id: string): void => {
    unanswered.ended(id)
    growing = null
    lastAsked = null
    screen.print('')
  }
  const failed = (id: string, words: string): void => {
    if (growing?.id !== id) name(id)
    screen.print(words)
    ended(id)
  }
  const recall = (messages: Extract<Heard, { type: 'history' }>['messages']): void => {
    if (recalled) return
    recalled = true
    for (const { role, text } of messages.slice(-2)) {
      screen.print(paint('dim', cutTo(role === 'user' ? `› ${text}` : text, columns() - 1)))
    }
  }

  const about = (what: Extract<Heard, { id: string }>): void => {
    const { id } = what
    // Of what others asked in this conversation only the answers are shown.
    if (unanswered.textOf(id) === undefined && what.type !== 'final') return
    switch (what.type) {
      case 'accepted':
        unanswered.accepted(id)
        break
      case 'waiting':
        if (unanswered.waits(id, what.position)) screen.print(paint('dim', `waiting, position ${what.position}`))
        break
      case 'draft':
        unanswered.begun(id, 'writing')
        screen.flow(answerTo(id).grow(withoutControls(what.text)))
        break
      case 'action':
        unanswered.begun(id, what.phase === 'failed' ? `${what.label} (failed)` : what.label)
        if (what.phase === 'notice') screen.print(paint('dim', cutTo(what.label, columns() - 1)))
        break
      case 'refused':
        failed(id, paint('yellow', `refused: ${withoutControls(what.reason)}`))
        break
      case 'final':
        if (!what.ok) return failed(id, paint('red', withoutControls(what.text)))
        screen.flow(answerTo(id).finish(withoutControls(what.text)))
        ended(id)
        break
      default:
        what satisfies never
    }
  }
  const tick = (): void => {
    const now = unanswered.now()
    const what = away ? 'the gateway is away, trying to reach it' : now?.what
    if (what === undefined) return screen.status('')
    screen.status(paint('dim', progressRow(ticks++, now?.forMs ?? 0, what, columns())))
  }

  return {
    heard(what) {
      away = what.type === 'disconnected'
      if (what.type === 'history') recall(what.messages)
      if ('id' in what) about(what)
      tick()
    },
    asked(id) {
      lastAsked = id
    },
    tick,
  }
}
