// The rule that "Allow always" would add.
import { dirname, resolve } from 'node:path'
import { longestWork, type ToolUse } from '../../base/tool-use.ts'
import { visible } from '../../base/visible.ts'
import { belowOf } from './paths.ts'
import { editing, parseRule, reading } from './rules.ts'
import { commandsIn, commandText, wordsOf } from './shell.ts'

/**
 * Narrow rather than wide: a prefix only where everything that begins with it is of the same kind, else exactly this. Null: no rule can be
 * offered. `folder`: the working folder.
 */
export function suggestRule(use: ToolUse, folder: string): string | null {
  const rule = ruleFor(use, folder)
  return rule === null || visible(rule) !== rule || rule.includes('\n') || typeof parseRule(rule) === 'string'
    ? null
    : rule
}

function ruleFor({ tool, work }: ToolUse, folder: string): string | null {
  if (tool.startsWith('mcp__')) return tool
  if (work.kind === 'command') return tool === 'Bash' ? commandRule(work.command.trim()) : null
  if (work.kind === 'edit') return editing.includes(tool) ? pathRule('Edit', work.path, folder, true) : null
  if (work.kind === 'read') return reading.includes(tool) ? pathRule('Read', work.path, folder, false) : null
  if (work.kind === 'search' && reading.includes(tool)) return pathRule('Read', `${work.path ?? '.'}/x`, folder, true)
  if (work.kind === 'fetch') {
    const host = tool === 'WebFetch' && URL.canParse(work.url) ? new URL(work.url).hostname : ''
    return host === '' ? null : `WebFetch(domain:${host})`
  }
  return /^[A-Za-z]\w*$/.test(tool) && tool !== 'Bash' ? tool : null
}

/**
 * By program: the subcommands that are harmless enough with whatever follows. All others, and programs that run what they are told, only
 * exactly.
 */
const subcommands: Readonly<Record<string, readonly string[]>> = {
  git: [
    ...['status', 'log', 'diff', 'show', 'add', 'commit', 'branch', 'checkout', 'switch', 'restore', 'stash', 'tag'],
    ...['blame', 'describe', 'ls-files', 'merge', 'mv', 'rm', 'reflog', 'rev-parse', 'shortlog'],
  ],
  npm: ['test', 'ls', 'outdated', 'view'],
  pnpm: ['test', 'ls', 'outdated'],
  yarn: ['test', 'outdated'],
  cargo: ['build', 'check', 'clippy', 'fmt', 'test'],
  systemctl: ['status'],
}
/** Followed by the name of a script of the project. */
const scripts = ['npm', 'pnpm', 'yarn', 'bun']

function commandRule(line: string): string | null {
  const commands = commandsIn(line)
  if (commands === null || line.length >= longestWork) return null
  const [command = ''] = commands
  const prefix = commands.length === 1 ? prefixOf(wordsOf(command)) : null
  if (prefix !== null) return `Bash(${commandText(prefix)}:*)`
  // A star stands for itself here; one after a backslash could not be told from that.
  return line.includes('\\*') ? null : `Bash(${line.replaceAll('*', '\\*')})`
}

function prefixOf([program = '', first = '', second = '']: readonly string[]): readonly string[] | null {
  if (scripts.includes(program) && first === 'run' && /^\w[\w:-]*$/.test(second)) return [program, first, second]
  return subcommands[program]?.includes(first) ? [program, first] : null
}

/** The folder of the file within the working folder; a single file elsewhere. */
function pathRule(tool: string, path: string, folder: string, wide: boolean): string | null {
  if (path === '' || path.startsWith('~') || path.length >= longestWork || /[*?]/.test(path)) return null
  const target = resolve(folder, path)
  const below = belowOf(resolve(folder), target)
  const inside = below === null ? null : dirname(below)
  if (below === null || below === '') return below === '' ? null : `${tool}(/${target})`
  if (!wide || inside === '.') return `${tool}(./${below})`
  return `${tool}(./${inside}/**)`
}
