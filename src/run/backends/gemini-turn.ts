// One turn of a session over gemini's ACP: turns its updates into events.
import type { AgentEvent, Ended } from '../../base/agent.ts'
import { endOf } from '../cli.ts'
import { silentEnd } from '../diagnosis.ts'
import { notCrashed, stopped } from '../events.ts'
import type { ProcessEnd } from '../process.ts'
import type { Answer } from '../rpc.ts'
import { type Json, object, objects, string } from '../stdio.ts'
import { resultIn, useOf } from './gemini-asks.ts'
import { failed, openSpeech, used } from './gemini-read.ts'

/** `servers`: the names of its MCP servers. */
export function readTurn(session: string, servers: readonly string[] = []) {
  const speech = openSpeech()
  const labels = new Map<string, string>()
  const acting = new Set<string>()
  /** Actions whose use was told. */
  const told = new Set<string>()
  let begun = false

  const withStarted = (events: readonly AgentEvent[]): readonly AgentEvent[] => {
    if (begun) return events
    begun = true
    return [{ type: 'started', session }, ...events]
  }

  const acted = (update: Json): readonly AgentEvent[] => {
    const id = string(update.toolCallId)
    const label = note(update)
    const over = update.status === 'completed' || update.status === 'failed'
    const use = told.has(id) || update.status === 'failed' ? null : useOf(update, servers)
    if (use) told.add(id)
    const shown = use ? { use } : {}
    // A tool that was asked for, or refused, has only an end.
    const began: AgentEvent[] = acting.has(id) ? [] : [{ type: 'action', id, label, phase: 'started', ...shown }]
    acting.add(id)
    if (!over) return began
    speech.acted()
    const result = resultIn(update)
    const phase = update.status === 'failed' ? 'failed' : 'ended'
    const late = began.length === 0 ? shown : {}
    return [...began, { type: 'action', id, label, phase, ...late, ...(result ? { result } : {}) }]
  }

  /** The label of a call; only its first mention has one. */
  const note = (call: Json): string => {
    const id = string(call.toolCallId)
    const label = labels.get(id) ?? labelOf(call)
    labels.set(id, label)
    return label
  }

  return {
    begun: () => begun,
    /** A call that is asked for. `allowed`: it begins now; gemini reports only its end. */
    asked: (call: Json) => void note(call),
    allowed: (call: Json): readonly AgentEvent[] => withStarted(acted({ ...call, status: 'in_progress' })),
    update(update: Json): readonly AgentEvent[] {
      switch (update.sessionUpdate) {
        case 'agent_message_chunk':
          return withStarted(speech.add(string(object(update.content).text)))
        case 'agent_thought_chunk':
          return withStarted([
            { type: 'thinking', quietly: false, summary: `${string(object(update.content).text)}\n\n` },
          ])
        case 'tool_call':
        case 'tool_call_update':
          return withStarted(acted(update))
        default:
          return []
      }
    },
    answer(answer: Answer): readonly AgentEvent[] {
      if (!answer.ok) return [ofRefusal(answer)]
      const quota = object(object(answer.result._meta).quota)
      const tokens = object(quota.token_count)
      const model = string(objects(quota.model_usage)[0]?.model) || undefined
      return withStarted([
        used(tokens.input_tokens, tokens.output_tokens, model),
        ofStop(string(answer.result.stopReason), speech),
      ])
    },
  }
}

function labelOf(update: Json): string {
  const title = string(update.title).replace(/\s+/g, ' ').slice(0, 80)
  const kind = string(update.kind)
  return [kind === 'other' ? '' : kind, title].filter(Boolean).join(': ') || 'tool'
}

function ofStop(reason: string, speech: ReturnType<typeof openSpeech>): Ended {
  switch (reason) {
    case 'end_turn':
      return speech.end()
    case 'cancelled':
      return stopped
    case 'max_turn_requests':
      return { type: 'ended', ok: false, why: 'max-turns', detail: 'it repeated itself, or needed too many steps' }
    default:
      return { type: 'ended', ok: false, why: 'refused', detail: reason || 'it stopped without giving a reason' }
  }
}

/** Errors of the service carry its HTTP status. -32000: not logged in. */
export function ofRefusal({ code, message, data }: Extract<Answer, { ok: false }>): Ended {
  const status = code === -32000 ? 401 : code !== null && code >= 400 && code < 600 ? code : 0
  return notCrashed(failed(string(data.details) || message, status))
}

export const ofEnd = (how: ProcessEnd, begun: boolean): Ended =>
  endOf(how, { line: () => [], end: end => silentEnd(end, begun) })
