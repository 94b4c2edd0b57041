// Rules about what an agent may do, in claude's syntax: `Bash(git status:*)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__server`.
import { nearest } from '../../base/spelling.ts'
import { longestWork, type ToolUse } from '../../base/tool-use.ts'
import { coversPath, matchesWild, type PathContext, type PathPattern, parsePattern, touchesPath } from './paths.ts'
import { commandsIn, patternIn, programOf, runsAnother, wordsOf } from './shell.ts'

export interface Rule {
  /** As it was written. */
  readonly text: string
  /** `Bash`; of an MCP server with `*`, as in `mcp__github__*`; `*`: every tool. */
  readonly tool: string
  /** Null: every use of the tool. */
  readonly only: Only | null
}

type Only =
  | { readonly kind: 'command'; readonly command: CommandPattern }
  | { readonly kind: 'path'; readonly pattern: PathPattern }
  | { readonly kind: 'domain'; readonly host: string; readonly isBelow: boolean }

type CommandPattern =
  /** `line`: as written. `command`: as `commandsIn` gives it, if it is a single one. */
  | { readonly how: 'exact'; readonly line: string; readonly command: string | null }
  | { readonly how: 'prefix'; readonly words: string }
  /** With `anything` where `*` was. */
  | { readonly how: 'wildcard'; readonly pattern: string }

/** Where relative paths start, and how links are followed. */
export type RuleContext = PathContext

/** A rule for the first one is about all of them. */
export const editing: readonly string[] = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit']
export const reading: readonly string[] = ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']
const otherTools = ['Bash', 'WebFetch', 'WebSearch', 'Task', 'Agent', 'TodoWrite', 'Skill', 'BashOutput', 'KillShell']
const known = [...editing, ...reading, ...otherTools]

/** Stands for `*` while a pattern is taken apart: a letter for the shell, and none that anybody types. */
const anything = 'ꙮ'

export const everyTool = (text: string): Rule => ({ text, tool: '*', only: null })

/** The rule, or why this is none and what was probably meant. */
export function parseRule(given: string): Rule | string {
  const text = given.trim()
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(text) || text.includes(anything))
    return 'it has a line break or an invisible character'
  const [, name = '', , inner] = /^([A-Za-z][\w-]*(?:[\w.*-]*))(\((.*)\))?$/.exec(text) ?? []
  if (name === '') return unreadable(text)
  if (name.startsWith('mcp__')) return mcpRule(text, name, inner)
  if (name.includes('*') || name.includes('.'))
    return `only MCP tools can have a pattern as their name; write ${toolIn(text) ?? 'Bash'}`
  const meant = known.includes(name) ? null : nearest(name, known, name.length > 4 ? 2 : 1)
  if (meant !== null) return `there is no tool ${name}; write ${meant}${text.slice(name.length)}`
  const tool = { text, tool: name }
  if (inner === undefined) return { ...tool, only: null }
  const detail = inner.trim()
  if (detail === '') return `there is nothing in the parentheses; write ${name}`
  if (name === 'Bash') return bashRule(text, detail)
  if (name === 'WebFetch') return domainRule(text, detail)
  if (!editing.includes(name) && !reading.includes(name)) return `${name} can only be named as a whole; write ${name}`
  if (detail === '*' || detail === '**') return { ...tool, only: null }
  const pattern = parsePattern(detail)
  return typeof pattern === 'string' ? pattern : { ...tool, only: { kind: 'path', pattern } }
}

/** The tool that a broken rule is about; null: it cannot be told. */
export function toolIn(text: string): string | null {
  const [, name = ''] = /^\s*([A-Za-z][\w-]*)/.exec(text) ?? []
  if (name.startsWith('mcp__')) return /^mcp__[\w-]*?(?=__|$)/.exec(name)?.[0] ?? null
  return nearest(name, known, name.length > 4 ? 2 : 1)
}

