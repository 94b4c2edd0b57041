// Sub-agents: lanes of their own that an agent, or its owner, starts for one piece of work.
import type { Behalf, LaneKey, Place } from './event.ts'

export interface SubAgent {
  readonly id: string
  readonly name: string
  readonly instruction: string
  /** The lane that gets its report, and where people see it. */
  readonly parent: LaneKey
  readonly place: Place | null
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
  /** Of a lane and below it; without: all. The newest first. */
  list(lane?: LaneKey): Promise<readonly SubAgent[]>
  find(id: string): Promise<SubAgent | null>
  /** Also what it started itself. False: it does not work any more. */
  stop(id: string): Promise<boolean>
  publish(channel: string, from: string, text: string): Promise<void>
  /** The newest, oldest first. */
  read(channel: string, most: number): Promise<readonly Posted[]>
}
