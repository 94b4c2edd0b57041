// What gemini says, in both of its ways of saying it: the lines of stream-json, and what they share with ACP.
import type { AgentEvent, Ended } from '../../base/agent.ts'
import type { Reader } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, string } from '../json.ts'
import type { ProcessEnd } from '../process.ts'
import { readJsonLines } from '../reader.ts'
import { shownTool } from '../tools.ts'

/** The text of a turn: what it says before a tool belongs to the way, what it says last is the answer. */
export function openSpeech() {
  let spoken = false
  let answer = ''
  return {
    said(delta: string): AgentEvent[] {
      if (delta === '') return []
      const gap = spoken && answer === '' ? '\n\n' : ''
      spoken = true
      answer += delta
      return [{ type: 'text', delta: gap + delta }]
    },
    acted() {
      answer = ''
    },
    answer: () => answer,
  }
}

export const used = (input: unknown, output: unknown, model: string | undefined): AgentEvent => ({
  type: 'usage',
  usage: { inputTokens: number(input), outputTokens: number(output), costUsd: null },
  of: 'turn',
  model: model ?? null,
})

/** `status` 0: it may stand in the words. */
export function failed(said: string, status = 0): Ended {
  if (/no previous sessions found/i.test(said)) return { type: 'ended', ok: false, why: 'session-lost', detail: said }
  return failure(said, status || statusIn(said))
}

const exits = { noLogin: 41, input: 42 }

function endOf({ code, stderr }: ProcessEnd): Ended | null {
  const detail = stderr.trim() || `exit code ${code}`
  if (code === exits.noLogin) return { type: 'ended', ok: false, why: 'not-logged-in', detail }
  return code === exits.input && /no previous sessions found/i.test(stderr) ? failed(detail) : null
}

export function readStream(): Reader {
  const speech = openSpeech()
  const labels = new Map<string, string>()

  const read = (line: Json): AgentEvent[] => {
    const id = string(line.tool_id)
    switch (line.type) {
      case 'init':
        return [{ type: 'started', session: string(line.session_id) || null }]
      case 'message':
        return line.role === 'assistant' ? speech.said(string(line.content)) : []
      case 'tool_use': {
        const label = shownTool(string(line.tool_name))
        labels.set(id, label)
        return [{ type: 'action', id, label, phase: 'started' }]
      }
      case 'tool_result': {
        speech.acted()
        const phase = line.status === 'error' ? 'failed' : 'ended'
        return [{ type: 'action', id, label: labels.get(id) ?? 'tool', phase }]
      }
      case 'result': {
        const stats = object(line.stats)
        const said = string(object(line.error).message) || 'the turn failed'
        return [
          used(stats.input_tokens, stats.output_tokens, Object.keys(object(stats.models))[0]),
          line.status === 'error' ? failed(said) : { type: 'ended', ok: true, text: speech.answer() },
        ]
      }
      default:
        return []
    }
  }
  return readJsonLines(read, endOf)
}
