// Pi coding agent: `pi -p --mode json`.
import type { AgentEvent, Ended, Usage } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, objects, string } from '../json.ts'
import { readJsonLines } from '../reader.ts'

export const pi: Dialect = {
  name: 'pi',
  takesSessionIds: true,
  install:
    'Install it with `npm install -g @earendil-works/pi-coding-agent` and log in once with `pi`, or name its path in BACKEND_CLI_PATH.',
  credentials: {
    variables: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
    files: ['.pi/agent/auth.json', '.pi/agent/models.json'],
  },
  files: () => ({}),
  environment: () => ({ PI_OFFLINE: '1' }),
  ownVariables: ['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'GEMINI_*', 'GOOGLE_*', 'OPENROUTER_*'],
  arguments: (turn, dir) => [
    ...['-p', '--mode', 'json', '--append-system-prompt', systemPromptIn(dir)],
    ...['--no-extensions', '--no-skills', '--no-themes'],
    ...(turn.model ? ['--model', turn.model] : []),
    // --session-id would begin a new session where the old one is gone, without a word.
    ...(turn.session ? [turn.session.resume ? '--session' : '--session-id', turn.session.id] : []),
  ],
  input: turn => turn.prompt,
  read: readEvents,
  ignores: () => [],
  warm: null,
}

function readEvents(): Reader {
  let end: Ended | null = null
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  let spoke = false

  const updated = (event: Json): AgentEvent[] => {
    if (event.type === 'text_start') return spoke ? [{ type: 'text', delta: '\n\n' }] : []
    if (event.type !== 'text_delta') return []
    spoke = true
    return [{ type: 'text', delta: string(event.delta) }]
  }

  /** The last message of the agent is the answer, or says why there is none. Exit codes are 0 either way. */
  const spoken = (message: Json): void => {
    if (message.role !== 'assistant') return
    const used = object(message.usage)
    usage = {
      inputTokens: usage.inputTokens + number(used.input) + number(used.cacheRead) + number(used.cacheWrite),
      outputTokens: usage.outputTokens + number(used.output),
      costUsd: (usage.costUsd ?? 0) + number(object(used.cost).total),
    }
    const said = string(message.errorMessage) || 'the turn failed'
    const text = objects(message.content)
      .map(part => (part.type === 'text' ? string(part.text) : ''))
      .join('')
    end = message.stopReason === 'error' ? failure(said, statusIn(said)) : { type: 'ended', ok: true, text }
  }

  return readJsonLines(line => {
    switch (line.type) {
      case 'session':
        return [{ type: 'started', session: string(line.id) || null }]
      case 'message_update':
        return updated(object(line.assistantMessageEvent))
      case 'message_end':
        spoken(object(line.message))
        return []
      case 'tool_execution_start':
        return [
          { type: 'action', id: string(line.toolCallId), label: string(line.toolName) || 'tool', phase: 'started' },
        ]
      case 'tool_execution_end': {
        const phase = line.isError === true ? 'failed' : 'ended'
        return [{ type: 'action', id: string(line.toolCallId), label: string(line.toolName) || 'tool', phase }]
      }
      case 'agent_settled':
        return end ? [{ type: 'usage', usage, of: 'turn', model: null }, end] : []
      default:
        return []
    }
  })
}
