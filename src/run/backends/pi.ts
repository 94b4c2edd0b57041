// Pi coding agent: `pi -p --mode json` in cold mode, `pi --mode rpc` in warm mode.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { McpServer, Turn } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { type Dialect, systemPromptIn } from '../cli.ts'
import { providerServices } from '../network/services.ts'
import { jsonLine, object, openStdioHost, string, withoutCommands } from '../stdio.ts'
import { toolName } from '../tools.ts'
import { readEvents } from './pi-read.ts'
import { askingExtension, openTalk } from './pi-talk.ts'

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
/** By itself, pi never asks for permission. If a turn does not ask either, tools that would have to ask are not available. */
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
  files: turn => ({
    ...(mcp && turn.mcpServers.length > 0 ? { [extension]: registering(turn.mcpServers) } : {}),
    ...(isAsking(turn) ? { [asking]: askingExtension(askedTools(turn)) } : {}),
  }),
  environment: () => environment,
  ownVariables: [
    ...['PI_*', 'ANTHROPIC_*', 'OPENAI_*', 'AZURE_OPENAI_*', 'GEMINI_*', 'GOOGLE_*', 'OPENROUTER_*', 'AWS_*'],
    ...['CLOUDFLARE_*', ...keys],
  ],
  arguments: (turn, dir) => ['-p', '--mode', 'json', ...optionsFor(turn, dir, mcp)],
  input: turn => withoutCommands(turn.prompt),
  read: () => readEvents(null),
  ignores: turn => ignores(turn, mcp),
  // Only its rpc mode can be answered.
  hosted: isAsking,
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
        take({ prompt }, send, signal) {
          const id = randomUUID()
          const words = jsonLine({ id, type: 'prompt', message: withoutCommands(prompt) })
          const talk = openTalk(send, signal)
          return { words, reader: readEvents(session, id, talk), over: talk.close }
        },
        // It would go on with words that it has not read yet.
        interrupt: () => `${jsonLine({ type: 'clear_queue' })}${jsonLine({ type: 'abort' })}`,
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
const asking = 'asking.js'

/** Guests' turns never ask. */
function isAsking(turn: Turn): boolean {
  return askedTools(turn).length > 0 && !isConfined(turn.profile)
}

const namesOf = (usual: readonly string[]) => [...new Set(usual.flatMap(tool => tools.get(tool) ?? []))]
const askedTools = (turn: Turn) => namesOf(turn.askTools.map(toolName))

/** It reads servers from files of the user and of trusted projects only. For a single run, an extension registers them. */
const registering = (servers: readonly McpServer[]): string =>
  `export default pi => {\n${servers
    .map(({ name, ...server }) => {
      // Otherwise the model would have to search for the tools before it can use them.
      const config = JSON.stringify({ ...server, exposure: 'direct' })
      return `  pi.registerMcpServer(${JSON.stringify(name)}, ${config})\n`
    })
    .join('')}}\n`

function optionsFor(turn: Turn, dir: string, mcp: boolean): readonly string[] {
  const servers = mcp ? turn.mcpServers : []
  // Its tool names have no hyphens.
  const allowed = [...toolsOf(turn), ...servers.map(({ name }) => `mcp__${name.replace(/\W/g, '_')}__*`)]
  return [
    ...['--append-system-prompt', systemPromptIn(dir)],
    ...['--no-extensions', '--no-themes', '--no-prompt-templates'],
    ...(servers.length > 0 ? ['-e', 'builtin:mcp', '-e', join(dir, extension)] : []),
    ...(isAsking(turn) ? ['-e', join(dir, asking)] : []),
    // By itself it loads the skills of the workspace only if it trusts the whole folder, including its settings.
    ...['--skill', join(turn.workingDir, '.agents', 'skills')],
    ...(allowed.length > 0 ? ['--tools', allowed.join(',')] : ['--no-tools']),
    ...(turn.model ? ['--model', turn.model] : []),
    // If the old session is gone, --session-id would silently start a new one.
    ...(turn.session ? [turn.session.resume ? '--session' : '--session-id', turn.session.id] : []),
  ]
}

/** A turn that asks has its rules from the gateway, so only planning is left as a mode. */
function toolsOf(turn: Turn): readonly string[] {
  const { allowedTools, permissionMode } = turn
  if (!isAsking(turn)) return namesOf(allowedTools).filter(tool => withoutAsking[permissionMode].includes(tool))
  const all = [...new Set([...namesOf(allowedTools), ...askedTools(turn)])]
  return permissionMode === 'plan' ? all.filter(tool => withoutAsking.plan.includes(tool)) : all
}

function ignores({ allowedTools, askTools, mcpServers }: Turn, mcp: boolean): readonly string[] {
  const isAsked = (tool: string) => askTools.some(one => toolName(one) === toolName(tool))
  const narrowed = allowedTools.filter(tool => tool.includes('(') && tools.has(toolName(tool)) && !isAsked(tool))
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