function unreadable(text: string): string {
  const [, name = '', rest = ''] = /^([A-Za-z]\w*)[\s(]*(.*?)\)?$/.exec(text) ?? []
  const tool = nearest(name, known, 1)
  if (tool !== null && rest !== '') return `it is not a rule; write ${tool}(${rest})`
  return text === '' ? 'it is empty' : `it is not a rule; write Bash(${text}) for a command, or the name of a tool`
}

function mcpRule(text: string, name: string, inner: string | undefined): Rule | string {
  if (inner !== undefined) return `a rule for an MCP tool has no parentheses; write ${name}`
  if (/^mcp__$/.test(name)) return 'the server is missing; write mcp__server or mcp__server__tool'
  return { text, tool: name, only: null }
}

function bashRule(text: string, detail: string): Rule | string {
  if (detail === '*' || detail === ':*') return { text, tool: 'Bash', only: null }
  const rule = (command: CommandPattern): Rule => ({ text, tool: 'Bash', only: { kind: 'command', command } })
  const marked = detail.replace(/\\\*|\*/g, found => (found === '*' ? anything : '*'))
  if (!marked.includes(anything)) {
    const commands = commandsIn(marked)
    return rule({ how: 'exact', line: marked, command: commands?.length === 1 ? (commands[0] ?? null) : null })
  }
  const ending = /(?::| )ꙮ$/u
  const isPrefix = ending.test(marked) && !marked.replace(ending, '').includes(anything)
  const pattern = patternIn(isPrefix ? marked.replace(ending, '') : marked)
  if (pattern === null)
    return `with * it must be one simple command, without operators, variables or redirections; write one rule for each, such as Bash(${wordsOf(detail)[0] ?? 'ls'}:*)`
  if (/:ꙮ/u.test(pattern) && detail.includes(':*') && !isPrefix)
    return `":*" can only be at the end; write ${text.replaceAll(':*', ' *')}`
  return rule(isPrefix ? { how: 'prefix', words: pattern } : { how: 'wildcard', pattern })
}

