// Requests: what agents have asked people, and the answers. On disk before anybody sees them; each is answered at most once.
import type { LaneKey, Place } from './event.ts'
import type { Ask, Verdict } from './tool-use.ts'

/** `allowed` also means: the question was answered, the plan was approved. */
export type RequestState = 'open' | 'allowed' | 'denied' | 'expired' | 'withdrawn'

export interface Request {
  readonly id: number
  readonly at: number
  readonly lane: LaneKey
  /** Id and key of the event whose turn asks. */
  readonly event: number
  readonly key: string
  /** On whose words the turn runs; null: nobody in particular. */
  readonly person: string | null
  readonly owner: boolean
  /** Where the event came from: `webchat`, `cron`, … */
  readonly source: string
  readonly backend: string
  /** The working folder. */
  readonly folder: string
  readonly ask: Ask
  /** Where people are asked: the conversation, or the owner's channel. Null: only in Mission Control and on the command line. */
  readonly place: Place | null
  /** The rule that "always" would add, such as `Bash(git status:*)`; null: there is none, and "always" is not offered. */
  readonly rule: string | null
  readonly state: RequestState
  /** Who answered, when, and with which words. */
  readonly answeredBy: string | null
  readonly answeredAt: number | null
  readonly verdict: Verdict | null
  readonly always: RuleScope | null
}

/** Where a rule applies. */
export const ruleScopes = ['conversation', 'project', 'everywhere'] as const
export type RuleScope = (typeof ruleScopes)[number]

export type Decision =
  | { readonly allow: true; readonly always?: RuleScope; readonly answers?: Readonly<Record<string, string>> }
  | { readonly allow: false; readonly message: string }

/** `late`: it was answered, withdrawn or has expired before; `request` says how. */
export type DecisionResult =
  | { readonly type: 'answered' | 'late'; readonly request: Request }
  | { readonly type: 'unknown' }
  /** This decision does not fit the request, such as "always" without a rule. A sentence. */
  | { readonly type: 'refused'; readonly why: string }

/** For chats, pages, API and command line. Whether `by` may answer is checked by the caller. */
export interface RequestsAdmin {
  /** Open ones oldest first; `all`: also ended ones, newest first, before this id. */
  list(which: 'open' | 'all', before?: number): readonly Request[]
  find(id: number): Request | null
  /** Resolves once the answer is on disk. */
  decide(id: number, decision: Decision, by: string): Promise<DecisionResult>
}
