// OpenCode: `opencode run --format json` in cold mode, `opencode serve` for all sessions in warm mode.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { McpServer, Turn } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { type Dialect, systemPromptIn } from '../cli.ts'
import { inwardPort } from '../network/proxy.ts'
import { providerServices } from '../network/services.ts'
import { type Json, object, parseLine } from '../stdio.ts'
import { readRun } from './opencode-read.ts'
import { ignores, isAsking, rulesFor } from './opencode-rules.ts'
import { ownTools, withoutOwn } from './opencode-servers.ts'

const title = 'Aetheel'

/** One for each of its many providers. */
const keys = [
  ...['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'OPENROUTER_API_KEY'],
  ...['OPENCODE_API_KEY', 'GROQ_API_KEY', 'MISTRAL_API_KEY', 'DEEPSEEK_API_KEY', 'XAI_API_KEY'],
  ...['CEREBRAS_API_KEY', 'TOGETHER_API_KEY', 'FIREWORKS_API_KEY', 'MOONSHOT_API_KEY', 'ZHIPU_API_KEY', 'HF_TOKEN'],
  ...['AI_GATEWAY_API_KEY', 'AZURE_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS', 'AWS_PROFILE', 'AWS_ACCESS_KEY_ID'],
  ...['AWS_BEARER_TOKEN_BEDROCK'],
]

export const opencode: Dialect = {
  name: 'opencode',
  takesSessionIds: false,
  countsSteps: true,
  quiet: true,
  install: 'Install it with `npm install -g opencode-ai` and log in once with `opencode auth login`.',
  credentials: {
    variables: [...keys, 'OPENCODE_AUTH_CONTENT', 'OPENCODE_CONFIG', 'OPENCODE_CONFIG_CONTENT'],
    files: [
      '.local/share/opencode/auth.json',
      ...['opencode.json', 'opencode.jsonc', 'config.json'].map(name => `.config/opencode/${name}`),
    ],
  },
  files: ({ mcpServers }) =>
    Object.fromEntries(
      mcpServers.flatMap((server, i) => secretsOf(server).map(([, value], j) => [secretFile(i, j), value])),
    ),
  environment: (turn, dir, inherited) => environmentFor(turn, dir, inherited, `{file:${systemPromptIn(dir)}}`),
  ownVariables: [
    ...['OPENCODE_*', 'OPENAI_*', 'ANTHROPIC_*', 'GEMINI_*', 'GOOGLE_*', 'OPENROUTER_*', 'AZURE_*', 'AWS_*'],
    ...keys,
  ],
  arguments: turn => [
    ...['run', '--format', 'json'],
    // Without this flag, `run` rejects every permission request.
    ...(turn.permissionMode === 'bypassPermissions' ? ['--auto'] : []),
    // A session resumed in any other folder hangs.
    ...['--dir', turn.workingDir, '--agent', agentFor(turn)],
    // Without a title it asks the model for one.
    ...['--title', title],
    ...(turn.model ? ['--model', modelOf(turn.model)] : []),
    ...(turn.session?.resume ? ['--session', turn.session.id, '--continue'] : []),
  ],
  input: turn => turn.prompt,
  read: readRun,
  ignores,
  confined: {
    logins: ['.local/share/opencode/auth.json'],
    settings: ['opencode.json', 'config.json'].map(name => ({ file: `.config/opencode/${name}`, keep: onlyModels })),
    variables: env =>
      env.OPENCODE_CONFIG_CONTENT === undefined
        ? {}
        : { OPENCODE_CONFIG_CONTENT: onlyModels(env.OPENCODE_CONFIG_CONTENT) },
    state: ['.local/share/opencode', '.local/state/opencode', '.config/opencode'],
    staysInFolder: true,
    heldByFlags: false,
    services: providerServices,
    naming: ['.config/opencode/opencode.json', '.config/opencode/config.json'],
    listens: true,
  },
  // For a model that is not in the list, its error does not mention the model.
  models: {
    arguments: ['models'],
    read: lines => lines.map(line => line.trim()).filter(line => /^[^\s/]+\/\S+$/.test(line)),
    takes: (model, list) => list.includes(modelOf(model)),
  },
  // `opencode run` cannot ask.
  hosted: isAsking,
  warm: {
    serves: 'all-sessions',
    fixed: ({ allowedTools, askTools, permissionMode, maxTurns, workingDir, profile, ...turn }) => ({
      profile,
      allowedTools,
      askTools,
      permissionMode,
      mcpServers: withoutOwn(turn).mcpServers,
      maxTurns,
      workingDir,
    }),
    async open(host, turn, signal) {
      const user = 'opencode'
      const password = randomBytes(24).toString('base64url')
      const port = turn.profile?.network ? inwardPort : 0
      const child = host.start(['serve', '--port', String(port), '--hostname', '127.0.0.1'], {
        // The system prompt comes with each message. If there were no prompt here at all, opencode would use its own.
        ...environmentFor(withoutOwn(turn), host.dir, host.inherited, ' '),
        OPENCODE_SERVER_USERNAME: user,
        OPENCODE_SERVER_PASSWORD: password,
      })
      const permission = isAsking(turn) ? 'ask' : turn.permissionMode === 'bypassPermissions' ? 'once' : 'reject'
      const { openServer } = await import('./opencode-warm.ts')
      return openServer(child, { user, password, promptFor, permission, title }, signal)
    },
  },
}

/** Of its settings: the models and their providers. No plugins, MCP servers or commands. */
function onlyModels(text: string): string {
  const { provider, model, small_model, disabled_providers, enabled_providers } = parseLine(text) ?? {}
  return JSON.stringify({ provider, model, small_model, disabled_providers, enabled_providers })
}

/** Its models are named `provider/name`. A name without provider is one of its own, `opencode/…`. */
const modelOf = (model: string): string => (model === '' || model.includes('/') ? model : `opencode/${model}`)

/** One message for the server, with the system prompt of this turn only. */
function promptFor(turn: Turn): Json {
  const [provider = '', ...model] = modelOf(turn.model ?? '').split('/')
  return {
    agent: agentFor(turn),
    ...(turn.model ? { model: { providerID: provider, modelID: model.join('/') } } : {}),
    system: turn.systemPrompt,
    parts: [{ type: 'text', text: turn.prompt }],
  }
}

/** Only its own plan agent is instructed not to change anything. */
const agentFor = ({ permissionMode }: Turn) => (permissionMode === 'plan' ? 'plan' : 'aetheel')

function environmentFor(turn: Turn, dir: string, inherited: Readonly<Record<string, string>>, prompt: string) {
  const own = parseLine(inherited.OPENCODE_CONFIG_CONTENT ?? '') ?? {}
  return {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    ...(isConfined(turn.profile) ? { OPENCODE_DISABLE_PROJECT_CONFIG: '1' } : {}),
    // Added to what the user has configured with the same variable.
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      ...own,
      agent: { ...object(own.agent), ...agentsFor(turn, prompt) },
      mcp: { ...object(own.mcp), ...serversFor(turn, dir) },
      // A refusal is reported to the model, which continues without the tool, instead of ending the turn.
      experimental: { continue_loop_on_deny: true, ...object(own.experimental) },
    }),
  }
}

