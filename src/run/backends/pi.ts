// Pi coding agent: `pi -p --mode json` in cold mode, `pi --mode rpc` in warm mode.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { ActionPhase, AgentEvent, Ended, McpServer, Turn, Usage } from '../../base/agent.ts'
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Answer, openAnswer, unasked } from '../events.ts'
import { providerServices } from '../network/services.ts'
import { type Json, number, object, objects, openStdioHost, readJsonLines, string, withoutCommands } from '../stdio.ts'
import { toolLabel, toolName } from '../tools.ts'

/** One for each of its many providers. */
const keys = [
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_OAUTH_TOKEN', 'OPENAI_API_KEY', 'AZURE_OPENAI_API_KEY'],
  ...['GEMINI_API_KEY', 'GOOGLE_CLOUD_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS', 'OPENROUTER_API_KEY'],
  ...['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_BEARER_TOKEN_BEDROCK', 'CLOUDFLARE_API_KEY', 'COPILOT_GITHUB_TOKEN'],
  ...['AI_GATEWAY_API_KEY', 'ANT_LING_API_KEY', 'BASETEN_API_KEY', 'CEREBRAS_API_KEY', 'DEEPSEEK_API_KEY'],
  ...['FIREWORKS_API_KEY', 'GROQ_API_KEY', 'HF_TOKEN', 'KIMI_API_KEY', 'META_API_KEY', 'MINIMAX_API_KEY'],
  ...['MINIMAX_CN_API_KEY', 'MISTRAL_API_KEY', 'MOONSHOT_API_KEY', 'NVIDIA_API_KEY', 'OPENCODE_API_KEY'],
  ...['QWEN_TOKEN_PLAN_API_KEY', 'QWEN_TOKEN_PLAN_CN_API_KEY', 'RADIUS_API_KEY', 'TOGETHER_API_KEY', 'XAI_API_KEY'],
  ...['XIAOMI_API_KEY', 'XIAOMI_TOKEN_PLAN_CN_API_KEY', 'XIAOMI_TOKEN_PLAN_AMS_API_KEY'],
  ...['XIAOMI_TOKEN_PLAN_SGP_API_KEY', 'ZAI_API_KEY', 'ZAI_CODING_CN_API_KEY'],
]

/** Its names for the tools; it has none for the web or for tasks. */
const tools: ReadonlyMap<string, readonly string[]> = new Map([
  ['Read', ['read', 'ls']],
  ['LS', ['ls']],
  ['Glob', ['find', 'ls']],
  ['Grep', ['grep']],
  ['Write', ['write']],
  ['Edit', ['edit']],
  ['MultiEdit', ['edit']],
  ['Bash', ['bash']],
])
/** Pi never asks for permission, so tools that would have to ask are not available. */
const withoutAsking: Readonly<Record<Turn['permissionMode'], readonly string[]>> = {
  plan: ['read', 'ls', 'find', 'grep'],
  default: ['read', 'ls', 'find', 'grep'],
  acceptEdits: ['read', 'ls', 'find', 'grep', 'write', 'edit'],
  bypassPermissions: ['read', 'ls', 'find', 'grep', 'write', 'edit', 'bash'],
}

