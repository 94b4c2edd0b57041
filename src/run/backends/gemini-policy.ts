// Which tools gemini may use, as rules of its policy engine. The model does not even see tools that are denied there.
import type { Turn } from '../../base/agent.ts'
import { ownServer, ownTools } from '../../base/tools.ts'
import { toolName } from '../tools.ts'

/** Its names for the tools. With bypassed permissions all are available. Otherwise only those that need no confirmation, because there is nobody to ask. */
const looking: readonly (readonly [string, readonly string[]])[] = [
  ['Read', ['read_file', 'read_many_files', 'list_directory']],
  ['LS', ['list_directory']],
  ['Glob', ['glob', 'list_directory']],
  ['Grep', ['grep_search']],
  ['WebSearch', ['google_web_search']],
  ['TodoWrite', ['write_todos']],
]
const editing: typeof looking = [
  ['Write', ['write_file']],
  ['Edit', ['replace']],
  ['MultiEdit', ['replace']],
]
const others: typeof looking = [
  ['WebFetch', ['web_fetch']],
  ['Bash', ['run_shell_command', 'list_background_processes', 'read_background_output']],
  ['Task', ['invoke_agent', 'complete_task']],
]
const withoutAsking: Readonly<Record<Turn['permissionMode'], ReadonlyMap<string, readonly string[]>>> = {
  plan: new Map(looking),
  default: new Map(looking),
  acceptEdits: new Map([...looking, ...editing]),
  bypassPermissions: new Map([...looking, ...editing, ...others]),
}

/** Whether it asks. Nothing is asked in plan mode: there it can change nothing. */
export const isAsking = ({ askTools, permissionMode }: Turn): boolean =>
  permissionMode !== 'plan' && askTools.some(tool => asked(tool).length > 0)

/** A file for `--admin-policy`: it takes precedence over all other rules, and denies everything it does not name. */
export function policyFor(turn: Turn): string {
  const { allowedTools, permissionMode, mcpServers, askTools } = turn
  const asks = isAsking(turn)
  const everything = permissionMode === 'bypassPermissions'
  // When it asks, what has to be asked for is in `askTools`, and everything in `allowedTools` is allowed.
  const mode = asks ? 'bypassPermissions' : permissionMode
  const whole = allowedTools.flatMap(tool => withoutAsking[mode].get(tool) ?? [])
  const commands = mode === 'bypassPermissions' && !allowedTools.includes('Bash') ? allowedTools.flatMap(commandOf) : []
  // The gateway checks the calls of its own tools itself.
  const own = mcpServers.filter(({ name }) => name === ownServer).map(({ name }) => ({ mcpName: name }))
  const named = permissionMode === 'plan' ? [] : allowedTools.flatMap(serverOf)
  const servers = everything ? [{ mcpName: '*' }] : [...own, ...named]
  return [
    rule({ toolName: '*', decision: 'deny', priority: 900 }),
    // Skills are only instructions to read.
    allow({ toolName: [...new Set(['activate_skill', ...whole, ...(everything ? mcpResources : [])])] }),
    ...commands.map(command => allow({ toolName: 'run_shell_command', ...command })),
    ...servers.map(server => allow({ toolName: '*', ...server })),
    // A rule for all tools of a server matches when they are offered, but not when they run: then each is matched by its full name.
    ...own.map(({ mcpName }) => allow({ toolName: ownTools.map(tool => `mcp_${mcpName}_${tool}`) })),
    ...(asks
      ? askTools.flatMap(asked).map(conditions => rule({ ...conditions, decision: 'ask_user', priority: 960 }))
      : []),
  ].join('\n')
}

/**
 * The gateway decides what exactly it asks people, so an entry such as `Bash(rm:*)` asks for the whole tool. With a pattern for its
 * arguments, gemini also asks for commands that it knows to be harmless.
 */
function asked(tool: string): readonly Rule[] {
  const [, server, name] = /^mcp__(.+?)(?:__(.+))?$/.exec(tool) ?? []
  if (server !== undefined)
    return name === undefined
      ? [{ toolName: '*', mcpName: server }, { toolName: `mcp_${server}_*` }]
      : [{ toolName: name, mcpName: server }, { toolName: `mcp_${server}_${name}` }]
  const names = withoutAsking.bypassPermissions.get(toolName(tool)) ?? []
  return names.length === 0 ? [] : [{ toolName: names, argsPattern: '.' }]
}

/** Entries that have no effect, because they allow only part of a tool. */
export const narrowed = (turn: Turn): readonly string[] =>
  turn.allowedTools.filter(
    tool => commandOf(tool).length === 0 && withoutAsking.bypassPermissions.has(toolName(tool)) && tool.includes('('),
  )

const mcpResources = ['read_mcp_resource', 'list_mcp_resources']

/** The name in ALLOWED_TOOLS for one of its tools; its own name if there is none. `servers`: names of MCP servers. */
export function toolFor(name: string, servers: readonly string[]): string {
  const found = [...withoutAsking.bypassPermissions].find(([, names]) => names.includes(name))?.[0]
  if (found !== undefined) return found
  const server = servers.filter(one => name.startsWith(`mcp_${one}_`)).sort((a, b) => b.length - a.length)[0]
  return server === undefined ? name : `mcp__${server}__${name.slice(`mcp_${server}_`.length)}`
}

type Rule = Readonly<Record<string, string | number | readonly string[]>>

const allow = (conditions: Rule) => rule({ ...conditions, decision: 'allow', priority: 950 })

/** JSON strings are valid TOML strings. */
const rule = (fields: Rule) =>
  ['[[rule]]', ...Object.entries(fields).map(([name, value]) => `${name} = ${JSON.stringify(value)}`), ''].join('\n')

/** `Bash(git log:*)` allows commands with this prefix, `Bash(git log)` only this command. */
function commandOf(tool: string): readonly Rule[] {
  const command = /^Bash\((.+)\)$/s.exec(tool)?.[1]?.trim()
  if (command === undefined) return []
  const prefix = /^(.+?)(?::| )\*$/s.exec(command)?.[1]
  if (prefix !== undefined) return [{ commandPrefix: prefix }]
  return [{ commandRegex: `${command.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"` }]
}

/** `mcp__server` and `mcp__server__tool`. */
function serverOf(tool: string): readonly Rule[] {
  const [, mcpName, toolName] = /^mcp__(.+?)(?:__(.+))?$/.exec(tool) ?? []
  return mcpName === undefined ? [] : [{ mcpName, ...(toolName === undefined ? {} : { toolName }) }]
}
