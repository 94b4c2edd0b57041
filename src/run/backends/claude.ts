// Claude Code: `claude -p` with stream-json output.
import type { AgentEvent, Ended, Turn, Usage } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure } from '../diagnosis.ts'
import { type Json, number, object, objects, string, strings } from '../json.ts'
import { withoutReferences } from '../plain.ts'
import { readJsonLines } from '../reader.ts'
import { openTalk } from '../talk.ts'

export const claude: Dialect = {
  name: 'claude',
  takesSessionIds: true,
  install:
    'Install it with `npm install -g @anthropic-ai/claude-code` and log in once with `claude`, or name its path in BACKEND_CLI_PATH.',
  credentials: {
    variables: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
    ],
    files: ['.claude/.credentials.json'],
  },
  files: () => ({}),
  environment: () => ({
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Its own ten retries take three minutes; ours decide, and tell the person.
    CLAUDE_CODE_MAX_RETRIES: '2',
    // Root may skip permissions only where it says that this is a sandbox.
    ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
  }),
  ownVariables: ['ANTHROPIC_*', 'CLAUDE_*', 'AWS_*', 'GOOGLE_APPLICATION_CREDENTIALS', 'CLOUD_ML_REGION'],
  arguments: argumentsFor,
  input: turn => plainly(withoutReferences(turn.prompt)),
  read: readStream,
  ignores: () => [],
  warm: {
    serves: 'one-session',
    fixed: ({ prompt, session, scratchDir, ...rest }) => rest,
    open: async (ground, turn) =>
      openTalk(
        ground.start(
          [...argumentsFor(turn, ground.dir), '--input-format', 'stream-json'],
          claude.environment(turn, ground.dir, ground.inherited),
        ),
        {
          begin: ({ prompt }) =>
            said({ type: 'user', message: { role: 'user', content: plainly(withoutReferences(prompt)) } }),
          interrupt: () => said({ type: 'control_request', request_id: 'stop', request: { subtype: 'interrupt' } }),
          read: readStream,
        },
      ),
  },
}

const said = (line: Json) => `${JSON.stringify(line)}\n`

function argumentsFor(turn: Turn, dir: string): readonly string[] {
  return [
    '-p',
    ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
    ...(turn.permissionMode === 'bypassPermissions'
      ? ['--dangerously-skip-permissions']
      : ['--permission-mode', turn.permissionMode]),
    // Without `snapshot off` a resumed session keeps the system prompt of its first turn.
    ...['--append-system-prompt-file', systemPromptIn(dir), '--system-prompt-snapshot', 'off'],
    ...['--max-turns', String(turn.maxTurns)],
    // --tools restricts; --allowedTools alone would be bypassed together with the permissions.
    ...['--tools', turn.allowedTools.join(',')],
    ...turn.allowedTools.flatMap(tool => ['--allowedTools', tool]),
    ...(turn.model ? ['--model', turn.model] : []),
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ]
}

/** A prompt that begins with a slash would be taken for one of claude's own commands. */
const plainly = (prompt: string) => (prompt.trimStart().startsWith('/') ? `The message reads:\n${prompt}` : prompt)

function readStream(): Reader {
  let session: string | null = null
  let spoke = false
  const labels = new Map<string, string>()

  /** Every line carries the session; a new id means that claude went on elsewhere. */
  const noteSession = (line: Json): AgentEvent[] => {
    const id = line.session_id
    if (typeof id !== 'string' || id === '' || id === session) return []
    session = id
    return [{ type: 'started', session: id }]
  }

  const streamed = (line: Json): AgentEvent[] => {
    const event = object(line.event)
    if (line.parent_tool_use_id) return []
    if (event.type === 'content_block_start' && object(event.content_block).type === 'text')
      return spoke ? [{ type: 'text', delta: '\n\n' }] : []
    const delta = object(event.delta)
    if (event.type !== 'content_block_delta' || delta.type !== 'text_delta' || typeof delta.text !== 'string') return []
    spoke = true
    return [{ type: 'text', delta: delta.text }]
  }

  const tools = (line: Json): AgentEvent[] =>
    objects(object(line.message).content).flatMap((block): AgentEvent[] => {
      if (block.type === 'tool_use' && typeof block.id === 'string') {
        const label = labelOf(block)
        labels.set(block.id, label)
        return [{ type: 'action', id: block.id, label, phase: 'started' }]
      }
      if (block.type !== 'tool_result' || typeof block.tool_use_id !== 'string') return []
      const id = block.tool_use_id
      return [
        { type: 'action', id, label: labels.get(id) ?? 'tool', phase: block.is_error === true ? 'failed' : 'ended' },
      ]
    })

  return readJsonLines(line => {
    const events = noteSession(line)
    switch (line.type) {
      case 'stream_event':
        return [...events, ...streamed(line)]
      case 'assistant':
      case 'user':
        return [...events, ...tools(line)]
      case 'result':
        return [...events, { type: 'usage', usage: usageOf(line), of: 'turn', model: null }, endOf(line)]
      default:
        return events
    }
  })
}

function endOf(line: Json): Ended {
  const text = string(line.result)
  if (line.is_error !== true) return { type: 'ended', ok: true, text }
  const detail = [text, ...strings(line.errors)].filter(Boolean).join('; ') || string(line.subtype) || 'error'
  if (line.subtype === 'error_max_turns') return { type: 'ended', ok: false, why: 'max-turns', detail }
  return failure(detail, number(line.api_error_status))
}

function usageOf(line: Json): Usage {
  const usage = object(line.usage)
  const tokens = (name: string) => number(usage[name])
  return {
    inputTokens: tokens('input_tokens') + tokens('cache_creation_input_tokens') + tokens('cache_read_input_tokens'),
    outputTokens: tokens('output_tokens'),
    // total_cost_usd counts the whole resumed session, so it says nothing about this turn.
    costUsd: null,
  }
}

function labelOf(block: Json): string {
  const input = object(block.input)
  const about = ['file_path', 'path', 'pattern', 'command', 'query', 'url', 'description']
    .map(key => input[key])
    .find(value => typeof value === 'string')
  const name = typeof block.name === 'string' ? block.name : 'tool'
  return typeof about === 'string' ? `${name}: ${about.replace(/\s+/g, ' ').slice(0, 80)}` : name
}
