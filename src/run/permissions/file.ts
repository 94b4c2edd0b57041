// permissions.json of the workspace: `{ "allow": [], "ask": [], "deny": [] }`. What cannot be read makes the agent ask, never the reverse.
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { applyEdits, modify, type ParseError, parseTree } from 'jsonc-parser'
import { permissionsFile } from '../../base/config-files.ts'
import type { LaneKey } from '../../base/event.ts'
import { errorCode } from '../../base/unknown.ts'
import { type PlacedRule, type RuleList, ruleLists } from './decide.ts'
import { entriesIn, type ReadRules } from './entries.ts'
import { parseRule } from './rules.ts'

/** A rule as it is written: everywhere, or for a conversation or a project (a folder). */
export interface NewRule {
  readonly rule: string
  readonly conversation?: LaneKey
  readonly project?: string
  /** Who added it. */
  readonly by?: string
  /** As an ISO date. */
  readonly at?: string
}

/** Maps the current text to the new text; null: no file. Undefined: not possible. */
type Edit = (text: string | null) => string | null | undefined
export type RuleEdited = { readonly ok: true } | { readonly ok: false; readonly why: string }

export interface PermissionsParts {
  /** The workspace. */
  readonly dir: string
  /** The text in effect while an agent may have changed the file; undefined: the one on disk. */
  approved(): string | null | undefined
  edit(change: Edit): Promise<RuleEdited>
}

export interface Permissions {
  /** The rules in effect now. */
  read(): ReadRules
  add(list: RuleList, rule: NewRule): Promise<RuleEdited>
  /** The rule with exactly this text and scope. */
  remove(list: RuleList, rule: Pick<NewRule, 'rule' | 'conversation' | 'project'>): Promise<RuleEdited>
}

const mostBytes = 1024 * 1024
const layout = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' } }

export function openPermissions({ dir, approved, edit }: PermissionsParts): Permissions {
  let last: { readonly text: string | null; readonly read: ReadRules } | null = null

  function read(): ReadRules {
    const disk = textOf(join(dir, permissionsFile))
    // Asked after reading: by now the guard knows of any change made before that.
    const held = approved()
    const found = held === undefined ? disk : { ok: true as const, text: held }
    if (!found.ok) return broken(found.why)
    if (last === null || last.text !== found.text) last = { text: found.text, read: readRules(found.text) }
    return last.read
  }

  return {
    read,
    async add(list, rule) {
      const why = parseRule(rule.rule)
      if (typeof why === 'string') return { ok: false, why: `${rule.rule} is not a rule: ${why}.` }
      const now = read()
      if (now.broken !== null) return { ok: false, why: now.broken }
      if (now.rules.some(one => isSame(one, list, rule))) return { ok: true }
      return edit(text => withRule(text, list, rule))
    },
    async remove(list, rule) {
      const now = read()
      if (now.broken !== null) return { ok: false, why: now.broken }
      if (!now.rules.some(one => isSame(one, list, rule)))
        return { ok: false, why: `${list} in ${permissionsFile} has no such rule.` }
      return edit(text => withoutRule(text, list, rule))
    },
  }
}

/** For the text of the file; null: there is none, and no rules. */
export function readRules(text: string | null): ReadRules {
  const plain = (text ?? '').replace(/^\uFEFF/, '')
  if (plain.trim() === '') return { rules: [], problems: [], broken: null }
  const errors: ParseError[] = []
  try {
    const tree = parseTree(plain, errors, { allowTrailingComma: true })
    const [error] = errors
    if (error) {
      const before = plain.slice(0, error.offset).split('\n')
      return broken(`is not JSON: see line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`)
    }
    return tree?.type === 'object'
      ? entriesIn(tree)
      : broken('must be an object: { "allow": [], "ask": [], "deny": [] }')
  } catch {
    return broken('is nested too deeply')
  }
}

function broken(why: string): ReadRules {
  const problem = `${permissionsFile} ${why}. Until then every tool is asked for.`
  const { rules } = entriesIn(null)
  return { rules, problems: [problem], broken: problem }
}

/** A rule whose place in the file was found. */
const isSame = (one: PlacedRule & { readonly at?: number }, list: RuleList, rule: NewRule): boolean =>
  one.at !== undefined &&
  one.list === list &&
  one.rule.text === rule.rule.trim() &&
  one.conversation === (rule.conversation ?? null) &&
  one.project === (rule.project === undefined ? null : resolve(rule.project))

function withRule(text: string | null, list: RuleList, { rule, ...scope }: NewRule): string | undefined {
  const given = Object.fromEntries(Object.entries(scope).filter(([, value]) => value !== undefined))
  const entry = Object.keys(given).length === 0 ? rule.trim() : { rule: rule.trim(), ...given }
  const base = text === null || text.trim() === '' ? emptyFile : text
  if (readRules(base).broken !== null) return undefined
  const hasList = parseTree(base, [], { allowTrailingComma: true })?.children?.some(
    ({ children }) => children?.[0]?.value === list,
  )
  const change = hasList
    ? modify(base, [list, -1], entry, { ...layout, isArrayInsertion: true })
    : modify(base, [list], [entry], layout)
  return applyEdits(base, change)
}

function withoutRule(text: string | null, list: RuleList, rule: NewRule): string | undefined {
  const { rules, broken: why } = readRules(text)
  const found = rules.find(one => isSame(one, list, rule))
  if (text === null || why !== null) return undefined
  return found?.at === undefined ? text : applyEdits(text, modify(text, [list, found.at], undefined, layout))
}

const emptyFile = `${JSON.stringify(Object.fromEntries(ruleLists.map(list => [list, []])), null, 2)}\n`

function textOf(
  path: string,
): { readonly ok: true; readonly text: string | null } | { readonly ok: false; readonly why: string } {
  try {
    // Most workspaces have none, and an error for that would cost every turn.
    if (!existsSync(path)) return { ok: true, text: null }
    // Without O_NONBLOCK, a named pipe in place of the file would block for ever.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(file)
      if (!stat.isFile() || stat.size > mostBytes) return { ok: false, why: 'is not a file of at most 1 MB' }
      return { ok: true, text: readFileSync(file, 'utf8') }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    const code = errorCode(error) ?? 'unknown error'
    return code === 'ENOENT'
      ? { ok: true, text: null }
      : { ok: false, why: `cannot be read (${code}); check its permissions` }
  }
}
