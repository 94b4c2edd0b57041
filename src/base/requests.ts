// Requests: what agents have asked people, and the answers. On disk before anybody sees them; each is answered at most once.
import type { LaneKey, Place } from './event.ts'
import type { Ask, Verdict } from './tool-use.ts'

/** `allowed` also means: the question was answered, the plan was approved. */
export type RequestState = 'open' | 'allowed' | 'denied' | 'expired' | 'withdrawn'

/** What is asked, as people see it: without secrets, with invisible characters made visible. */
export type ShownAsk = AskWithoutInput<Ask>
type AskWithoutInput<T> = T extends unknown ? Omit<T, 'id' | 'input'> : never

export interface NewRequest {
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
  readonly ask: ShownAsk
  /** Where people are asked: the conversation, or the owner's channel. Null: only in Mission Control and on the command line. */
  readonly place: Place | null
  /** Where the answer of the turn goes. */
  readonly replyTo: Place | null
  /** The rule that "always" would add, such as `Bash(git status:*)`; null: there is none, and "always" is not offered. */
  readonly rule: string | null
  /** It outlives its turn: an answer that comes later arrives as a message. */
  readonly lasting: boolean
}

export interface Request extends NewRequest {
  readonly id: number
  readonly at: number
  readonly state: RequestState
  /** Who answered, when, and how. */
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

/** How a request ended. */
export interface Settlement {
  readonly state: Exclude<RequestState, 'open'>
  readonly verdict: Verdict | null
  readonly by: string | null
  readonly always: RuleScope | null
  /** The verdict reaches a turn that waits for it now; otherwise it waits for the turn to ask again. */
  readonly used: boolean
}

export interface RequestStore {
  /** Resolves once it is on disk. `digest`: of the exact input. */
  add(request: NewRequest, digest: string): Promise<Request>
  find(id: number): Request | null
  /** Oldest first. */
  open(): readonly Request[]
  countOpen(): number
  /** All open ones without what they ask: there may be many. Oldest first. */
  openSince(): readonly { readonly id: number; readonly at: number }[]
  /** Of the events of a lane from this id up to (not including) that one, oldest first: the latest `most`. */
  ofLane(lane: LaneKey, from: number, to: number, most: number): readonly Request[]
  /** Newest first, before this id. */
  all(most: number, before: number | null): readonly Request[]
  /** Of this event and exactly this input, oldest first: open, or answered without its answer having reached a turn. */
  pending(event: number, digest: string): readonly Request[]
  /** The same for all inputs of the event, oldest first. */
  pendingOf(event: number): readonly Request[]
  /** Open ones whose event has its end, and that do not outlive it. */
  orphans(): readonly Request[]
  /** Resolves once it is on disk. Null: it was not open any more. */
  settle(id: number, how: Settlement): Promise<Request | null>
  /** The answer reaches a turn now. False: it did before. Resolves once it is on disk. */
  use(id: number): Promise<boolean>
  forgetBefore(at: number): Promise<void>
}

/** The key of the message in a chat that shows a request. */
export const requestMessageKey = (id: number, what: 'asked' | 'reminder' | 'settled') => `request:${id}#${what}`

/** Also of the parts of a long one. The agent has not said these, and knows what it has asked. */
export const isRequestMessage = (key: string): boolean => /^request:\d+#(?:asked|reminder|settled)(?:-\d+)?$/.test(key)
