// Reads the output of gemini: the lines of stream-json, and what they share with ACP.
import type { AgentEvent, Ended, Turn } from '../../base/agent.ts'
import type { Reader } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { openAnswer } from '../events.ts'
import type { ProcessEnd } from '../process.ts'
import { type Json, number, object, readJsonLines, string } from '../stdio.ts'
import { boundedOutput, workOf } from '../tool-work.ts'
import { toolLabel } from '../tools.ts'
import { toolFor } from './gemini-policy.ts'

/** The text of a turn, in parts with tools between them. */
export function openSpeech() {
  const answer = openAnswer()
  let part = ''
  const close = () => {
    answer.add(part)
    part = ''
  }
  return {
    add(delta: string): AgentEvent[] {
      if (delta === '') return []
      const gap = part === '' && answer.any() ? '\n\n' : ''
      part += delta
      return [{ type: 'text', delta: gap + delta }]
    },
    acted: close,
    end(): Ended {
      close()
      return answer.end()
    },
  }
}

export const used = (input: unknown, output: unknown, model: string | undefined): AgentEvent => ({
  type: 'usage',
  usage: { inputTokens: number(input), outputTokens: number(output), costUsd: null },
  of: 'turn',
  model: model ?? null,
})

/** `status` 0: it may be in the message. */
export function failed(message: string, status = 0): Ended {
  if (/no previous sessions found/i.test(message))
    return { type: 'ended', ok: false, why: 'session-lost', detail: message }
  return failure(message, status || statusIn(message))
}

const exits = { noLogin: 41, input: 42 }

function endOf({ code, stderr }: ProcessEnd): Ended | null {
  const detail = stderr.trim() || `exit code ${code}`
  if (code === exits.noLogin) return { type: 'ended', ok: false, why: 'not-logged-in', detail }
  return code === exits.input && /no previous sessions found/i.test(stderr) ? failed(detail) : null
}

export function readStream({ mcpServers }: Turn): Reader {
  const servers = mcpServers.map(({ name }) => name)
  const speech = openSpeech()
  const labels = new Map<string, string>()

  const read = (line: Json): AgentEvent[] => {
    const id = string(line.tool_id)
    switch (line.type) {
      case 'init':
        return [{ type: 'started', session: string(line.session_id) || null }]
      case 'message':
        return line.role === 'assistant' ? speech.add(string(line.content)) : []
      case 'tool_use': {
        const label = toolLabel(string(line.tool_name), object(line.parameters))
        labels.set(id, label)
        const tool = toolFor(string(line.tool_name), servers)
        const use = { tool, work: workOf(tool, object(line.parameters)) }
        return [{ type: 'action', id, label, phase: 'started', use }]
      }
      case 'tool_result': {
        speech.acted()
        const phase = line.status === 'error' ? 'failed' : 'ended'
        const output = string(line.output) || string(object(line.error).message)
        const result = output === '' ? {} : { result: { output: boundedOutput(output), exit: null } }
        return [{ type: 'action', id, label: labels.get(id) ?? 'tool', phase, ...result }]
      }
      case 'result': {
        const stats = object(line.stats)
        const message = string(object(line.error).message) || 'the turn failed'
        return [
          used(stats.input_tokens, stats.output_tokens, Object.keys(object(stats.models))[0]),
          line.status === 'error' ? failed(message) : speech.end(),
        ]
      }
      default:
        return []
    }
  }
  return readJsonLines(read, endOf)
}
