// Whether an agent may do what it asks for: by rules, and by the lists of tools that run freely or after asking.
import type { LaneKey } from '../../base/event.ts'
import type { ToolUse } from '../../base/tool-use.ts'
import { covers, isAbout, matches, parseRule, type Rule, type RuleContext } from './rules.ts'

export const ruleLists = ['allow', 'ask', 'deny'] as const
export type RuleList = (typeof ruleLists)[number]

/** A rule in one of the lists. Without a conversation and a project it applies everywhere. */
export interface PlacedRule {
  readonly list: RuleList
  readonly rule: Rule
  readonly conversation: LaneKey | null
  /** A folder. */
  readonly project: string | null
}

export interface DecisionContext extends RuleContext {
  readonly rules: readonly PlacedRule[]
  /** Names of tools, also narrowed as in `Bash(git log:*)`: as `toolsFor` gives them, not those of `listsFor`. */
  readonly allowedTools: readonly string[]
  readonly askTools: readonly string[]
  readonly lane: LaneKey
  readonly project: string
}

export interface RuleDecision {
  readonly type: 'allow' | 'ask' | 'deny'
  /** The rule that decided; null: the lists of tools did. */
  readonly by: string | null
}

/** `deny` wins over `ask`, `ask` over `allow`, and rules over the lists of tools. A tool in none of the lists is denied. */
export function decide(use: ToolUse, context: DecisionContext): RuleDecision {
  const rules = rulesIn(context.rules, context)
  const found = (list: RuleList, how: true | 'unsure') =>
    rules.find(one => one.list === list && matches(one.rule, use, context) === how)?.rule.text
  const denied = found('deny', true)
  if (denied !== undefined) return { type: 'deny', by: denied }
  const otherwise = withoutLimits(use, context, rules)
  const asked = found('ask', true) ?? found('deny', 'unsure') ?? found('ask', 'unsure')
  return asked === undefined || otherwise.type === 'deny' ? otherwise : { type: 'ask', by: asked }
}

function withoutLimits(use: ToolUse, context: DecisionContext, rules: readonly PlacedRule[]): RuleDecision {
  const { allowedTools, askTools } = context
  if (![...allowedTools, ...askTools].some(entry => isListed(entry, use.tool))) return { type: 'deny', by: null }
  const allowing = rules.filter(({ list }) => list === 'allow').map(({ rule }) => rule)
  if (covers(allowing, use, context)) return { type: 'allow', by: allowedBy(allowing, use, context) }
  if (isIn(allowedTools, use, context)) return { type: 'allow', by: null }
  return { type: isIn(askTools, use, context) ? 'ask' : 'deny', by: null }
}

/** Those that apply to this conversation and project. */
export const rulesIn = (
  rules: readonly PlacedRule[],
  { lane, project }: Pick<DecisionContext, 'lane' | 'project'>,
): readonly PlacedRule[] =>
  rules.filter(
    one =>
      (one.conversation === null || one.conversation === lane) && (one.project === null || one.project === project),
  )

/** Several rules may be needed for one line. */
function allowedBy(rules: readonly Rule[], use: ToolUse, context: RuleContext): string {
  const one = rules.find(rule => covers([rule], use, context))
  if (one) return one.text
  const needed = rules.filter(
    rule =>
      !covers(
        rules.filter(other => other !== rule),
        use,
        context,
      ),
  )
  return needed.map(({ text }) => text).join(', ')
}

/** An entry names exactly one tool, or an MCP server with all of its tools. */
export function isListed(entry: string, tool: string): boolean {
  const name = nameIn(entry)
  return name === tool || (name === 'Edit' && tool === 'MultiEdit') || (name.startsWith('mcp__') && isMcp(name, tool))
}

function isMcp(name: string, tool: string): boolean {
  const rule = parseRule(name)
  return typeof rule !== 'string' && isAbout(rule, tool)
}

/** `Bash(git log:*)` is Bash, narrowed. */
export const nameIn = (entry: string): string => entry.replace(/\(.*/s, '')

function isIn(entries: readonly string[], use: ToolUse, context: RuleContext): boolean {
  const listed = entries.filter(entry => isListed(entry, use.tool))
  const narrowed = listed.filter(entry => entry !== nameIn(entry)).map(parseRule)
  return (
    narrowed.length < listed.length ||
    covers(
      narrowed.filter(rule => typeof rule !== 'string'),
      use,
      context,
    )
  )
}
