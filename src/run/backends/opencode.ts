// OpenCode: `opencode run --format json` for one turn, `opencode serve` for all sessions side by side.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { McpServer, Turn } from '../../base/agent.ts'
import { type Dialect, systemPromptIn } from '../cli.ts'
import { type Json, object, parseLine } from '../json.ts'
import { toolName } from '../tools.ts'
import { readRun } from './opencode-read.ts'
import { ownTools, withoutOwn } from './opencode-servers.ts'

const title = 'Aetheel'

/** Each of its many providers has one. */
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
    // Rules that ask are turned down in a run unless it is told to agree.
    ...(turn.permissionMode === 'bypassPermissions' ? ['--auto'] : []),
    // From any other folder a resumed session answers nobody and hangs.
    ...['--dir', turn.workingDir, '--agent', agentFor(turn)],
    // Without a title it asks the model for one.
    ...['--title', title],
    ...(turn.model ? ['--model', turn.model] : []),
    ...(turn.session?.resume ? ['--session', turn.session.id, '--continue'] : []),
  ],
  input: turn => turn.prompt,
  read: readRun,
  ignores,
  warm: {
    serves: 'all-sessions',
    fixed: ({ allowedTools, permissionMode, maxTurns, workingDir, ...turn }) => ({
      allowedTools,
      permissionMode,
      mcpServers: withoutOwn(turn).mcpServers,
      maxTurns,
      workingDir,
    }),
    async open(ground, turn, signal) {
      const user = 'opencode'
      const password = randomBytes(24).toString('base64url')
      const child = ground.start(['serve', '--port', '0', '--hostname', '127.0.0.1'], {
        // The words come with each message; a prompt that is not there at all would be replaced by its own.
        ...environmentFor(withoutOwn(turn), ground.dir, ground.inherited, ' '),
        OPENCODE_SERVER_USERNAME: user,
        OPENCODE_SERVER_PASSWORD: password,
      })
      const permission = turn.permissionMode === 'bypassPermissions' ? 'once' : 'reject'
      const { openServer } = await import('./opencode-warm.ts')
      return openServer(child, { user, password, promptFor, permission, title }, signal)
    },
  },
}

/** One message, as the server takes it: the system prompt of this turn alone. */
function promptFor(turn: Turn): Json {
  const [provider = '', ...model] = (turn.model ?? '').split('/')
  return {
    agent: agentFor(turn),
    ...(turn.model ? { model: { providerID: provider, modelID: model.join('/') } } : {}),
    system: turn.systemPrompt,
    parts: [{ type: 'text', text: turn.prompt }],
  }
}

/** Only its own agent for plans is told not to change anything. */
const agentFor = ({ permissionMode }: Turn) => (permissionMode === 'plan' ? 'plan' : 'aetheel')

function environmentFor(turn: Turn, dir: string, inherited: Readonly<Record<string, string>>, prompt: string) {
  const own = parseLine(inherited.OPENCODE_CONFIG_CONTENT ?? '') ?? {}
  return {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    // On top of what the user has configured the same way.
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      ...own,
      agent: { ...object(own.agent), ...agentsFor(turn, prompt) },
      mcp: { ...object(own.mcp), ...serversFor(turn, dir) },
      // What is refused is told to the model, which goes on without it, instead of ending the turn.
      experimental: { continue_loop_on_deny: true, ...object(own.experimental) },
    }),
  }
}

function agentsFor(turn: Turn, prompt: string): Json {
  const rules = rulesFor(turn)
  const whole = Object.keys(rules).length === 0
  // Those that it can give work to go by rules of their own: only these two, and by ours.
  const helpers = ['general', 'explore']
  const task = { '*': 'deny', ...Object.fromEntries(helpers.map(name => [name, 'allow'])) }
  // The tools of the gateway that are there for other conversations; a turn allows itself its own.
  const others = { [ownTools]: 'deny' }
  const given = whole || rules.task ? {} : { task }
  return {
    [agentFor(turn)]: {
      prompt,
      mode: 'primary',
      steps: turn.maxTurns,
      // Nobody is there to answer.
      permission: { ...rules, ...given, ...others, question: 'deny', plan_enter: 'deny', plan_exit: 'deny' },
    },
    ...(rules.task ? {} : Object.fromEntries(helpers.map(name => [name, { permission: { ...rules, ...others } }]))),
  }
}

