// OpenCode: `opencode run --format json`.
import type { AgentEvent, Ended, Usage } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { number, object, parseLine, string } from '../json.ts'
import { readJsonLines } from '../reader.ts'

/** The agent under which our system prompt is known to it. */
const agent = 'aetheel'

export const opencode: Dialect = {
  name: 'opencode',
  takesSessionIds: false,
  install:
    'Install it with `npm install -g opencode-ai` and log in once with `opencode auth login`, or name its path in BACKEND_CLI_PATH.',
  credentials: {
    variables: [
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'GEMINI_API_KEY',
      'OPENROUTER_API_KEY',
      'OPENCODE_CONFIG_CONTENT',
    ],
    files: ['.local/share/opencode/auth.json', '.config/opencode/opencode.json'],
  },
  files: () => ({}),
  environment: (_, dir, inherited) => ({
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_CONFIG_CONTENT: withAgent(inherited.OPENCODE_CONFIG_CONTENT, systemPromptIn(dir)),
  }),
  ownVariables: ['OPENCODE_*', 'OPENAI_*', 'ANTHROPIC_*', 'GEMINI_*', 'GOOGLE_*', 'OPENROUTER_*'],
  arguments: turn => [
    ...['run', '--format', 'json'],
    // Rules that ask are turned down in a run unless it is told to agree.
    ...(turn.permissionMode === 'bypassPermissions' ? ['--auto'] : []),
    // From any other folder a resumed session answers nobody and hangs.
    ...['--dir', turn.workingDir, '--agent', agent],
    // Without a title it asks the model for one.
    ...['--title', 'Aetheel'],
    ...(turn.model ? ['--model', turn.model] : []),
    ...(turn.session?.resume ? ['--session', turn.session.id, '--continue'] : []),
  ],
  input: turn => turn.prompt,
  read: readEvents,
  ignores: () => [],
  warm: null,
}

/** On top of what the user has configured the same way. */
function withAgent(configured: string | undefined, systemPromptFile: string): string {
  const own = parseLine(configured ?? '') ?? {}
  return JSON.stringify({ ...own, agent: { ...object(own.agent), [agent]: { prompt: `{file:${systemPromptFile}}` } } })
}

function readEvents(): Reader {
  let session = ''
  let last: string | null = null
  let failed: Ended | null = null
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }

  const started = (id: string): AgentEvent[] => {
    if (id === '' || id === session) return []
    session = id
    return [{ type: 'started', session: id }]
  }

  return readJsonLines(
    line => {
      const events = started(string(line.sessionID))
      const part = object(line.part)
      switch (line.type) {
        case 'text': {
          const delta = last === null ? string(part.text) : `\n\n${string(part.text)}`
          last = string(part.text)
          return [...events, { type: 'text', delta }]
        }
        case 'tool_use': {
          const id = string(part.callID)
          const label = string(part.tool) || 'tool'
          const phase = object(part.state).status === 'error' ? 'failed' : 'ended'
          // It tells of a tool only when that has ended.
          return [...events, { type: 'action', id, label, phase: 'started' }, { type: 'action', id, label, phase }]
        }
        case 'step_finish': {
          const tokens = object(part.tokens)
          usage = {
            inputTokens: usage.inputTokens + number(tokens.input),
            outputTokens: usage.outputTokens + number(tokens.output),
            costUsd: (usage.costUsd ?? 0) + number(part.cost),
          }
          return [...events, { type: 'usage', usage, of: 'turn', model: null }]
        }
        case 'error': {
          const error = object(line.error)
          const said = string(object(error.data).message) || string(error.name) || 'the turn failed'
          failed = failure(said, number(object(error.data).statusCode) || statusIn(said))
          return events
        }
        default:
          return events
      }
    },
    // It has no word for the end: leaving in good order is the end.
    how => failed ?? (last !== null && how.code === 0 ? { type: 'ended', ok: true, text: last } : null),
  )
}
