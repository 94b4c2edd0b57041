// Sub-agents: lanes of their own that an agent, or its owner, starts for one piece of work.
import type { Behalf, LaneKey, NewEvent, Place } from './event.ts'

export const subAgentLimits = {
  /** A sub-agent of a sub-agent may not start any. */
  depth: 2,
  /** Waiting, at work or waited for at a time, over all conversations. */
  running: 5,
} as const

const prefix = 'agent:'

export const agentLane = (id: string): LaneKey => `${prefix}${id}`

/** The sub-agent whose lane it is; null: it is a conversation. */
export const agentOf = (lane: LaneKey): string | null => (lane.startsWith(prefix) ? lane.slice(prefix.length) : null)

/** The event that reports the end of item `item`. */
export const reportKey = (id: string, item: number): string => `${agentLane(id)}#report-${item}`

export interface SubAgent {
  readonly id: string
  readonly name: string
  readonly instruction: string
  /** The lane that gets its report, and where people see it. */
  readonly parent: LaneKey
  readonly place: Place | null
  /** The conversation that all of it began in. */
  readonly root: LaneKey
  /** 1: started by a conversation; 2: by a sub-agent of one. */
  readonly depth: number
  readonly behalf: Behalf
  /** `model` or `backend/model`; null: as `models.subagent` says. */
  readonly model: string | null
  readonly state: 'waiting' | 'working' | 'done' | 'failed' | 'stopped'
  readonly at: number
  readonly endedAt: number | null
  /** What it does right now, or its last words. */
  readonly progress: string
}

export interface NewSubAgent {
  readonly name: string | null
  readonly instruction: string
  readonly model: string | null
}

export interface Posted {
  readonly at: number
  /** The sub-agent's id, or `agent` for a conversation. */
  readonly from: string
  readonly text: string
}

export type SpawnResult = { readonly ok: true; readonly agent: SubAgent } | { readonly ok: false; readonly why: string }

/** Who starts one. */
export interface Parent {
  readonly lane: LaneKey
  readonly place: Place | null
  readonly behalf: Behalf
  /** The sub-agent that does, if it is one. */
  readonly agent: string | null
}

export interface SubAgents {
  /** Resolves once it is on disk. `key` makes a repeat harmless. */
  spawn(wanted: NewSubAgent, parent: Parent, key: string): Promise<SpawnResult>
  /** A further question to one that is there; it answers by a report. Resolves with words for whoever asked. */
  ask(id: string, question: string, parent: Parent, key: string): Promise<SpawnResult>
  /** Of a lane and below it; without: all. The newest first, 200 at most. */
  list(lane?: LaneKey): Promise<readonly SubAgent[]>
  find(id: string): Promise<SubAgent | null>
  /** Also what it started itself. False: it does not work any more. */
  stop(id: string): Promise<boolean>
  /** Rejects with a RangeError, in words for whoever publishes, when the name or the text will not do. */
  publish(channel: string, from: string, text: string): Promise<void>
  /** The newest, oldest first. */
  read(channel: string, most: number): Promise<readonly Posted[]>
}

// ---- what is asked of a database: each is atomic, and on disk once it resolves ----

/** Something that an agent's lane still has to deal with. */
export interface OpenWork {
  readonly agent: string
  readonly item: number
  readonly key: string
  readonly event: NewEvent
  readonly state: 'waiting' | 'running'
}

/** What becomes of the work of a sub-agent is read from the inbox itself, so that the two cannot disagree. */
export interface SubAgentBook {
  add(agent: Omit<SubAgent, 'state' | 'at' | 'endedAt' | 'progress'>, key: string): Promise<void>
  /** Its first assignment is in the inbox. */
  entered(id: string): Promise<void>
  remove(id: string): Promise<void>
  /** Those whose first assignment may not have reached the inbox. */
  notEntered(): readonly { readonly agent: SubAgent; readonly key: string }[]
  find(id: string): SubAgent | null
  withKey(key: string): SubAgent | null
  /** Of a conversation; without: all. The newest first. */
  list(root?: LaneKey): readonly SubAgent[]
  /** In order of arrival, over all sub-agents. */
  open(): readonly OpenWork[]
  /** What runs under this item is being stopped. */
  stopping(id: string, item: number): Promise<void>
  post(channel: string, from: string, text: string): Promise<void>
  /** The newest, oldest first. */
  posts(channel: string, most: number): readonly Posted[]
  /** Those from before `cutoff` of whose work nothing is kept any more, and old posts. */
  forgetBefore(cutoff: number): Promise<void>
}
