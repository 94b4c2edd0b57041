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

/** A file for `--admin-policy`: it takes precedence over all other rules, and denies everything it does not name. */
export function policyFor({ allowedTools, permissionMode, mcpServers }: Turn): string {
  const everything = permissionMode === 'bypassPermissions'
  const whole = allowedTools.flatMap(tool => withoutAsking[permissionMode].get(tool) ?? [])
  const commands = everything && !allowedTools.includes('Bash') ? allowedTools.flatMap(commandOf) : []
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
  ].join('\n')
}

/** Entries that have no effect, because they allow only part of a tool. */
export const narrowed = ({ allowedTools }: Turn): readonly string[] =>
  allowedTools.filter(
    tool => commandOf(tool).length === 0 && withoutAsking.bypassPermissions.has(toolName(tool)) && tool.includes('('),
  )

const mcpResources = ['read_mcp_resource', 'list_mcp_resources']

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
