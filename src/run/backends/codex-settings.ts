// The options of a turn as settings of Codex, the same in cold and warm mode.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { McpServer, Turn } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { toolName } from '../tools.ts'

export type Setting = string | boolean | readonly string[] | { readonly [name: string]: Setting }
/** By their path in config.toml. */
export type Settings = Readonly<Record<string, Setting>>

const changing = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit']
const reading = ['Read', 'Glob', 'Grep', 'LS']
/** Codex uses its shell for all of these. */
const byShell = ['Bash', ...reading, ...changing]

/** Codex can only allow or deny a whole tool, so an entry such as `Bash(git log:*)` allows nothing. */
const allows = (turn: Turn, names: readonly string[]): boolean => offered(turn).some(tool => names.includes(tool))

/** Whether it asks before each command and each change of files. Nothing is asked in plan mode: there it can change nothing. */
export const isAsking = ({ askTools, permissionMode }: Turn): boolean =>
  permissionMode !== 'plan' && askTools.some(tool => ['Bash', ...changing].includes(toolName(tool)) || isMcp(tool))

/** Without those that it would use without asking. */
const offered = (turn: Turn): readonly string[] =>
  isAsking(turn) ? [...turn.allowedTools, ...turn.askTools.filter(tool => byShell.includes(tool))] : turn.allowedTools

const isMcp = (tool: string) => tool.startsWith('mcp__')

export type Sandbox = 'danger-full-access' | 'workspace-write' | 'read-only'

/** Its shell is free only if Bash is allowed. In a box, the box holds what its own sandbox would. */
export function sandboxFor(turn: Turn): Sandbox {
  // What was allowed runs once, as it was shown. In its sandbox it would fail there, and then sometimes run again outside.
  if (isAsking(turn)) return 'danger-full-access'
  if (turn.permissionMode === 'plan' || !allows(turn, [...changing, 'Bash'])) return 'read-only'
  if (turn.profile?.wall === 'bwrap') return 'danger-full-access'
  const free = turn.permissionMode === 'bypassPermissions' && allows(turn, ['Bash'])
  return free ? 'danger-full-access' : 'workspace-write'
}

export function settingsFor(turn: Turn): Settings {
  return {
    // A goal makes codex continue by itself after the end of the turn, and nobody would see the result.
    'features.goals': false,
    ...(allows(turn, isConfined(turn.profile) ? ['Bash'] : byShell) ? {} : { 'features.shell_tool': false }),
    ...(allows(turn, reading) ? {} : { 'features.view_image': false }),
    ...(allows(turn, ['Task']) ? {} : { 'features.multi_agent': false }),
    ...(allows(turn, ['WebSearch']) ? {} : { web_search: 'disabled' }),
    ...(allows(turn, ['WebFetch', 'Bash']) ? { 'sandbox_workspace_write.network_access': true } : {}),
  }
}

export function ignores(turn: Turn): readonly string[] {
  const unasked = turn.askTools.filter(tool => !byShell.includes(toolName(tool)) && !isMcp(tool))
  // When it asks, the gateway applies such entries.
  const narrowed = isAsking(turn) ? [] : turn.allowedTools.filter(tool => tool !== toolName(tool))
  const [writes, edits] = [allows(turn, ['Write']), allows(turn, changing.slice(1))]
  return [
    ...narrowed.map(tool => `codex can only allow or deny a whole tool, so ${tool} in ALLOWED_TOOLS is not available.`),
    ...unasked.map(tool => `codex cannot ask before it uses ${tool}, so ${tool} in ASK_TOOLS is not available.`),
    ...(allows(turn, byShell) && !allows(turn, ['Bash']) && !isAsking(turn)
      ? [
          'codex reads files through a shell. As ALLOWED_TOOLS does not contain Bash, it runs in the sandbox of codex and can change no files outside of the workspace.',
        ]
      : []),
    ...(writes !== edits && !allows(turn, ['Bash'])
      ? ['codex writes and edits files with the same tool, so Write or Edit alone in ALLOWED_TOOLS counts as both.']
      : []),
  ]
}

/** Of config.toml: the models and their providers. No MCP servers, hooks or other programs. */
export function modelProviders(text: string): string {
  let kept = true
  let begun = false
  const lines = text.split('\n').filter(line => {
    const table = /^\s*\[+\s*([^\]]*)/.exec(line)?.[1]
    if (table !== undefined) {
      begun = true
      kept = /^"?model_providers"?\s*(?:\.|$)/.test(table)
      return kept
    }
    return begun ? kept : /^\s*(?:model|model_provider|model_reasoning_effort|preferred_auth_method)\s*=/.test(line)
  })
  return `${lines.join('\n')}\n`
}

