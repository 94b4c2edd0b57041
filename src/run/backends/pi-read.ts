// The output of pi as events.
import type { ActionPhase, AgentEvent, Ended, Usage } from '../../base/agent.ts'
import type { ToolResult } from '../../base/tool-use.ts'
import type { Reader } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Answer, openAnswer, unasked } from '../events.ts'
import { type Json, number, object, objects, readJsonLines, string } from '../stdio.ts'
import { boundedOutput, workOf } from '../tool-work.ts'
import { toolLabel } from '../tools.ts'
import { type PiTalk, usualName } from './pi-talk.ts'

/**
 * `session`: the session id, if the output does not contain it. `own`: the id of the prompt; output before its response belongs to another
 * turn. `talk`: what can come back to the turn; null: nothing.
 */
export function readEvents(session: string | null, own: string | null = null, talk: PiTalk | null = null): Reader {
  let mine = own === null
  let begun = false
  let end: Ended | null = null
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  let model: string | null = null
  let spoke = false
  const answer = openAnswer()
  const labels = new Map<string, string>()
  let stored = false
  let settled = false

  /** Only in rpc mode: whether it accepts the prompt. */
  const answered = (line: Json): AgentEvent[] =>
    line.command === 'prompt' && line.success === false && (own === null || line.id === own)
      ? [refused(string(line.error))]
      : []

  const updated = (event: Json): AgentEvent[] => {
    if (/^thinking_(?:start|delta)$/.test(string(event.type)))
      return [{ type: 'thinking', quietly: true, ...(string(event.delta) ? { summary: string(event.delta) } : {}) }]
    if (event.type === 'text_start') return spoke ? [{ type: 'text', delta: '\n\n' }] : []
    if (event.type !== 'text_delta') return []
    spoke = true
    return [{ type: 'text', delta: string(event.delta) }]
  }

  /** The last message of the agent is the answer, or the reason why there is none. The exit code is 0 either way. */
  const spoken = (message: Json): AgentEvent[] => {
    if (message.role === 'user') {
      if (stored) talk?.steered()
      const first = !stored
      stored = true
      return first ? [{ type: 'stored' }] : []
    }
    if (message.role !== 'assistant') return []
    const used = object(message.usage)
    usage = {
      inputTokens: usage.inputTokens + number(used.input) + number(used.cacheRead) + number(used.cacheWrite),
      outputTokens: usage.outputTokens + number(used.output),
      costUsd: (usage.costUsd ?? 0) + number(object(used.cost).total),
    }
    model = string(message.model) || model
    end = endOf(message, answer)
    return [{ type: 'usage', usage, of: 'turn', model }]
  }

  /** The target of a tool is reported only when it starts. */
  const acted = (line: Json, phase: ActionPhase): AgentEvent[] => {
    const id = string(line.toolCallId)
    const label = labels.get(id) ?? toolLabel(string(line.toolName), object(line.args))
    labels.set(id, label)
    const tool = usualName(string(line.toolName))
    if (phase === 'started')
      return [{ type: 'action', id, label, phase, use: { tool, work: workOf(tool, object(line.args)) } }]
    const action = { type: 'action', id, label, phase, result: resultOf(tool, line) } as const
    return [...(talk?.over(id) ?? []), action]
  }

  const read = (line: Json): readonly AgentEvent[] => {
    mine ||= line.type === 'response' && line.id === own
    if (line.type === 'extension_ui_request') return talk?.asked(line) ?? []
    if (!mine) return line.type === 'agent_settled' ? [unasked] : []
    switch (line.type) {
      case 'session':
        begun = true
        return [{ type: 'started', session: string(line.id) || null }]
      case 'response':
        // Now it has no more words to read.
        if (line.command === 'clear_queue' && settled && end) return [end]
        talk?.responded(line)
        return answered(line)
      case 'agent_start': {
        // A retry starts once more; and in json mode `session` has reported it already.
        const first = !begun
        begun = true
        return first ? [{ type: 'started', session }, ...(talk ? [talk.steerable] : [])] : []
      }
      case 'message_update':
        return updated(object(line.assistantMessageEvent))
      case 'message_end':
        return spoken(object(line.message))
      case 'tool_execution_start':
        return acted(line, 'started')
      case 'tool_execution_end':
        return acted(line, line.isError === true ? 'failed' : 'ended')
      case 'agent_settled':
        settled = true
        return end && !talk?.clears() ? [end] : []
      default:
        return []
    }
  }
  return readJsonLines(read, how =>
    ofLogin.test(how.stderr) || ofElsewhere.test(how.stderr) ? refused(how.stderr) : null,
  )
}

/** It tells the exit code of a failed command at the end of what the model reads. */
function resultOf(tool: string, line: Json): ToolResult {
  const text = objects(object(line.result).content)
    .map(part => string(part.text))
    .join('\n')
  const output = text === '(no output)' ? '' : text
  if (tool !== 'Bash') return { output: boundedOutput(output), exit: null }
  const code = line.isError === true ? /\s*Command exited with code (\d{1,3})\s*$/.exec(output.slice(-100)) : null
  if (code === null) return { output: boundedOutput(output), exit: line.isError === true ? null : 0 }
  return { output: boundedOutput(output.slice(0, output.length - code[0].length)), exit: Number(code[1]) }
}

function endOf(message: Json, answer: Answer): Ended {
  const said = string(message.errorMessage) || 'the turn failed'
  if (message.stopReason === 'error') return failure(said, statusIn(said))
  if (message.stopReason === 'aborted') return { type: 'ended', ok: false, why: 'stopped', detail: said }
  for (const part of objects(message.content)) if (part.type === 'text') answer.add(string(part.text))
  return answer.end()
}

const ofLogin = /no api key found|no models? (?:available|selected)|authentication failed for/i
/** A session of another folder: pi offers a copy, and there is nobody to confirm. */
const ofElsewhere = /session found in different project/i

function refused(said: string): Ended {
  const detail = said.trim() || 'the prompt was not accepted'
  if (ofLogin.test(said)) return { type: 'ended', ok: false, why: 'not-logged-in', detail }
  if (ofElsewhere.test(said)) return { type: 'ended', ok: false, why: 'session-lost', detail }
  return failure(detail, statusIn(said))
}
