// One turn of a thread in Codex's app-server: what is told of it, made into events.
import type { AgentEvent, Ended } from '../../base/agent.ts'
import { endOf } from '../cli.ts'
import { silentEnd } from '../diagnosis.ts'
import { failed, stopped, toldByTheLiving } from '../ends.ts'
import { openEvents } from '../events.ts'
import { type Json, number, object, string } from '../json.ts'
import type { ProcessEnd } from '../process.ts'
import type { Answer, Rpc } from '../rpc.ts'
import { actionOf, ofError } from './codex-items.ts'

export interface Thread {
  readonly id: string
  readonly model: string | null
}

/** What is said in one turn of a thread. */
export function openSpoken(thread: Thread, signal: AbortSignal, rpc: Rpc) {
  const threadId = thread.id
  const read = readTurn(thread)
  let turnId: string | null = null
  const events = openEvents()
  const interrupt = () => {
    if (!events.over() && turnId !== null) void rpc.request('turn/interrupt', { threadId, turnId })
  }
  /** Its first notification may come before the answer. */
  const begun = (id: string) => {
    if (turnId !== null || id === '') return
    turnId = id
    if (signal.aborted) interrupt()
  }

  return {
    interrupt,
    begin(text: string) {
      signal.addEventListener('abort', interrupt, { once: true })
      const input = [{ type: 'text', text, text_elements: [] }]
      void rpc.request('turn/start', { threadId, input }).then(answer => {
        if (answer.ok) begun(string(object(answer.result.turn).id))
        else if (answer.code !== null) events.push([ofAnswer(answer)])
      })
    },
    hear(method: string, params: Json) {
      const about = string(params.turnId) || string(object(params.turn).id)
      if (method === 'turn/started') begun(about)
      // An earlier turn of this thread may have a last word.
      if (about !== '' && about === turnId) events.push(read(method, params))
    },
    over: (how: ProcessEnd) => events.push([ofEnd(how, turnId !== null)]),
    async *events(): AsyncGenerator<AgentEvent> {
      try {
        yield* events.all()
      } finally {
        signal.removeEventListener('abort', interrupt)
      }
    },
  }
}

function readTurn(thread: Thread): (method: string, params: Json) => readonly AgentEvent[] {
  let { model } = thread
  let last = ''
  let current = { id: '', told: '' }

  /** `piece`: what is new of this message, next to what was told of it before. */
  const said = (id: string, piece: (told: string) => string): AgentEvent[] => {
    const fresh = id !== current.id
    const gap = fresh && current.id !== '' ? '\n\n' : ''
    const delta = piece(fresh ? '' : current.told)
    if (delta === '') return []
    current = { id, told: (fresh ? '' : current.told) + delta }
    return [{ type: 'text', delta: gap + delta }]
  }

  const item = (one: Json, began: boolean): AgentEvent[] => {
    if (one.type !== 'agentMessage') return [actionOf(one, began) ?? []].flat()
    if (began) return []
    last = string(one.text)
    return said(string(one.id), told => (last.startsWith(told) ? last.slice(told.length) : ''))
  }

  return (method, params) => {
    switch (method) {
      case 'turn/started':
        return [{ type: 'started', session: thread.id }]
      case 'item/agentMessage/delta':
        return said(string(params.itemId), () => string(params.delta))
      case 'item/started':
      case 'item/completed':
        return item(object(params.item), method === 'item/started')
      case 'model/rerouted':
        model = string(params.toModel) || model
        return []
      case 'thread/tokenUsage/updated':
        return [usageOf(object(object(params.tokenUsage).total), model)]
      case 'turn/completed':
        return [endOfTurn(object(params.turn), last)]
      default:
        return []
    }
  }
}

const usageOf = (total: Json, model: string | null): AgentEvent => ({
  type: 'usage',
  usage: { inputTokens: number(total.inputTokens), outputTokens: number(total.outputTokens), costUsd: null },
  of: 'session',
  model,
})

function endOfTurn(turn: Json, text: string): Ended {
  if (turn.status === 'completed') return { type: 'ended', ok: true, text }
  return turn.status === 'interrupted' ? stopped : toldByTheLiving(ofError(object(turn.error)))
}

export const gone = failed('crashed', 'it was gone')

export const ofAnswer = (answer: Extract<Answer, { ok: false }>): Ended =>
  answer.code === null ? gone : toldByTheLiving(ofError({ message: answer.message }))

/** What the end of the process means to a turn; `begun`: it was heard of. */
export function ofEnd(how: ProcessEnd, begun: boolean): Ended {
  return endOf(how, {
    line: () => [],
    end(gone) {
      const ended = silentEnd(gone, begun)
      // Its stderr is that of all turns, so it cannot tell why this one failed.
      return ended.ok || ended.why === 'unreadable' ? ended : { ...ended, why: 'crashed' }
    },
  })
}