/** Where secrets go. They must not be on a command line, because other users of the machine can read that. */
export type Secrets = 'inline' | 'in files'

/** `in files`: the values are in files (`mcpFiles`) and variables (`mcpVariables`) instead. */
export function mcpSettings(turn: Turn, secrets: Secrets, dir: string): Settings {
  // The user has chosen these servers, and there is nobody to ask.
  const approval: Settings = turn.permissionMode === 'plan' ? {} : { default_tools_approval_mode: 'approve' }
  return Object.fromEntries(
    turn.mcpServers.map((server, i) => {
      const own = secrets === 'inline' ? inline(server) : withoutSecrets(server, i, dir)
      return [`mcp_servers.${server.name}`, { ...own, ...approval, ...askedOf(server.name, turn) }]
    }),
  )
}

/** `mcp__server` asks for all of its tools, `mcp__server__tool` for one. */
function askedOf(server: string, turn: Turn): Settings {
  if (!isAsking(turn)) return {}
  const prefix = `mcp__${server}`
  if (turn.askTools.includes(prefix)) return { default_tools_approval_mode: 'prompt' }
  const tools = turn.askTools.filter(tool => tool.startsWith(`${prefix}__`)).map(tool => tool.slice(prefix.length + 2))
  if (tools.length === 0) return {}
  return { tools: Object.fromEntries(tools.map(tool => [tool, { approval_mode: 'prompt' }])) }
}

function inline(server: McpServer): Settings {
  if ('url' in server) return { url: server.url, http_headers: server.headers }
  return { command: server.command, args: server.args, env: server.env }
}

function withoutSecrets(server: McpServer, i: number, dir: string): Settings {
  if ('url' in server) {
    const variables = Object.keys(server.headers).map((name, n) => [name, headerVariable(i, n)])
    return { url: server.url, env_http_headers: Object.fromEntries(variables) }
  }
  if (Object.keys(server.env).length === 0) return { command: server.command, args: server.args }
  const start = 'set -a; . "$0"; set +a; exec "$@"'
  return { command: '/bin/sh', args: ['-c', start, join(dir, envFile(i)), server.command, ...server.args] }
}

const envFile = (i: number) => `mcp-${i}.env`
const headerVariable = (i: number, n: number) => `AETHEEL_MCP_${i}_${n}`

/** A shell accepts no other names. */
const isName = (name: string) => /^[A-Za-z_]\w*$/.test(name)

export function mcpFiles({ mcpServers }: Turn): Readonly<Record<string, string>> {
  const line = ([name, value]: readonly [string, string]) => `${name}='${value.replaceAll("'", "'\\''")}'\n`
  return Object.fromEntries(
    mcpServers.flatMap((server, i) => {
      const variables = 'env' in server ? Object.entries(server.env).filter(([name]) => isName(name)) : []
      return variables.length > 0 ? [[envFile(i), variables.map(line).join('')]] : []
    }),
  )
}

export function mcpVariables({ mcpServers }: Turn): Readonly<Record<string, string>> {
  return Object.fromEntries(
    mcpServers.flatMap((server, i) =>
      'headers' in server ? Object.values(server.headers).map((value, n) => [headerVariable(i, n), value]) : [],
    ),
  )
}

/**
 * The key to use instead of a login. By itself codex accepts only CODEX_API_KEY, and only for a single turn. The better-known
 * OPENAI_API_KEY is used if nobody has logged in.
 */
export function keyFrom(inherited: Readonly<Record<string, string>>): string | null {
  const home = inherited.CODEX_HOME || join(inherited.HOME ?? '', '.codex')
  return inherited.CODEX_API_KEY || (existsSync(join(home, 'auth.json')) ? null : inherited.OPENAI_API_KEY) || null
}

/** As `-c` arguments. */
export const asArguments = (settings: Settings): readonly string[] =>
  Object.entries(settings).flatMap(([path, value]) => ['-c', `${path}=${toml(value)}`])

function toml(value: Setting): string {
  if (typeof value === 'boolean') return String(value)
  // TOML understands all escapes of JSON, and requires this one too.
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
  if (isList(value)) return `[${value.map(toml).join(',')}]`
  return `{${Object.entries(value).map(([name, one]) => `${toml(name)}=${toml(one)}`)}}`
}

const isList = (value: Setting): value is readonly string[] => Array.isArray(value)
