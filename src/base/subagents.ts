// Sub-agents: an agent or its owner starts them for one task. Each has its own lane.
import { agentLane, type LaneKey, type NewEvent, type Place, type Principal } from './event.ts'

export const subAgentLimits = {
  /** A sub-agent of a sub-agent may not start any. */
  depth: 2,
  /** How many may wait, work or be waited for at a time, over all conversations. */
  running: 5,
  /** Of these, how many guests and webhooks together leave to the owner. */
  ownerOnly: 2,
} as const

/** The key of the event that reports the end of item `item`. */
export const reportKey = (id: string, item: number): string => `${agentLane(id)}#report-${item}`

export interface SubAgent {
  readonly id: string
  readonly name: string
  readonly instruction: string
  /** The lane that gets its report, and the place where people see it. */
  readonly parent: LaneKey
  readonly place: Place | null
  /** The conversation it all started in. */
  readonly root: LaneKey
  /** 1: started by a conversation; 2: started by a sub-agent of a conversation. */
  readonly depth: number
  readonly principal: Principal
  /** `model` or `backend/model`; null: `models.subagent` applies. */
  readonly model: string | null
  readonly state: 'waiting' | 'working' | 'done' | 'failed' | 'stopped'
  readonly at: number
  readonly endedAt: number | null
  /** What it is doing now, or the end of its answer. */
  readonly progress: string
}

/** Guests know only of sub-agents that work for themselves, also where the owner and other guests write in the same conversation. */
export const maySee = ({ owner, person }: Pick<Principal, 'owner' | 'person'>, { principal }: SubAgent): boolean =>
  owner || (!principal.owner && principal.person === person)

export interface NewSubAgent {
  readonly name: string | null
  readonly instruction: string
  readonly model: string | null
}

export interface Posted {
  /** Increases with every post, over all channels. */
  readonly id: number
  readonly at: number
  /** The sub-agent's id, or `agent` for a conversation. */
  readonly from: string
  readonly text: string
}

export type SpawnResult = { readonly ok: true; readonly agent: SubAgent } | { readonly ok: false; readonly why: string }

/** The result of waiting for an answer. `pending`: it comes as a report later. */
export type Answered =
  | { readonly type: 'answered'; readonly ok: boolean; readonly text: string }
  | { readonly type: 'pending'; readonly why: 'late' | 'stopping' | 'too-many' | 'waits-for-you' }

/** Who starts the sub-agent. */
export interface Parent {
  readonly lane: LaneKey
  readonly place: Place | null
  readonly principal: Principal
  /** The sub-agent that starts it; null: a conversation does. */
  readonly agent: string | null
}

export interface SubAgents {
  /** Resolves once it is on disk. `key` makes a repeat harmless. */
  spawn(wanted: NewSubAgent, parent: Parent, key: string): Promise<SpawnResult>
  /** A further question to an existing sub-agent, which answers with a report. Resolves with a sentence for the caller. */
  ask(id: string, question: string, parent: Parent, key: string): Promise<SpawnResult>
  /**
   * Waits for the answer to the question with this key: at most `ms`, until the signal aborts, and not beyond a stop of the gateway. An
   * answer returned here is not reported again, unless the turn fails.
   */
  answer(id: string, parent: Parent, key: string, ms: number, signal: AbortSignal): Promise<Answered>
  /** Those of a lane and below it; without a lane: all. Newest first, at most 200. */
  list(lane?: LaneKey): Promise<readonly SubAgent[]>
  find(id: string): Promise<SubAgent | null>
  /** Also stops the sub-agents it started. False: it was not working any more. */
  stop(id: string): Promise<boolean>
  /** Rejects with a RangeError, with a message for the caller, if the name or the text is not valid. */
  publish(channel: string, from: string, text: string): Promise<void>
  /** The newest posts, oldest first. With `wait`: the posts after `after`; if there are none yet, waits for the next one. */
  read(channel: string, most: number, wait?: WaitForPost): Promise<readonly Posted[]>
}

export interface WaitForPost {
  readonly after: number
  /** The turn that waits. */
  readonly lane: LaneKey
  readonly ms: number
  readonly signal: AbortSignal
}

// ---- what sub-agents need from a database: each operation is atomic, and on disk once it resolves ----

/** An item of a sub-agent's lane that is not finished. */
export interface OpenWork {
  readonly agent: string
  readonly item: number
  readonly key: string
  readonly event: NewEvent
  readonly state: 'waiting' | 'running'
}

/** The state of a sub-agent's work is read from the inbox itself, so that the two cannot disagree. */
export interface SubAgentStore {
  add(agent: Omit<SubAgent, 'state' | 'at' | 'endedAt' | 'progress'>, key: string): Promise<void>
  /** Records that its first assignment is in the inbox. */
  entered(id: string): Promise<void>
  remove(id: string): Promise<void>
  /** Those whose first assignment may not have reached the inbox. */
  notEntered(): readonly { readonly agent: SubAgent; readonly key: string }[]
  find(id: string): SubAgent | null
  withKey(key: string): SubAgent | null
  /** Those of a conversation; without one: all. Newest first. */
  list(root?: LaneKey): readonly SubAgent[]
  /** In order of arrival, over all sub-agents. */
  open(): readonly OpenWork[]
  /** Records that the work of this item is being stopped. */
  stopping(id: string, item: number): Promise<void>
  /** The state of the question with this key that reports to `lane`; null: it is not finished yet. */
  answerTo(
    key: string,
    lane: LaneKey,
  ): { readonly report: { readonly key: string; readonly ok: boolean; readonly text: string } | null } | null
  post(channel: string, from: string, text: string): Promise<void>
  /** The newest posts, or the first ones after `after`; oldest first. */
  posts(channel: string, most: number, after?: number): readonly Posted[]
  /** Deletes those from before `cutoff` whose work is no longer stored, and old posts. */
  forgetBefore(cutoff: number): Promise<void>
}