/** What it asks leave for, and what allows it. All else is for its own use, or brought along by the user: MCP, plugins. */
const allowing: Readonly<Record<string, readonly string[]>> = {
  read: ['Read', 'LS', 'NotebookRead'],
  glob: ['Glob'],
  grep: ['Grep'],
  lsp: ['Read', 'LSP'],
  edit: ['Write', 'Edit', 'MultiEdit', 'NotebookEdit'],
  bash: ['Bash'],
  task: ['Task', 'Agent'],
  webfetch: ['WebFetch'],
  websearch: ['WebSearch'],
}
const changing = ['edit', 'bash']

type Rule = 'deny' | Readonly<Record<string, 'allow' | 'deny'>>

/** Only what takes something away: where there is no rule of ours, those of the user hold. */
export function rulesFor({ allowedTools, permissionMode }: Turn): Readonly<Record<string, Rule>> {
  const commands = allowedTools.flatMap(tool => commandIn(tool) ?? [])
  const rules: Record<string, Rule> = {}
  for (const [permission, names] of Object.entries(allowing)) {
    if (permissionMode === 'plan' && changing.includes(permission)) rules[permission] = 'deny'
    else if (names.some(name => allowedTools.includes(name))) continue
    else if (permission === 'bash' && commands.length > 0) rules.bash = onlyCommands(commands, rules.edit === 'deny')
    else rules[permission] = 'deny'
  }
  return rules
}

/** The last rule that fits counts. Each command of a line is looked at by itself, together with where its output goes. */
const onlyCommands = (commands: readonly string[], noWriting: boolean): Rule => ({
  '*': 'deny',
  ...Object.fromEntries(commands.map(command => [command, 'allow'] as const)),
  ...(noWriting ? { '*>*': 'deny' } : {}),
})

/** `Bash(git log:*)` is `git log *` to it. */
const commandIn = (tool: string) => /^Bash\((.+)\)$/s.exec(tool)?.[1]?.replace(/:\*$/, ' *')

function ignores({ allowedTools }: Turn): readonly string[] {
  const known = new Set(Object.values(allowing).flat())
  const narrowed = allowedTools.filter(
    tool => tool.includes('(') && known.has(toolName(tool)) && commandIn(tool) === undefined,
  )
  const [written, edited] = [allowedTools.includes('Write'), allowedTools.includes('Edit')]
  return [
    ...narrowed.map(tool => `opencode has this tool wholly or not at all, so ${tool} of ALLOWED_TOOLS is not there.`),
    ...(written !== edited
      ? ['opencode has one permission for writing and editing files, so ALLOWED_TOOLS with one of them allows both.']
      : []),
  ]
}

/** Its environment is handed on to all that it starts, so values that may be secret stand in files. */
function serversFor({ mcpServers }: Turn, dir: string): Json {
  const kept = (server: McpServer, i: number) =>
    Object.fromEntries(secretsOf(server).map(([name], j) => [name, `{file:${join(dir, secretFile(i, j))}}`]))
  return Object.fromEntries(
    mcpServers.map((server, i) => [
      server.name,
      'url' in server
        ? { type: 'remote', url: server.url, headers: kept(server, i) }
        : { type: 'local', command: [server.command, ...server.args], environment: kept(server, i) },
    ]),
  )
}

const secretsOf = (server: McpServer) => Object.entries('url' in server ? server.headers : server.env)
const secretFile = (server: number, value: number) => `mcp-${server}-${value}`
