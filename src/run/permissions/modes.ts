// What PERMISSION_MODE and rules make of ALLOWED_TOOLS and ASK_TOOLS.
import type { PermissionMode } from '../../base/agent.ts'
import { isListed, nameIn, type PlacedRule } from './decide.ts'
import { editing, isAbout, matchesWholly, reading } from './rules.ts'

export interface ToolLists {
  readonly allowedTools: readonly string[]
  readonly askTools: readonly string[]
}

/** Tools that change nothing outside of the conversation, and the gateway's own, which have their own limits. */
const free = [...reading, 'TodoWrite', 'TodoRead', 'BashOutput', 'ToolSearch', 'mcp__aetheel']

/**
 * As in the CLI at a terminal. What is to be asked for is asked for in every mode. A plan that was approved is carried out like in the mode
 * default; before that, the backend changes nothing. For `decide`.
 */
export function toolsFor(
  mode: PermissionMode,
  allowedTools: readonly string[],
  askTools: readonly string[],
): ToolLists {
  if (mode === 'bypassPermissions') return { allowedTools, askTools: withoutThose(askTools, allowedTools) }
  const freely = mode === 'acceptEdits' ? [...free, ...editing] : free
  const runs = (entry: string) => freely.some(tool => isListed(tool, nameIn(entry)) || tool === nameIn(entry))
  const left = allowedTools.filter(runs)
  const asked = [...new Set([...allowedTools.filter(entry => !runs(entry)), ...askTools])]
  return { allowedTools: left, askTools: withoutThose(asked, left) }
}

/**
 * The lists for the turn, of which the backend asks for every use of `askTools`: a tool that an `ask` or `deny` rule is about moves there, so
 * that the rule sees each use, and one that is denied as a whole is left out. `rules`: those that apply, see `rulesIn`.
 */
export function listsFor(
  mode: PermissionMode,
  allowedTools: readonly string[],
  askTools: readonly string[],
  rules: readonly PlacedRule[],
): ToolLists {
  const lists = toolsFor(mode, allowedTools, askTools)
  const limits = rules.filter(({ list }) => list !== 'allow')
  const isGone = (entry: string) =>
    limits.some(({ list, rule }) => list === 'deny' && matchesWholly(rule, nameIn(entry)))
  const isWatched = (entry: string) =>
    limits.some(({ rule }) => isAbout(rule, nameIn(entry)) || isPartOf(rule.tool, nameIn(entry)))
  const stays = lists.allowedTools.filter(entry => !isGone(entry) && !isWatched(entry))
  const moves = lists.allowedTools.filter(entry => !isGone(entry) && isWatched(entry))
  return { allowedTools: stays, askTools: [...new Set([...moves, ...lists.askTools.filter(entry => !isGone(entry))])] }
}

/** A rule for one tool of an MCP server that is listed as a whole. */
const isPartOf = (tool: string, entry: string): boolean =>
  tool.startsWith('mcp__') && entry.startsWith('mcp__') && (isListed(entry, tool) || tool.includes('*'))

const withoutThose = (entries: readonly string[], others: readonly string[]): readonly string[] =>
  entries.filter(entry => !others.includes(entry))
