// The entries of permissions.json. A bad entry of `allow` is skipped; one that should have limited a tool makes all of that tool ask.
import { resolve } from 'node:path'
import { getNodeValue, type Node } from 'jsonc-parser'
import { permissionsFile } from '../../base/config-files.ts'
import { nearest } from '../../base/spelling.ts'
import { isObject } from '../../base/unknown.ts'
import { visible } from '../../base/visible.ts'
import { type PlacedRule, type RuleList, ruleLists } from './decide.ts'
import { everyTool, parseRule, type Rule, toolIn } from './rules.ts'

export interface ReadRule extends PlacedRule {
  /** Its position in its list; undefined: it stands for an entry that cannot be used. */
  readonly at?: number
  /** Who added it and when, as written. */
  readonly by: string | null
  readonly added: string | null
}

export interface ReadRules {
  readonly rules: readonly ReadRule[]
  /** Sentences for people. */
  readonly problems: readonly string[]
  /** Why the file as a whole cannot be used; null: it can. */
  readonly broken: string | null
}

const keys = ['rule', 'conversation', 'project', 'by', 'at'] as const

/** Null: the file cannot be read, so every tool is asked for. */
export function entriesIn(file: Node | null): ReadRules {
  if (file === null) return { rules: [asking(everyTool(permissionsFile))], problems: [], broken: null }
  const rules: ReadRule[] = []
  const problems: string[] = []
  const seen = new Set<string>()
  for (const { children: [key, value] = [] } of file.children ?? []) {
    const name = String(key?.value)
    const list = ruleLists.find(one => one === name)
    const shown = visible(name).slice(0, 60)
    if (name === '$schema') continue
    if (seen.has(name)) problems.push(`${permissionsFile} has ${shown} twice; both are used.`)
    const again = seen.has(name)
    seen.add(name)
    if (list === undefined) {
      const meant = nearest(name, ruleLists, 2)
      problems.push(
        `${permissionsFile}: there is no list ${shown}${meant === null ? '; use allow, ask and deny' : `; ${meant} was probably meant`}.`,
      )
    }
    if (value?.type !== 'array') {
      if (list !== undefined) problems.push(`${permissionsFile}: ${list} must be a list of rules.`)
      if (list !== 'allow') rules.push(asking(everyTool(permissionsFile)))
      continue
    }
    for (const [at, node] of (value.children ?? []).entries()) {
      const read = readEntry(getNodeValue(node), list ?? null)
      if (read.problem !== null && list !== undefined)
        problems.push(`${permissionsFile}, ${list}, entry ${at + 1}: ${read.problem}`)
      // Of a list that occurs twice, an editor would change the first.
      rules.push(...read.rules.map(rule => (read.problem === null && !again ? { ...rule, at } : rule)))
    }
  }
  return { rules, problems, broken: null }
}

/** `list`: null for one that does not exist; what is in it may have been meant as a limit. */
function readEntry(entry: unknown, list: RuleList | null): { rules: readonly ReadRule[]; problem: string | null } {
  const fields: Readonly<Record<string, unknown>> =
    typeof entry === 'string' ? { rule: entry } : isObject(entry) ? entry : {}
  const text = typeof fields.rule === 'string' ? fields.rule : null
  const parsed =
    text === null ? 'it has no rule; write "Bash(git status:*)" or { "rule": "Bash(git status:*)" }' : parseRule(text)
  const scope = scopeOf(fields)
  const problem =
    typeof parsed === 'string' ? `${text === null ? '' : `${visible(text).slice(0, 200)}: `}${parsed}.` : scope.problem
  if (typeof parsed !== 'string' && problem === null && list !== null)
    return {
      rules: [{ list, rule: parsed, ...scope.where, by: textIn(fields.by), added: textIn(fields.at) }],
      problem,
    }
  if (list === 'allow') return { rules: [], problem }
  const tool = text === null ? null : toolIn(text)
  const whole = tool === null ? everyTool(text ?? permissionsFile) : { text: text ?? tool, tool, only: null }
  return { rules: [asking(whole)], problem }
}

function scopeOf(fields: Readonly<Record<string, unknown>>) {
  const { conversation, project } = fields
  const unknown = Object.keys(fields).find(key => !keys.some(one => one === key))
  const meant = unknown === undefined ? null : nearest(unknown, keys, 3)
  const isText = (value: unknown) => value === undefined || (typeof value === 'string' && value !== '')
  return {
    where: { conversation: textIn(conversation), project: typeof project === 'string' ? resolve(project) : null },
    problem:
      unknown !== undefined
        ? `${visible(unknown).slice(0, 60)} is unknown${meant === null ? '' : `; ${meant} was probably meant`}.`
        : isText(conversation) && isText(project)
          ? null
          : 'conversation and project must be texts.',
  }
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const asking = (rule: Rule): ReadRule => ({
  ...{ list: 'ask', rule, conversation: null, project: null, by: null, added: null },
})