function agentsFor(turn: Turn, prompt: string): Json {
  const rules = rulesFor(turn)
  const whole = Object.keys(rules).length === 0
  // Its helper agents have their own rules. Only these two are allowed, and with our rules.
  const helpers = ['general', 'explore']
  const mayHelp = rules.task === 'ask' ? 'ask' : 'allow'
  const task = { '*': 'deny', ...Object.fromEntries(helpers.map(name => [name, mayHelp])) }
  // The gateway's tools for other conversations are denied. Each turn allows its own.
  const others = { [ownTools]: 'deny', ...(isConfined(turn.profile) ? { external_directory: 'deny' } : {}) }
  const alone = rules.task === 'deny'
  const given = whole || alone ? {} : { task }
  return {
    [agentFor(turn)]: {
      prompt,
      mode: 'primary',
      steps: turn.maxTurns,
      permission: {
        ...{ ...rules, ...given, ...others },
        // Without anybody who could answer.
        ...{ question: isAsking(turn) ? 'allow' : 'deny', plan_enter: 'deny', plan_exit: 'deny' },
      },
    },
    ...(alone ? {} : Object.fromEntries(helpers.map(name => [name, { permission: { ...rules, ...others } }]))),
  }
}

/** Everything it starts inherits its environment, so values that may be secret are in files. */
function serversFor({ mcpServers }: Turn, dir: string): Json {
  const inFiles = (server: McpServer, i: number) =>
    Object.fromEntries(secretsOf(server).map(([name], j) => [name, `{file:${join(dir, secretFile(i, j))}}`]))
  return Object.fromEntries(
    mcpServers.map((server, i) => [
      server.name,
      'url' in server
        ? { type: 'remote', url: server.url, headers: inFiles(server, i) }
        : { type: 'local', command: [server.command, ...server.args], environment: inFiles(server, i) },
    ]),
  )
}

const secretsOf = (server: McpServer) => Object.entries('url' in server ? server.headers : server.env)
const secretFile = (server: number, value: number) => `mcp-${server}-${value}`
