// Claude Code: `claude -p` with stream-json output.
import { join } from 'node:path'
import type { AgentEvent, Ended, McpServer, Turn, Usage } from '../../base/agent.ts'
import { type Dialect, systemPromptIn } from '../cli.ts'
import { failure } from '../diagnosis.ts'
import { type Json, number, object, objects, string, strings } from '../json.ts'
import { withoutReferences } from '../plain.ts'
import { readJsonLines } from '../reader.ts'
import { openTalk } from '../talk.ts'
import { shownTool, toolName } from '../tools.ts'

export const claude: Dialect = {
  name: 'claude',
  takesSessionIds: true,
  countsSteps: true,
  install: 'Install it with `npm install -g @anthropic-ai/claude-code` and log in once with `claude`.',
  credentials: {
    variables: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
      'CLAUDE_CODE_USE_FOUNDRY',
    ],
    files: ['.claude/.credentials.json'],
  },
  files: turn => (turn.mcpServers.length === 0 ? {} : { [mcpConfigIn('')]: mcpConfig(turn.mcpServers) }),
  environment: turn => ({
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Its own ten retries take three minutes; ours decide, and tell the person.
    CLAUDE_CODE_MAX_RETRIES: '2',
    // The tool for skills is offered because of the user's own; those that come with claude were not asked for.
    ...(turn.allowedTools.includes(skillTool) ? {} : { CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1' }),
    // Root may skip permissions only where it says that this is a sandbox.
    ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
  }),
  ownVariables: ['ANTHROPIC_*', 'CLAUDE_*', 'AWS_*', 'GOOGLE_APPLICATION_CREDENTIALS', 'CLOUD_ML_REGION'],
  arguments: argumentsFor,
  input: wordsOf,
  read: () => readJsonLines(openReading()()),
  ignores: turn =>
    isBypassing(turn)
      ? turn.allowedTools
          .filter(tool => tool !== toolName(tool))
          .map(tool => `While permissions are bypassed, claude allows all of ${toolName(tool)}, not only ${tool}.`)
      : [],
  warm: {
    serves: 'one-session',
    fixed: ({ prompt, session, ...rest }) => rest,
    async open(ground, turn) {
      const read = openReading()
      const args = [...argumentsFor(turn, ground.dir), '--input-format', 'stream-json']
      return openTalk(ground.start(args, claude.environment(turn, ground.dir, ground.inherited)), {
        hello: said({ type: 'control_request', request_id: 'hello', request: { subtype: 'initialize' } }),
        isUp: line => line.type === 'control_response',
        begin: turn => said({ type: 'user', message: { role: 'user', content: wordsOf(turn) } }),
        interrupt: () => said({ type: 'control_request', request_id: 'stop', request: { subtype: 'interrupt' } }),
        read: () => readJsonLines(read()),
      })
    },
  },
}

const said = (line: Json) => `${JSON.stringify(line)}\n`

function argumentsFor(turn: Turn, dir: string): readonly string[] {
  return [
    '-p',
    ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
    ...(isBypassing(turn) ? ['--dangerously-skip-permissions'] : ['--permission-mode', turn.permissionMode]),
    // Without `snapshot off` a resumed session keeps the system prompt of its first turn.
    ...['--append-system-prompt-file', systemPromptIn(dir), '--system-prompt-snapshot', 'off'],
    ...['--max-turns', String(turn.maxTurns)],
    // --tools restricts; --allowedTools alone would be bypassed together with the permissions.
    ...['--tools', turn.allowedTools.map(toolName).join(','), '--tools', skillTool],
    ...grantedTools(turn).flatMap(tool => ['--allowedTools', tool]),
    ...(turn.mcpServers.length > 0 ? ['--mcp-config', mcpConfigIn(dir)] : []),
    ...(turn.model ? ['--model', turn.model] : []),
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ]
}

const isBypassing = (turn: Turn) => turn.permissionMode === 'bypassPermissions'

/** Without it there are no skills, whatever lies in their folder. It runs no shell unless Bash is allowed as well. */
const skillTool = 'Skill'

/** `Bash(git log:*)` is a rule; the tool is called Bash. */

export const offeredTools = (turn: Turn): readonly string[] => [...turn.allowedTools.map(toolName), skillTool]

/** What is done without asking, which would be a refusal here. Tools of MCP servers are offered in any case. */
export const grantedTools = (turn: Turn): readonly string[] =>
  isBypassing(turn)
    ? turn.allowedTools
    : [...turn.allowedTools, skillTool, ...turn.mcpServers.map(({ name }) => `mcp__${name.replace(/[^\w-]/g, '_')}`)]

/** A file: on the command line everybody on the machine could read its secrets. */
export const mcpConfigIn = (dir: string): string => join(dir, 'mcp.json')

function mcpConfig(servers: readonly McpServer[]): string {
  const entries = servers.map(({ name, ...server }) => [name, 'url' in server ? { type: 'http', ...server } : server])
  return JSON.stringify({ mcpServers: Object.fromEntries(entries) })
}

/** A prompt that begins with a slash would be taken for one of claude's own commands. */
export function wordsOf({ prompt }: Turn): string {
  const words = withoutReferences(prompt)
  return words.trimStart().startsWith('/') ? `The message reads:\n${words}` : words
}

/** For the lines of one process; each turn gets a reader of its own. */
export function openReading(): () => (line: Json) => readonly AgentEvent[] {
  // Told when it changes, not again by each turn that runs into it.
  let limit: Json = {}
  return () => {
    let session: string | null = null
    let model: string | null = null
    let spoke = false
    const labels = new Map<string, string>()

    /** Every line carries the session; a new id means that claude went on elsewhere. */
    const noteSession = (line: Json): AgentEvent[] => {
      const id = line.session_id
      if (typeof id !== 'string' || id === '' || id === session) return []
      session = id
      return [{ type: 'started', session: id }]
    }

    /** What claude itself says in the model's place, an error mostly, goes by the name `<synthetic>`. */
    const noteModel = (name: unknown) => {
      if (typeof name === 'string' && name !== '' && !name.startsWith('<')) model = name
    }

    const streamed = (line: Json): AgentEvent[] => {
      const event = object(line.event)
      if (line.parent_tool_use_id) return []
      if (event.type === 'content_block_start' && object(event.content_block).type === 'text')
        return spoke ? [{ type: 'text', delta: '\n\n' }] : []
      const delta = object(event.delta)
      if (event.type !== 'content_block_delta' || delta.type !== 'text_delta' || typeof delta.text !== 'string')
        return []
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

    return line => {
      const events = noteSession(line)
      switch (line.type) {
        case 'system':
          if (line.subtype === 'init') noteModel(line.model)
          return events
        case 'rate_limit_event':
          limit = object(line.rate_limit_info)
          return events
        case 'stream_event':
          return [...events, ...streamed(line)]
        case 'assistant':
          if (!line.parent_tool_use_id) noteModel(object(line.message).model)
          return [...events, ...tools(line)]
        case 'user':
          return [...events, ...tools(line)]
        case 'result':
          return [...events, ...usageOf(line, model), endOf(line, limit)]
        default:
          return events
      }
    }
  }
}

function endOf(line: Json, limit: Json): Ended {
  const text = string(line.result)
  if (line.is_error !== true) return { type: 'ended', ok: true, text }
  const detail = [text, ...strings(line.errors)].filter(Boolean).join('; ') || string(line.subtype) || 'error'
  if (line.subtype === 'error_max_turns') return { type: 'ended', ok: false, why: 'max-turns', detail }
  const end = failure(detail, number(line.api_error_status))
  const isOver = !end.ok && end.why === 'rate-limited' && limit.status === 'rejected' && number(limit.resetsAt) > 0
  return isOver ? { ...end, until: number(limit.resetsAt) * 1000 } : end
}

/** `modelUsage` and the cost count the whole session with its subagents; `usage`, all that there is in older versions, only the turn. */
function usageOf(line: Json, model: string | null): readonly AgentEvent[] {
  const models = objects(Object.values(object(line.modelUsage)))
  const count = (from: readonly Json[], ...names: readonly string[]) =>
    from.flatMap(one => names.map(name => number(one[name]))).reduce((sum, one) => sum + one, 0)
  if (models.length > 0) {
    const usage: Usage = {
      inputTokens: count(models, 'inputTokens', 'cacheCreationInputTokens', 'cacheReadInputTokens'),
      outputTokens: count(models, 'outputTokens'),
      costUsd: typeof line.total_cost_usd === 'number' ? line.total_cost_usd : null,
    }
    return [{ type: 'usage', usage, of: 'session', model }]
  }
  // A session that has used nothing yet says so with an empty list.
  if (line.modelUsage !== undefined || line.usage === undefined) return []
  const turn = [object(line.usage)]
  const usage: Usage = {
    inputTokens: count(turn, 'input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'),
    outputTokens: count(turn, 'output_tokens'),
    costUsd: null,
  }
  return [{ type: 'usage', usage, of: 'turn', model }]
}

function labelOf(block: Json): string {
  const input = object(block.input)
  const about = ['file_path', 'path', 'pattern', 'command', 'query', 'url', 'description']
    .map(key => input[key])
    .find(value => typeof value === 'string')
  const name = shownTool(string(block.name))
  return typeof about === 'string' ? `${name}: ${about.replace(/\s+/g, ' ').slice(0, 80)}` : name
}
