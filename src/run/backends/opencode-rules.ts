// Which tools opencode may use, as rules of its own: its permissions, and the tools in ALLOWED_TOOLS and ASK_TOOLS that grant them.
import type { Turn } from '../../base/agent.ts'
import { toolName } from '../tools.ts'

/** Everything else is internal or comes from the user: MCP, plugins. */
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

type Rule = 'deny' | 'ask' | Readonly<Record<string, 'allow' | 'deny'>>

/** Whether it asks. Nothing is asked in plan mode: there it can change nothing. */
export const isAsking = ({ askTools, permissionMode }: Turn): boolean =>
  permissionMode !== 'plan' && askTools.some(tool => isMcp(tool) || permissionsOf(tool).length > 0)

/** Only rules that deny something or ask for it. Where we have no rule, those of the user apply. */
export function rulesFor(turn: Turn): Readonly<Record<string, Rule>> {
  const { allowedTools, permissionMode } = turn
  // The gateway decides what exactly it asks people, so an entry such as `Bash(rm:*)` asks for the whole tool.
  const asked = isAsking(turn) ? turn.askTools : []
  const commands = allowedTools.flatMap(tool => commandIn(tool) ?? [])
  const rules: Record<string, Rule> = {}
  for (const [permission, names] of Object.entries(allowing)) {
    if (permissionMode === 'plan' && changing.includes(permission)) rules[permission] = 'deny'
    else if (asked.some(tool => names.includes(toolName(tool)))) rules[permission] = 'ask'
    else if (names.some(name => allowedTools.includes(name))) continue
    else if (permission === 'bash' && commands.length > 0) rules.bash = onlyCommands(commands, rules.edit === 'deny')
    else rules[permission] = 'deny'
  }
  for (const tool of asked.filter(isMcp)) rules[ownName(tool)] = 'ask'
  return rules
}

/** The last matching rule applies. Each command of a line is checked separately, together with its redirections. */
const onlyCommands = (commands: readonly string[], noWriting: boolean): Rule => ({
  '*': 'deny',
  ...Object.fromEntries(commands.map(command => [command, 'allow'] as const)),
  ...(noWriting ? { '*>*': 'deny' } : {}),
})

/** opencode writes `Bash(git log:*)` as `git log *`. */
const commandIn = (tool: string) => /^Bash\((.+)\)$/s.exec(tool)?.[1]?.replace(/:\*$/, ' *')

const isMcp = (tool: string) => tool.startsWith('mcp__')
const permissionsOf = (tool: string) => Object.values(allowing).filter(names => names.includes(toolName(tool)))

/** `mcp__server__tool` is `server_tool`, and `mcp__server` all of them. */
function ownName(tool: string): string {
  const [, server = '', name = '*'] = /^mcp__(.+?)(?:__(.+))?$/.exec(tool) ?? []
  return `${asName(server)}_${name}`
}

const asName = (server: string) => server.replace(/[^\w-]/g, '_')

const names: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  ...{ bash: 'Bash', read: 'Read', list: 'LS', glob: 'Glob', grep: 'Grep', edit: 'Edit', multiedit: 'MultiEdit' },
  ...{ write: 'Write', patch: 'Edit', apply_patch: 'Edit', webfetch: 'WebFetch', websearch: 'WebSearch', task: 'Task' },
  todowrite: 'TodoWrite',
}

/** The name in ALLOWED_TOOLS for one of its tools; its own name if there is none. `servers`: names of MCP servers. */
export function toolFor(name: string, servers: readonly string[]): string {
  const found = names[name]
  if (found !== undefined) return found
  const server = servers.filter(one => name.startsWith(`${asName(one)}_`)).sort((a, b) => b.length - a.length)[0]
  return server === undefined ? name : `mcp__${server}__${name.slice(asName(server).length + 1)}`
}

export function ignores({ allowedTools, askTools }: Turn): readonly string[] {
  const known = new Set(Object.values(allowing).flat())
  const narrowed = allowedTools.filter(
    tool => tool.includes('(') && known.has(toolName(tool)) && commandIn(tool) === undefined,
  )
  const [written, edited] = [allowedTools.includes('Write'), allowedTools.includes('Edit')]
  const [writing, editing] = [askTools.includes('Write'), askTools.includes('Edit')]
  return [
    ...narrowed.map(
      tool => `opencode can only allow or deny a whole tool, so ${tool} in ALLOWED_TOOLS is not available.`,
    ),
    ...(written !== edited && !writing && !editing
      ? [
          'opencode has one permission for writing and editing files, so Write or Edit alone in ALLOWED_TOOLS allows both.',
        ]
      : []),
    ...askTools
      .filter(tool => !isMcp(tool) && !known.has(toolName(tool)))
      .map(tool => `opencode has no tool ${tool}, so ${tool} in ASK_TOOLS has no effect.`),
  ]
}
