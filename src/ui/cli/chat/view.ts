// What a person at the terminal sees of a conversation.
import type { ShownRequest } from '../requests.ts'
import { cutTo, type Paint, type Terminal } from '../terminal.ts'
import { openAnswers } from './answers.ts'
import type { ConversationEvent } from './conversation.ts'
import { progressRow } from './progress.ts'
import type { Screen } from './screen.ts'
import { withPlainNote } from './stopped.ts'
import type { Unanswered } from './unanswered.ts'

export interface View {
  received(what: Exclude<ConversationEvent, { type: 'lost' }>): void
  /** The question typed last, which is the last line on the screen. */
  asked(id: string): void
  tick(): void
  /** Prints what was still held back. */
  close(): void
}

type Final = Extract<ConversationEvent, { type: 'final' }>
type Messages = Extract<ConversationEvent, { type: 'history' }>['messages']

export function openView(screen: Screen, paint: Paint, terminal: Terminal, unanswered: Unanswered): View {
  const messageOf = ({ key, lane }: ShownRequest) => key.slice(lane.length + 1)
  let away = true
  let ticks = 0
  const ours = new Set<string>()
  /** Deliveries that waited for us arrive before the history, which has their questions. Null once the history has arrived. */
  let early: Final[] | null = []
  const columns = (): number => terminal.stdout.columns || 80
  const answers = openAnswers(screen, paint, columns, unanswered)

  const catchUp = (deliveries: readonly Final[], messages: Messages): void => {
    early = null
    const shown = new Set([...ours, ...deliveries.map(({ id }) => id)])
    for (const { role, text } of messages.filter(({ id }) => !shown.has(id)).slice(-2)) {
      screen.print(paint('dim', cutTo(role === 'user' ? `› ${text}` : withPlainNote(text), columns() - 1)))
    }
    for (const delivery of deliveries) {
      answers.end(delivery, messages.find(({ id, role }) => id === delivery.id && role === 'user')?.text)
    }
  }
  /** A delivery repeated after a broken connection is held once. */
  const hold = (held: Final[], delivery: Final): void => {
    if (!held.some(({ id, text }) => id === delivery.id && text === delivery.text)) held.push(delivery)
  }

  const about = (what: Extract<ConversationEvent, { id: string }>): void => {
    const { id } = what
    // For messages that others sent in this conversation, only the answers are shown.
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
        answers.grow(id, what.text)
        break
      case 'action':
        unanswered.begun(id, what.phase === 'failed' ? `${what.label} (failed)` : what.label)
        if (what.phase === 'notice') screen.print(paint('dim', cutTo(what.label, columns() - 1)))
        break
      case 'refused':
        answers.refuse(id, what.reason)
        break
      case 'final':
        if (early === null || ours.has(id)) answers.end(what)
        else hold(early, what)
        break
      default:
        what satisfies never
    }
  }
  const tick = (): void => {
    const now = unanswered.now()
    const what = away ? 'the gateway is not reachable, reconnecting' : now?.what
    if (what === undefined) return screen.status('')
    screen.status(paint('dim', progressRow(ticks++, now?.forMs ?? 0, what, columns())))
  }

  return {
    received(what) {
      away = what.type === 'disconnected'
      if (what.type === 'history' && early !== null) catchUp(early, what.messages)
      if ('id' in what) about(what)
      if (what.type === 'request')
        unanswered.begun(
          messageOf(what.request),
          what.request.state === 'open' ? 'waiting for your answer' : 'thinking',
        )
      tick()
    },
    asked(id) {
      ours.add(id)
      answers.asked(id)
    },
    tick,
    close() {
      if (early !== null) catchUp(early, [])
    },
  }
}