function domainRule(text: string, detail: string): Rule | string {
  const [, below, name = ''] = /^domain:(\*\.)?([^/*?#@:\s]+)$/.exec(detail) ?? []
  const host = hostOf(`https://${name}/`)
  if (name === '' || host === null) {
    const meant = hostOf(detail) ?? hostOf(`https://${detail.replace(/^domain:/, '')}`)
    return `only domains can be named; write WebFetch(domain:${meant ?? 'example.com'})`
  }
  return { text, tool: 'WebFetch', only: { kind: 'domain', host, isBelow: below !== undefined } }
}

function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { protocol, hostname } = new URL(url)
  return /^https?:$/.test(protocol) && hostname !== '' ? hostname.replace(/\.$/, '') : null
}

/** Whether the rule is about this tool, for some use of it. */
export function isAbout(rule: Rule, tool: string): boolean {
  if (rule.tool === '*' || rule.tool === tool) return true
  if (rule.tool.startsWith('mcp__')) return matchesWild(rule.tool, tool, '*') || tool.startsWith(`${rule.tool}__`)
  return [editing, reading].some(family => family[0] === rule.tool && family.includes(tool))
}

/** Whether the rule is about every use of everything that this entry of a list of tools names. */
export const matchesWholly = (rule: Rule, entry: string): boolean => rule.only === null && isAbout(rule, entry)

/**
 * Whether a rule of `ask` or `deny` is about this use: of a line with several commands, about one of them. Unsure: it may be, and somebody
 * must be asked.
 */
export function matches({ only, ...rule }: Rule, use: ToolUse, context: RuleContext): boolean | 'unsure' {
  if (!isAbout({ only, ...rule }, use.tool)) return false
  if (only === null) return true
  const { work } = use
  if (isCut(use)) return 'unsure'
  switch (only.kind) {
    case 'command':
      return work.kind === 'command' ? touchesLine(only.command, work.command) : 'unsure'
    case 'path': {
      const found = pathOf(use)
      return found === null ? 'unsure' : touchesPath(only.pattern, found.path, context, found.isFolder)
    }
    case 'domain': {
      const host = work.kind === 'fetch' ? hostOf(work.url) : null
      return host === null ? 'unsure' : host === only.host || host.endsWith(`.${only.host}`)
    }
  }
}

/** Whether rules of `allow` together allow this use: of a line with several commands, each one. */
export function covers(rules: readonly Rule[], use: ToolUse, context: RuleContext): boolean {
  const about = rules.filter(rule => isAbout(rule, use.tool))
  if (about.some(({ only }) => only === null)) return true
  const { work } = use
  if (isCut(use)) return false
  const onlys = about.flatMap(({ only }) => only ?? [])
  if (work.kind === 'command') {
    const patterns = onlys.flatMap(only => (only.kind === 'command' ? [only.command] : []))
    return patterns.length > 0 && coversLine(patterns, work.command)
  }
  const host = work.kind === 'fetch' ? hostOf(work.url) : null
  const found = pathOf(use)
  return onlys.some(only => {
    if (only.kind === 'path') return found !== null && coversPath(only.pattern, found.path, context, found.isFolder)
    if (only.kind !== 'domain' || host === null) return false
    return only.isBelow ? host.endsWith(`.${only.host}`) : host === only.host
  })
}

/** What was cut is not known. A diff is not looked at. */
const isCut = ({ work }: ToolUse): boolean =>
  Object.entries(work).some(
    ([key, part]: [string, unknown]) => key !== 'diff' && typeof part === 'string' && part.length >= longestWork,
  )

/** Null: the paths cannot be told. */
function pathOf({ tool, work }: ToolUse): { readonly path: string; readonly isFolder: boolean } | null {
  if (work.kind === 'edit' || work.kind === 'read') return { path: work.path, isFolder: tool === 'LS' }
  if (work.kind !== 'search') return null
  // A pattern for names can lead out of the folder; a pattern for content cannot.
  if (tool !== 'Grep' && /^[/~]|\.\./.test(work.query)) return null
  return { path: work.path ?? '.', isFolder: true }
}

function touchesLine(pattern: CommandPattern, line: string): boolean | 'unsure' {
  if (pattern.how === 'exact' && pattern.line === line.trim()) return true
  const commands = commandsIn(line)
  if (commands === null) return 'unsure'
  const isMeant = commands.some(command => {
    const words = wordsOf(command)
    const bare = command.slice((words[0]?.length ?? 0) - programOf(words).length)
    return matchesCommand(pattern, command) || matchesCommand(pattern, bare)
  })
  return isMeant || (commands.some(command => runsAnother(wordsOf(command))) ? 'unsure' : false)
}

function coversLine(patterns: readonly CommandPattern[], line: string): boolean {
  if (patterns.some(pattern => pattern.how === 'exact' && pattern.line === line.trim())) return true
  const commands = commandsIn(line)
  if (commands === null) return false
  return commands.every(command =>
    patterns.some(
      pattern => matchesCommand(pattern, command) && (pattern.how === 'exact' || !hasFarReach(wordsOf(command))),
    ),
  )
}

function matchesCommand(pattern: CommandPattern, command: string): boolean {
  if (pattern.how === 'exact') return pattern.command === command
  if (pattern.how === 'wildcard') return matchesWild(pattern.pattern, command, anything)
  return command === pattern.words || command.startsWith(`${pattern.words} `)
}

/** Options with which harmless subcommands of git write any file or run any program. Git accepts them abbreviated. */
const farReaching = [
  '--output',
  '--exec',
  '--upload-pack',
  '--receive-pack',
  '--ext-diff',
  '--open-files-in-pager',
  '--config-env',
]

const hasFarReach = (words: readonly string[]): boolean =>
  programOf(words) === 'git' &&
  words.some(word => {
    const [option = ''] = word.split('=')
    return option.length > 3 && farReaching.some(one => one.startsWith(option))
  })
