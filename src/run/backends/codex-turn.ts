// One turn of a thread in Codex's app-server: turns its notifications into events.
import type { AgentEvent, Ended } from '../../base/agent.ts'
import { createAsks } from '../asks.ts'
import { endOf } from '../cli.ts'
import { silentEnd } from '../diagnosis.ts'
import { type Answer, createEvents, failed, notCrashed, openAnswer, orAlive, stopped, unasked } from '../events.ts'
import type { ProcessEnd } from '../process.ts'
import type { later, Rpc, Answer as RpcAnswer, RpcRequest } from '../rpc.ts'
import { type Json, number, object, objects, string } from '../stdio.ts'
import { askAbout, idsOf, type Wanted } from './codex-asks.ts'
import { createActions, ofError, planned } from './codex-items.ts'

export interface Thread {
  readonly id: string
  readonly model: string | null
}

/** Follows one turn of a thread. */
export function createTurn(thread: Thread, signal: AbortSignal, rpc: Rpc) {
  const threadId = thread.id
  let turnId: string | null = null
  const read = readTurn(thread, async words => {
    if (turnId === null || events.over()) return false
    const input = [{ type: 'text', text: words, text_elements: [] }]
    return (await rpc.request('turn/steer', { threadId, expectedTurnId: turnId, input })).ok
  })
  /** Notifications that arrived before the id of our turn was known. */
  let early: { readonly about: string; readonly method: string; readonly params: Json }[] = []
  const events = createEvents()
  const asks = createAsks(events.push)
  /** How many questions each open request became. */
  const asked = new Map<string, number>()
  const interrupt = () => {
    // The turn ends without an answer, and what was asked does not run.
    asks.close()
    if (!events.over() && turnId !== null) void rpc.request('turn/interrupt', { threadId, turnId })
  }
  /** Only the answer tells which turn is ours: the thread may start a turn by itself. */
  const begun = (id: string) => {
    turnId = id
    for (const { about, method, params } of early) take(about, method, params)
    early = []
    if (signal.aborted) interrupt()
  }
  const take = (about: string, method: string, params: Json) => {
    if (about === turnId) events.push(orAlive(read(method, params)))
    else if (method === 'turn/completed') events.push([unasked])
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
    requested(wanted: Wanted, params: Json, request: RpcRequest): typeof later {
      asked.set(`${request.id}`, wanted.uses.length)
      return askAbout(wanted, params, request, asks, rpc)
    },
    /** Codex has an answer, or no longer waits for one. */
    resolved(request: unknown) {
      for (const id of idsOf(request, asked.get(`${request}`) ?? 0)) asks.withdraw(id)
      asked.delete(`${request}`)
    },
    notified(method: string, params: Json) {
      const about = string(params.turnId) || string(object(params.turn).id)
      if (about === '') return
      if (turnId === null) early.push({ about, method, params })
      else take(about, method, params)
    },
    over: (how: ProcessEnd) => events.push([ofEnd(how, turnId !== null)]),
    async *events(): AsyncGenerator<AgentEvent> {
      try {
        yield* events.all()
      } finally {
        asks.close()
        signal.removeEventListener('abort', interrupt)
      }
    },
  }
}

type Steer = (words: string) => Promise<boolean>

function readTurn(thread: Thread, steer: Steer): (method: string, params: Json) => readonly AgentEvent[] {
  let { model } = thread
  const answer = openAnswer()
  let current = { id: '', text: '' }
  const actionOf = createActions()
  let stored = false
  let plans = 0

  /** `piece`: the new part of this message, given the text sent so far. */
  const textEvent = (id: string, piece: (sent: string) => string): AgentEvent[] => {
    const fresh = id !== current.id
    const gap = fresh && current.id !== '' ? '\n\n' : ''
    const delta = piece(fresh ? '' : current.text)
    if (delta === '') return []
    current = { id, text: (fresh ? '' : current.text) + delta }
    return [{ type: 'text', delta: gap + delta }]
  }

  const item = (one: Json, began: boolean): AgentEvent[] => {
    // It may think for minutes and report only the start and the end.
    if (one.type === 'reasoning' && began) return [thinking]
    if (one.type === 'userMessage') {
      // Later ones are words that were added to the turn.
      const first = !began && !stored
      stored ||= !began
      return first ? [{ type: 'stored' }] : []
    }
    if (one.type !== 'agentMessage') return [actionOf(one, began) ?? []].flat()
    if (began) return []
    const text = string(one.text)
    answer.add(text)
    return textEvent(string(one.id), sent => (text.startsWith(sent) ? text.slice(sent.length) : ''))
  }

  return (method, params) => {
    switch (method) {
      case 'turn/started':
        return [
          { type: 'started', session: thread.id },
          { type: 'steerable', steer },
        ]
      case 'item/agentMessage/delta':
        return textEvent(string(params.itemId), () => string(params.delta))
      case 'item/started':
      case 'item/completed':
        return item(object(params.item), method === 'item/started')
      case 'item/reasoning/summaryTextDelta':
        return [{ ...thinking, summary: string(params.delta) }]
      case 'item/reasoning/summaryPartAdded':
        return [number(params.summaryIndex) > 0 ? { ...thinking, summary: '\n\n' } : thinking]
      case 'item/reasoning/textDelta':
        return [thinking]
      case 'turn/plan/updated':
        return planned(`plan-${++plans}`, objects(params.plan))
      case 'model/rerouted':
        model = string(params.toModel) || model
        return []
      case 'thread/tokenUsage/updated':
        return [usageOf(object(object(params.tokenUsage).total), model)]
      case 'turn/completed':
        return [endOfTurn(object(params.turn), answer)]
      default:
        return []
    }
  }
}

const thinking = { type: 'thinking', quietly: true } as const

const usageOf = (total: Json, model: string | null): AgentEvent => ({
  type: 'usage',
  usage: { inputTokens: number(total.inputTokens), outputTokens: number(total.outputTokens), costUsd: null },
  of: 'session',
  model,
})

function endOfTurn(turn: Json, answer: Answer): Ended {
  if (turn.status === 'completed') return answer.end()
  return turn.status === 'interrupted' ? stopped : notCrashed(ofError(object(turn.error)))
}

export const gone = failed('crashed', 'the process exited')

export const ofAnswer = (answer: Extract<RpcAnswer, { ok: false }>): Ended =>
  answer.code === null ? gone : notCrashed(ofError({ message: answer.message }))

/** The end of a turn whose process exited; `begun`: the turn had started. */
export function ofEnd(how: ProcessEnd, begun: boolean): Ended {
  return endOf(how, {
    line: () => [],
    end(gone) {
      const ended = silentEnd(gone, begun)
      // All turns share its stderr, so it does not say why this one failed.
      return ended.ok || ended.why === 'unreadable' ? ended : { ...ended, why: 'crashed' }
    },
  })
}
