// Claude Code: `claude -p` with stream-json output.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { AgentEvent, Ended, McpServer, Turn, Usage } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { type Dialect, systemPromptIn } from '../cli.ts'
import { failure } from '../diagnosis.ts'
import { type Answer, openAnswer, unasked } from '../events.ts'
import { claudeServices } from '../network/services.ts'
import {
  type Json,
  number,
  object,
  objects,
  openStdioHost,
  readJsonLines,
  string,
  strings,
  withoutReferences,
} from '../stdio.ts'
import { toolLabel, toolName } from '../tools.ts'
import { deniedRuns, hasShell, runSettings, runSettingsIn } from './claude-settings.ts'

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
  files(turn, inherited) {
    const settings = isConfined(turn.profile) ? null : runSettings(turn, inherited)
    return {
      ...(turn.mcpServers.length === 0 ? {} : { [mcpConfigIn('')]: mcpConfig(turn.mcpServers) }),
      ...(settings === null ? {} : { [runSettingsIn('')]: JSON.stringify(settings) }),
    }
  },
  environment: turn => ({
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Its own ten retries take three minutes. The gateway retries instead, and notifies the user.
    CLAUDE_CODE_MAX_RETRIES: '2',
    // The skill tool is offered for the user's own skills, not for those bundled with claude.
    ...(turn.allowedTools.includes(skillTool) ? {} : { CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1' }),
    // Root may skip permissions only if this variable declares a sandbox.
    ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
  }),
  ownVariables: ['ANTHROPIC_*', 'CLAUDE_*', 'AWS_*', 'GOOGLE_APPLICATION_CREDENTIALS', 'CLOUD_ML_REGION'],
  arguments: argumentsFor,
  input: promptOf,
  read: () => readJsonLines(createReading()()),
  ignores: () => [],
  confined: {
    logins: ['.claude/.credentials.json'],
    state: ['.claude', '.claude.json', '.local/share/claude', '.local/state/claude'],
    staysInFolder: true,
    heldByFlags: true,
    services: claudeServices,
  },
  warm: {
    serves: 'one-session',
    fixed: ({ prompt, session, ...rest }) => rest,
    async open(host, turn) {
      const read = createReading()
      const args = [...argumentsFor(turn, host.dir), '--input-format', 'stream-json', `--${replays}`]
      return openStdioHost(host.start(args, claude.environment(turn, host.dir, host.inherited)), {
        hello: jsonLine({ type: 'control_request', request_id: 'hello', request: { subtype: 'initialize' } }),
        isUp: line => line.type === 'control_response',
        take(turn) {
          const uuid = randomUUID()
          const words = jsonLine({ type: 'user', uuid, message: { role: 'user', content: promptOf(turn) } })
          return { words, reader: readJsonLines(read(uuid)) }
        },
        interrupt: () => jsonLine({ type: 'control_request', request_id: 'stop', request: { subtype: 'interrupt' } }),
      })
    },
  },
}

/** With this flag it repeats each message with its id as soon as it starts to process it. */
export const replays = 'replay-user-messages'

const jsonLine = (line: Json) => `${JSON.stringify(line)}\n`

function argumentsFor(turn: Turn, dir: string): readonly string[] {
  return [
    '-p',
    ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
    ...(isBypassing(turn) ? ['--dangerously-skip-permissions'] : ['--permission-mode', modeOf(turn)]),
    // Without `snapshot off` a resumed session keeps the system prompt of its first turn.
    ...['--append-system-prompt-file', systemPromptIn(dir), '--system-prompt-snapshot', 'off'],
    ...['--max-turns', String(turn.maxTurns)],
    // --tools restricts; --allowedTools alone would be bypassed together with the permissions.
    ...[
      '--tools',
      turn.allowedTools.map(toolName).join(','),
      ...(isConfined(turn.profile) ? [] : ['--tools', skillTool]),
    ],
    ...grantedTools(turn).flatMap(tool => ['--allowedTools', tool]),
    ...(isConfined(turn.profile) ? guestArguments(turn) : hasShell(turn) ? [] : shellless(dir)),
    ...(turn.mcpServers.length > 0 ? ['--mcp-config', mcpConfigIn(dir)] : []),
    ...(turn.model ? ['--model', turn.model] : []),
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ]
}

/** With permissions bypassed, rules such as `Bash(git log:*)` would not count. */
const isBypassing = (turn: Turn) =>
  turn.permissionMode === 'bypassPermissions' &&
  !isConfined(turn.profile) &&
  turn.allowedTools.every(tool => tool === toolName(tool))

/** `dontAsk`: what no rule allows is refused. */
export const modeOf = (turn: Turn): string =>
  isBypassing(turn)
    ? 'bypassPermissions'
    : isConfined(turn.profile) || turn.permissionMode === 'bypassPermissions'
      ? 'dontAsk'
      : turn.permissionMode

/** Settings of the folder are not read, hooks do not run, and only the given MCP servers are started. */
export const guestSettings = { disableAllHooks: true }
const guestArguments = (turn: Turn): readonly string[] => [
  ...['--setting-sources', 'user', '--strict-mcp-config', '--settings', JSON.stringify(guestSettings)],
  ...deniedTools(turn).flatMap(tool => ['--disallowedTools', tool]),
]

const shellless = (dir: string): readonly string[] => [
  ...['--settings', runSettingsIn(dir), '--disallowedTools', deniedRuns(dir)],
]

/** Its tools for files; all of them obey the rules for Read or Edit. */
const ofFiles: Readonly<Record<string, 'Read' | 'Edit'>> = {
  ...{ Read: 'Read', Glob: 'Read', Grep: 'Read', LS: 'Read', NotebookRead: 'Read' },
  ...{ Write: 'Edit', Edit: 'Edit', MultiEdit: 'Edit', NotebookEdit: 'Edit' },
}

/** A guest's tools for files apply to the working folder only. */
const inFolder = (tool: string): readonly string[] => {
  const kind = ofFiles[tool]
  return kind === undefined ? [tool] : [`${kind}(./**)`]
}

/** What could lead out of the folder, or keep an effect after the turn. */
export const deniedTools = ({ profile }: Turn): readonly string[] => [
  ...['Read(//proc/**)', 'Read(//sys/**)', 'Edit(./.claude/**)', 'Edit(./.mcp.json)'],
  ...(profile?.home ? [`Read(/${profile.home}/**)`, `Edit(/${profile.home}/**)`] : []),
]

/** Without it skills are not available at all. It runs no shell unless Bash is allowed too. */
const skillTool = 'Skill'

/** Tool names without their rules: `Bash(git log:*)` is a rule for the tool Bash. */
export const offeredTools = (turn: Turn): readonly string[] => [
  ...new Set([...turn.allowedTools.map(toolName), ...(isConfined(turn.profile) ? [] : [skillTool])]),
]

/** Tools that run without asking. Asking would mean a refusal here. Tools of MCP servers are always offered. */
export function grantedTools(turn: Turn): readonly string[] {
  if (isBypassing(turn)) return turn.allowedTools
  const servers = turn.mcpServers.map(({ name }) => `mcp__${name.replace(/[^\w-]/g, '_')}`)
  if (isConfined(turn.profile)) return [...new Set([...turn.allowedTools.flatMap(inFolder), ...servers])]
  return [...turn.allowedTools, skillTool, ...servers]
}

/** A file, because every user of the machine can read secrets on a command line. */
export const mcpConfigIn = (dir: string): string => join(dir, 'mcp.json')

function mcpConfig(servers: readonly McpServer[]): string {
  const entries = servers.map(({ name, ...server }) => [name, 'url' in server ? { type: 'http', ...server } : server])
  return JSON.stringify({ mcpServers: Object.fromEntries(entries) })
}

/** A prompt that starts with a slash would be taken for one of claude's own commands. */
export function promptOf({ prompt }: Turn): string {
  const words = withoutReferences(prompt)
  return words.trimStart().startsWith('/') ? `The message reads:\n${words}` : words
}

/**
 * For the lines of one process; each turn gets its own reader. `own`: the id of the message of the turn. Not all output belongs to
 * it: claude starts turns by itself, for example when a background command ends. Without an id, all output belongs to the turn.
 */
export function createReading(): (own?: string) => (line: Json) => readonly AgentEvent[] {
  // Claude reports it when it changes, not again in each turn that hits it.
  let limit: Json = {}
  return (own = '') => {
    let mine = own === ''
    let stored = false
    let session: string | null = null
    let model: string | null = null
    let spoke = false
    const answer = openAnswer()
    const used = createUsage()
    const labels = new Map<string, string>()

    /** Every line carries the session. A new id means that claude continued in another session. */
    const noteSession = (line: Json): AgentEvent[] => {
      const id = line.session_id
      if (typeof id !== 'string' || id === '' || id === session) return []
      session = id
      return [{ type: 'started', session: id }]
    }

    /** Messages from claude itself in place of the model, mostly errors, have the model name `<synthetic>`. */
    const noteModel = (name: unknown) => {
      if (typeof name === 'string' && name !== '' && !name.startsWith('<')) model = name
    }

    /** By then it has stored the prompt. */
    const noteStored = (): AgentEvent[] => {
      if (stored) return []
      stored = true
      return [{ type: 'stored' }]
    }

    const streamed = (line: Json): AgentEvent[] => {
      const event = object(line.event)
      if (line.parent_tool_use_id) return []
      if (event.type === 'content_block_start' && object(event.content_block).type === 'text')
        return spoke ? [{ type: 'text', delta: '\n\n' }] : []
      const delta = object(event.delta)
      if (/thinking/.test(string(delta.type) || string(object(event.content_block).type)))
        return [{ type: 'thinking', quietly: false }]
      if (event.type !== 'content_block_delta' || delta.type !== 'text_delta' || typeof delta.text !== 'string')
        return []
      spoke = true
      return [{ type: 'text', delta: delta.text }]
    }

    /** Each part also comes as a whole when it is complete. Messages from claude itself are skipped. */
    const addText = (line: Json): void => {
      const message = object(line.message)
      if (line.parent_tool_use_id || string(message.model).startsWith('<')) return
      for (const block of objects(message.content)) if (block.type === 'text') answer.add(string(block.text))
    }

    const tools = (line: Json): AgentEvent[] =>
      objects(object(line.message).content).flatMap((block): AgentEvent[] => {
        if (block.type === 'tool_use' && typeof block.id === 'string') {
          const label = toolLabel(string(block.name), object(block.input))
          labels.set(block.id, label)
          return [{ type: 'action', id: block.id, label, phase: 'started' }]
        }
        if (block.type !== 'tool_result' || typeof block.tool_use_id !== 'string') return []
        const id = block.tool_use_id
        return [
          { type: 'action', id, label: labels.get(id) ?? 'tool', phase: block.is_error === true ? 'failed' : 'ended' },
        ]
      })

    /** True from the first line on that refers to the message of the turn. */
    const isMine = (line: Json): boolean => {
      const about = [...strings(line.user_message_uuids), string(line.user_message_uuid)].filter(Boolean)
      if (own !== '' && about.length > 0) mine = about.includes(own)
      else mine ||= line.type === 'user' && line.uuid === own
      return mine
    }

    return line => {
      if (line.type === 'rate_limit_event') limit = object(line.rate_limit_info)
      if (!isMine(line)) return line.type === 'result' && line.is_error !== true ? [unasked] : []
      const events = noteSession(line)
      switch (line.type) {
        case 'system':
          if (line.subtype === 'init') noteModel(line.model)
          return line.subtype === 'api_retry' ? [...events, ...noteStored()] : events
        case 'stream_event':
          return [...events, ...noteStored(), ...used(object(line.event), model), ...streamed(line)]
        case 'assistant':
          addText(line)
          if (!line.parent_tool_use_id) noteModel(object(line.message).model)
          return [...events, ...noteStored(), ...tools(line)]
        case 'user':
          return [...events, ...noteStored(), ...tools(line)]
        case 'result':
          return [...events, ...usageOf(line, model), endOf(line, limit, answer)]
        default:
          return events
      }
    }
  }
}

function endOf(line: Json, limit: Json, answer: Answer): Ended {
  const text = string(line.result)
  if (line.is_error !== true) return answer.end(text)
  const detail = [text, ...strings(line.errors)].filter(Boolean).join('; ') || string(line.subtype) || 'error'
  if (line.subtype === 'error_max_turns') return { type: 'ended', ok: false, why: 'max-turns', detail }
  const end = failure(detail, number(line.api_error_status))
  const isOver = !end.ok && end.why === 'rate-limited' && limit.status === 'rejected' && number(limit.resetsAt) > 0
  return isOver ? { ...end, until: number(limit.resetsAt) * 1000 } : end
}

/** Usage of its messages so far, for a turn that does not reach its end. */
function createUsage(): (event: Json, model: string | null) => readonly AgentEvent[] {
  const done: Json[] = []
  let current: Json = {}
  return (event, model) => {
    if (event.type === 'message_start') current = object(object(event.message).usage)
    else if (event.type === 'message_delta') {
      done.push({ ...current, ...object(event.usage) })
      current = {}
    } else return []
    const usage = usageIn([...done, current])
    return usage.inputTokens + usage.outputTokens === 0 ? [] : [{ type: 'usage', usage, of: 'turn', model }]
  }
}

const count = (from: readonly Json[], ...names: readonly string[]) =>
  from.flatMap(one => names.map(name => number(one[name]))).reduce((sum, one) => sum + one, 0)

const usageIn = (messages: readonly Json[]): Usage => ({
  inputTokens: count(messages, 'input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'),
  outputTokens: count(messages, 'output_tokens'),
  costUsd: null,
})

/** `modelUsage` and the cost cover the whole session with its subagents. Older versions have only `usage`, which covers the turn. */
function usageOf(line: Json, model: string | null): readonly AgentEvent[] {
  const models = objects(Object.values(object(line.modelUsage)))
  if (models.length > 0) {
    const usage: Usage = {
      inputTokens: count(models, 'inputTokens', 'cacheCreationInputTokens', 'cacheReadInputTokens'),
      outputTokens: count(models, 'outputTokens'),
      costUsd: typeof line.total_cost_usd === 'number' ? line.total_cost_usd : null,
    }
    return [{ type: 'usage', usage, of: 'session', model }]
  }
  // A session without any usage yet reports an empty list.
  if (line.modelUsage !== undefined || line.usage === undefined) return []
  return [{ type: 'usage', usage: usageIn([object(line.usage)]), of: 'turn', model }]
}
