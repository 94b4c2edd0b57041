// The rules of permissions.json, for pages and API.
import type { LaneKey } from './event.ts'

/** Where a rule is, and for what. Without a conversation and a project it applies everywhere. */
export interface WrittenRule {
  readonly list: 'allow' | 'ask' | 'deny'
  /** `Bash(git status:*)`. */
  readonly rule: string
  readonly conversation: LaneKey | null
  /** A folder. */
  readonly project: string | null
}

export interface ListedRule extends WrittenRule {
  /** Who added it and when, as written. */
  readonly by: string | null
  readonly added: string | null
}

export type RuleResult = { readonly ok: true } | { readonly ok: false; readonly why: string }

export interface PermissionsAdmin {
  /** `problems`: sentences about entries that cannot be used; `broken`: why the whole file cannot be used, so everything is asked for. */
  list(): {
    readonly rules: readonly ListedRule[]
    readonly problems: readonly string[]
    readonly broken: string | null
  }
  add(rule: WrittenRule): Promise<RuleResult>
  remove(rule: WrittenRule): Promise<RuleResult>
}
