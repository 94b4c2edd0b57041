// Claude Code: `claude -p` with stream-json output.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { McpServer, Turn } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { type Dialect, systemPromptIn } from '../cli.ts'
import { claudeServices } from '../network/services.ts'
import { type Json, jsonLine, openStdioHost, readJsonLines, withoutReferences } from '../stdio.ts'
import { toolName } from '../tools.ts'
import { isAsking, openAsks, openSteering, planTool, questionTool } from './claude-asks.ts'
import { createReading } from './claude-read.ts'
import { deniedRuns, hasSettings, runSettings, runSettingsIn } from './claude-settings.ts'

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
  // It can be answered only while its input is open.
  hosted: isAsking,
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
        hello: controlLine('hello', { subtype: 'initialize' }),
        isUp: line => line.type === 'control_response',
        take(turn, send, signal) {
          const uuid = randomUUID()
          const asks = isAsking(turn) ? openAsks(turn, (id, response) => send(responseLine(id, response))) : null
          const steering = openSteering((id, words) => send(messageLine(id, promptOf({ prompt: words }))), signal)
          return {
            words: `${planAgain(turn)}${messageLine(uuid, promptOf(turn))}`,
            reader: readJsonLines(read(uuid, { asks, steering })),
            over: () => asks?.close(),
          }
        },
        interrupt: () => interruptLine,
      })
    },
  },
}

/** With this flag it repeats each message with its id as soon as it starts to process it. */
export const replays = 'replay-user-messages'

const controlLine = (id: string, request: Json) => jsonLine({ type: 'control_request', request_id: id, request })
/** With everything that it has not read yet. */
export const interruptLine = controlLine('stop', { subtype: 'interrupt', cancel_queued: true })
const messageLine = (uuid: string, content: string) =>
  jsonLine({ type: 'user', uuid, message: { role: 'user', content } })
const responseLine = (id: string, response: Json) =>
  jsonLine({ type: 'control_response', response: { subtype: 'success', request_id: id, response } })

/** An approved plan ends its plan mode, and an earlier turn of the process may have had one approved. */
export const planAgain = (turn: Turn): string =>
  isAsking(turn) && turn.permissionMode === 'plan'
    ? controlLine('plan', { subtype: 'set_permission_mode', mode: 'plan' })
    : ''

function argumentsFor(turn: Turn, dir: string): readonly string[] {
  return [
    '-p',
    ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
    ...(isBypassing(turn) ? ['--dangerously-skip-permissions'] : ['--permission-mode', modeOf(turn)]),
    // Without `snapshot off` a resumed session keeps the system prompt of its first turn.
    ...['--append-system-prompt-file', systemPromptIn(dir), '--system-prompt-snapshot', 'off'],
    ...['--max-turns', String(turn.maxTurns)],
    // --tools restricts; --allowedTools alone would be bypassed together with the permissions.
    ...['--tools', turn.allowedTools.map(toolName).join(',')],
    ...(isConfined(turn.profile) ? [] : ['--tools', [skillTool, ...askedTools(turn)].join(',')]),
    ...grantedTools(turn).flatMap(tool => ['--allowedTools', tool]),
    ...(isConfined(turn.profile) ? guestArguments(turn) : hasSettings(turn) ? withSettings(dir) : []),
    ...(isAsking(turn) ? ['--permission-prompt-tool', 'stdio'] : []),
    ...(turn.mcpServers.length > 0 ? ['--mcp-config', mcpConfigIn(dir)] : []),
    ...(turn.model ? ['--model', turn.model] : []),
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ]
}

/** Offered besides what is allowed. Its questions and plans need somebody who answers, too. */
const askedTools = (turn: Turn): readonly string[] =>
  isAsking(turn)
    ? [...turn.askTools.map(toolName), questionTool, ...(turn.permissionMode === 'plan' ? [planTool] : [])]
    : []

/** With permissions bypassed, rules such as `Bash(git log:*)` would not count, and nothing would be asked. */
const isBypassing = (turn: Turn) =>
  turn.permissionMode === 'bypassPermissions' &&
  !isAsking(turn) &&
  !isConfined(turn.profile) &&
  turn.allowedTools.every(tool => tool === toolName(tool))

/** `dontAsk`: what no rule allows is refused. A turn that asks has its rules from the gateway, so only planning is left as a mode. */
export function modeOf(turn: Turn): string {
  if (isBypassing(turn)) return 'bypassPermissions'
  if (isAsking(turn)) return turn.permissionMode === 'plan' ? 'plan' : 'default'
  return isConfined(turn.profile) || turn.permissionMode === 'bypassPermissions' ? 'dontAsk' : turn.permissionMode
}

/** Settings of the folder are not read, hooks do not run, and only the given MCP servers are started. */
export const guestSettings = { disableAllHooks: true }
const guestArguments = (turn: Turn): readonly string[] => [
  ...['--setting-sources', 'user', '--strict-mcp-config', '--settings', JSON.stringify(guestSettings)],
  ...deniedTools(turn).flatMap(tool => ['--disallowedTools', tool]),
]

const withSettings = (dir: string): readonly string[] => [
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
  ...new Set([
    ...turn.allowedTools.map(toolName),
    ...(isConfined(turn.profile) ? [] : [skillTool, ...askedTools(turn)]),
  ]),
]

/** Tools that run without asking. Tools of MCP servers are always offered. */
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
export function promptOf({ prompt }: Pick<Turn, 'prompt'>): string {
  const words = withoutReferences(prompt)
  return words.trimStart().startsWith('/') ? `The message reads:\n${words}` : words
}
