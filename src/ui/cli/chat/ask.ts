// One question, one answer: `aetheel chat "…"`.
import { randomUUID } from 'node:crypto'
import type { Terminal } from '../terminal.ts'
import { type ConversationOptions, type Heard, openConversation } from './conversation.ts'
import { type End, openPaper, type Paper } from './paper.ts'

export interface Question {
  readonly text: string
  readonly json: boolean
  /** Resolves when the gateway inside this process has ended; null: the gateway is another process. */
  readonly gone: Promise<void> | null
}

/** Resolves with the exit code. */
export async function ask(question: Question, options: ConversationOptions, terminal: Terminal): Promise<number> {
  const id = randomUUID()
  const paper = openPaper(terminal, question.json)
  const { promise: ended, resolve: end } = Promise.withResolvers<End>()
  const turn = followTurn(id, paper, end, () => conversation.stop())
  const conversation = openConversation(options, turn.heard)
  conversation.say(id, question.text)
  const deaf = terminal.onInterrupt(() => {
    if (turn.interrupted() || (turn.state() === 'sending' && !conversation.connected())) return end({ type: 'left' })
    paper.note('stopping (Ctrl-C again leaves at once)')
    if (turn.interrupt() === 'cancel') conversation.cancel(id)
    else conversation.stop()
  })
  const stopped = (): void => end({ type: 'lost', reason: 'the gateway inside this process stopped' })
  question.gone?.then(stopped, stopped)
  try {
    return paper.end(await ended, { id, conversation: options.name })
  } finally {
    paper.close()
    deaf()
    await conversation.close()
  }
}

/** Our message on its way; `stop` is called when the turn turns out to run after we tried to take the message back. */
function followTurn(id: string, paper: Paper, end: (end: End) => void, stop: () => void) {
  let state: 'sending' | 'waiting' | 'running' = 'sending'
  let interrupted: 'no' | 'cancel' | 'stop' = 'no'
  let ours = false

  const begun = (): void => {
    ours = true
    state = 'running'
    if (interrupted !== 'cancel') return
    interrupted = 'stop'
    stop()
  }

  const heard = (what: Heard) => {
    if (what.type === 'lost') return end(what)
    if (what.type === 'disconnected') return paper.note('the gateway is away, trying to reach it again')
    if (what.type === 'hello' || what.type === 'history') return
    if (what.id !== id) {
      // What was asked before us is answered before us; nobody else may be there to take it, and it is not told again.
      if (what.type === 'final' && !ours) paper.late(what.text)
      return
    }
    switch (what.type) {
      case 'accepted':
        if (state === 'sending') state = 'running'
        return paper.note('thinking')
      case 'waiting':
        state = what.position > 0 ? 'waiting' : 'running'
        return paper.note(state === 'waiting' ? `waiting, position ${what.position}` : 'thinking')
      case 'draft':
        begun()
        paper.note('writing')
        return paper.draft(what.text)
      case 'action':
        begun()
        return paper.note(what.phase === 'failed' ? `${what.label} (failed)` : what.label)
      case 'refused':
      case 'final':
        return end(what)
      default:
        what satisfies never
    }
  }

  return {
    heard,
    state: () => state,
    interrupted: () => interrupted !== 'no',
    /** What waits is taken back, so that nobody else's running turn is stopped for it. */
    interrupt(): 'cancel' | 'stop' {
      interrupted = state === 'waiting' ? 'cancel' : 'stop'
      return interrupted
    },
  }
}
