// One question, one answer: `aetheel chat "…"`.
import { randomUUID } from 'node:crypto'
import type { ShownRequest } from '../requests.ts'
import type { Terminal } from '../terminal.ts'
import { type ConversationEvent, type ConversationOptions, openConversation } from './conversation.ts'
import { type End, openOutput, type Paper } from './output.ts'

export interface Question {
  readonly text: string
  readonly json: boolean
  /** Resolves when the gateway inside this process has ended. Null if the gateway is another process. */
  readonly gone: Promise<void> | null
}

/** Resolves with the exit code. */
export async function ask(question: Question, options: ConversationOptions, terminal: Terminal): Promise<number> {
  const id = randomUUID()
  const paper = openOutput(terminal, question.json)
  const { promise: ended, resolve: end } = Promise.withResolvers<End>()
  const turn = followTurn(id, paper, end, () => conversation.stop())
  const conversation = openConversation(options, turn.received)
  conversation.say(id, question.text)
  const stopListening = terminal.onInterrupt(() => {
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
    stopListening()
    await conversation.close()
  }
}

/** Follows our message. Calls `stop` if the turn turns out to be running after we tried to cancel the message. */
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

  const shown = new Set<number>()
  /** Somebody else may have to answer, or somewhere else: it says so, also in a pipe, and waits. */
  const asked = (request: ShownRequest): void => {
    if (!request.key.endsWith(`:${id}`)) return
    if (request.state !== 'open') return paper.note('thinking')
    paper.note('waiting for your answer')
    if (shown.has(request.id)) return
    shown.add(request.id)
    paper.asks(request)
  }

  const received = (what: ConversationEvent) => {
    if (what.type === 'lost') return end(what)
    if (what.type === 'disconnected') return paper.note('the gateway is not reachable, reconnecting')
    if (what.type === 'hello') return
    if (what.type === 'history') return what.requests.forEach(asked)
    if (what.type === 'request') return asked(what.request)
    if (what.id !== id) {
      // Earlier messages are answered first. Nobody else may be connected to receive those answers, and they are not sent again.
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
    received,
    state: () => state,
    interrupted: () => interrupted !== 'no',
    /** A waiting message is cancelled, so that somebody else's running turn is not stopped. */
    interrupt(): 'cancel' | 'stop' {
      interrupted = state === 'waiting' ? 'cancel' : 'stop'
      return interrupted
    },
  }
}