const dialect = (mcp: boolean): Dialect => ({
  name: 'pi',
  takesSessionIds: true,
  countsSteps: false,
  mcp: false,
  install: 'Install it with `npm install -g @earendil-works/pi-coding-agent` and log in once with `pi`.',
  credentials: { variables: keys, files: ['.pi/agent/auth.json', '.pi/agent/models.json'] },
  files: ({ mcpServers }) => (mcp && mcpServers.length > 0 ? { [extension]: registering(mcpServers) } : {}),
  environment: () => environment,
  ownVariables: [
    ...['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'AZURE_OPENAI_*', 'GEMINI_*', 'GOOGLE_*', 'OPENROUTER_*', 'AWS_*'],
    ...['CLOUDFLARE_*', ...keys],
  ],
  arguments: (turn, dir) => ['-p', '--mode', 'json', ...optionsFor(turn, dir, mcp)],
  input: turn => withoutCommands(turn.prompt),
  read: () => readEvents(null),
  ignores: turn => ignores(turn, mcp),
  confined: {
    logins: ['.pi/agent/auth.json', '.pi/agent/models.json'],
    state: ['.pi'],
    staysInFolder: false,
    heldByFlags: false,
    services: providerServices,
    naming: ['.pi/agent/models.json'],
  },
  models: {
    arguments: ['--list-models'],
    // A table: provider, model, and what it can do.
    read: lines => lines.slice(1).flatMap(line => /^(\S+)\s+(\S+)\s/.exec(`${line} `)?.slice(1, 3).join('/') ?? []),
    takes: takesModel,
  },
  warm: {
    serves: 'one-session',
    fixed: ({ prompt, session, maxTurns, mcpServers, ...rest }) => (mcp ? { ...rest, mcpServers } : rest),
    async open(host, turn) {
      let session: string | null = null
      const args = ['--mode', 'rpc', ...optionsFor(turn, host.dir, mcp)]
      return openStdioHost(host.start(args, environment), {
        hello: jsonLine({ type: 'get_state' }),
        // This is the only source of the session id.
        isUp(line) {
          session = string(object(line.data).sessionId) || null
          return line.type === 'response'
        },
        take({ prompt }) {
          const id = randomUUID()
          const words = jsonLine({ id, type: 'prompt', message: withoutCommands(prompt) })
          return { words, reader: readEvents(session, id) }
        },
        interrupt: () => jsonLine({ type: 'abort' }),
      })
    },
  },
})

export const pi: Dialect = {
  ...dialect(false),
  forVersion: version => (connectsServers(version) ? dialect(true) : null),
}

const environment = { PI_OFFLINE: '1' }

/** MCP came with 0.99. */
function connectsServers(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 0 || minor >= 99
}

const extension = 'mcp-servers.js'

/** It reads servers from files of the user and of trusted projects only. For a single run, an extension registers them. */
const registering = (servers: readonly McpServer[]): string =>
  `export default pi => {\n${servers
    .map(({ name, ...server }) => {
      // Otherwise the model would have to search for the tools before it can use them.
      const config = JSON.stringify({ ...server, exposure: 'direct' })
      return `  pi.registerMcpServer(${JSON.stringify(name)}, ${config})\n`
    })
    .join('')}}\n`

const jsonLine = (line: Json) => `${JSON.stringify(line)}\n`

function optionsFor(turn: Turn, dir: string, mcp: boolean): readonly string[] {
  const servers = mcp ? turn.mcpServers : []
  // Its tool names have no hyphens.
  const allowed = [...toolsOf(turn), ...servers.map(({ name }) => `mcp__${name.replace(/\W/g, '_')}__*`)]
  return [
    ...['--append-system-prompt', systemPromptIn(dir)],
    ...['--no-extensions', '--no-themes', '--no-prompt-templates'],
    ...(servers.length > 0 ? ['-e', 'builtin:mcp', '-e', join(dir, extension)] : []),
    // By itself it loads the skills of the workspace only if it trusts the whole folder, including its settings.
    ...['--skill', join(turn.workingDir, '.agents', 'skills')],
    ...(allowed.length > 0 ? ['--tools', allowed.join(',')] : ['--no-tools']),
    ...(turn.model ? ['--model', turn.model] : []),
    // If the old session is gone, --session-id would silently start a new one.
    ...(turn.session ? [turn.session.resume ? '--session' : '--session-id', turn.session.id] : []),
  ]
}

function toolsOf({ allowedTools, permissionMode }: Turn): readonly string[] {
  const named = new Set(allowedTools.flatMap(tool => tools.get(tool) ?? []))
  return [...named].filter(tool => withoutAsking[permissionMode].includes(tool))
}

function ignores({ allowedTools, mcpServers }: Turn, mcp: boolean): readonly string[] {
  const narrowed = allowedTools.filter(tool => tool.includes('(') && tools.has(toolName(tool)))
  return [
    ...(mcpServers.length > 0 && !mcp
      ? [
          'This version of pi has no MCP, so the servers in mcp.servers are not available. Versions from 0.99 on have it.',
        ]
      : []),
    ...narrowed.map(tool => `pi can only allow or deny a whole tool, so ${tool} in ALLOWED_TOOLS is not available.`),
  ]
}

/** It accepts part of a name, and any name of a provider that it knows. */
function takesModel(model: string, list: readonly string[]): boolean {
  const wanted = model.replace(/:\w+$/, '').toLowerCase()
  const provider = wanted.includes('/') ? wanted.slice(0, wanted.indexOf('/') + 1) : null
  return list
    .map(one => one.toLowerCase())
    .some(one => one.includes(wanted) || (provider !== null && one.startsWith(provider)))
}

/** `session`: the session id, if the output does not contain it. `own`: the id of the prompt; output before its response belongs to another turn. */
function readEvents(session: string | null, own: string | null = null): Reader {
  let mine = own === null
  let begun = false
  let end: Ended | null = null
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  let model: string | null = null
  let spoke = false
  const answer = openAnswer()
  const labels = new Map<string, string>()

  /** Only in rpc mode: whether it accepts the prompt. */
  const answered = (line: Json): AgentEvent[] =>
    line.command === 'prompt' && line.success === false && (own === null || line.id === own)
      ? [refused(string(line.error))]
      : []

  const updated = (event: Json): AgentEvent[] => {
    if (/^thinking_(?:start|delta)$/.test(string(event.type))) return [{ type: 'thinking', quietly: true }]
    if (event.type === 'text_start') return spoke ? [{ type: 'text', delta: '\n\n' }] : []
    if (event.type !== 'text_delta') return []
    spoke = true
    return [{ type: 'text', delta: string(event.delta) }]
  }

  /** The last message of the agent is the answer, or the reason why there is none. The exit code is 0 either way. */
  const spoken = (message: Json): AgentEvent[] => {
    if (message.role === 'user') return [{ type: 'stored' }]
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
  const acted = (line: Json, phase: ActionPhase): AgentEvent => {
    const id = string(line.toolCallId)
    const label = labels.get(id) ?? toolLabel(string(line.toolName), object(line.args))
    labels.set(id, label)
    return { type: 'action', id, label, phase }
  }

  const read = (line: Json): AgentEvent[] => {
    mine ||= line.type === 'response' && line.id === own
    if (!mine) return line.type === 'agent_settled' ? [unasked] : []
    switch (line.type) {
      case 'session':
        begun = true
        return [{ type: 'started', session: string(line.id) || null }]
      case 'response':
        return answered(line)
      case 'agent_start': {
        // A retry starts once more; and in json mode `session` has reported it already.
        const first = !begun
        begun = true
        return first ? [{ type: 'started', session }] : []
      }
      case 'message_update':
        return updated(object(line.assistantMessageEvent))
      case 'message_end':
        return spoken(object(line.message))
      case 'tool_execution_start':
        return [acted(line, 'started')]
      case 'tool_execution_end':
        return [acted(line, line.isError === true ? 'failed' : 'ended')]
      case 'agent_settled':
        return end ? [end] : []
      default:
        return []
    }
  }
  return readJsonLines(read, how =>
    ofLogin.test(how.stderr) || ofElsewhere.test(how.stderr) ? refused(how.stderr) : null,
  )
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
