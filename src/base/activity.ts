// What happened, for the owner's window: a running list, and one event opened as a timeline.
import type { Usage } from './agent.ts'
import type { LaneKey } from './event.ts'

export interface ActivityEntry {
  /** Grows, also over restarts. */
  readonly id: number
  readonly at: number
  /** The name of the signal. */
  readonly type: string
  readonly level: 'info' | 'warn'
  /** The event it is about; null: none. */
  readonly event: number | null
  readonly lane: LaneKey | null
  /** In words, without what people said. */
  readonly text: string
}

export interface Activity {
  /** The newest first; before that id, if one is given. From memory as far as that goes (200), then from the file (2000). */
  list(before: number | null, most: number): Promise<readonly ActivityEntry[]>
  /** Those after that id which are still in memory, oldest first. */
  after(id: number): readonly ActivityEntry[]
  /** Told of each new one. What it returns ends that. */
  follow(listener: (entry: ActivityEntry) => void): () => void
}

/** One moment in the life of an event: `queued`, `began`, `first word`, `tool`, `ended`, `sent`, … */
export interface Step {
  readonly at: number
  readonly what: string
  readonly detail: string
}

export interface EventView {
  readonly id: number
  readonly lane: LaneKey
  readonly kind: string
  readonly source: string
  readonly state: 'waiting' | 'running' | 'answered' | 'failed' | 'refused'
  readonly at: number
  readonly endedAt: number | null
  readonly attempts: number
  /** What was asked, and what was answered in the chat; null: nothing (yet). */
  readonly asked: string
  readonly answer: string | null
  readonly person: string | null
  readonly steps: readonly Step[]
  /** The exact words that the agent was given, as long as they are kept. */
  readonly prompt: {
    readonly backend: string
    readonly model: string | null
    readonly text: string
    readonly system: string
  } | null
  readonly usage: Usage | null
}

export interface UsageDay {
  /** `2026-11-16`, on the owner's wall. */
  readonly day: string
  /** The lane, and `agent` for all sub-agents; null: one of those that are too many to be told apart. */
  readonly channel: string | null
  readonly source: string
  readonly backend: string
  readonly turns: number
  readonly failed: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number | null
  /** How many of the turns said something. */
  readonly spoke: number
  /** The mean of those that spoke; null: none did. */
  readonly firstWordMs: number | null
}

export interface UsageReport {
  readonly days: readonly UsageDay[]
  /** What people call a channel, for those where that is known: `#general of Our Server`. */
  readonly names: Readonly<Record<string, string>>
}

/** What runs now. */
export interface RunningEvent {
  readonly event: number
  readonly lane: LaneKey
  readonly kind: string
  /** Null: it is about to begin. */
  readonly backend: string | null
  readonly since: number
  /** What was asked, its beginning. */
  readonly text: string
}

export interface WaitingEvent {
  readonly event: number
  readonly lane: LaneKey
  readonly kind: string
  readonly at: number
  /** Not before that time; null: as soon as its turn comes, or somebody asks for it. */
  readonly notBefore: number | null
  readonly position: number
  readonly text: string
}

/** What changes from second to second. */
export interface Pulse {
  /** As /api/status has it. */
  readonly status: object
  readonly running: readonly RunningEvent[]
}

export interface Overview extends Pulse {
  readonly waiting: readonly WaitingEvent[]
  readonly today: {
    readonly turns: number
    readonly failed: number
    /** Null: none of these turns told what it cost. */
    readonly costUsd: number | null
    readonly inputTokens: number
    readonly outputTokens: number
  }
  /** The latest warnings of the day, the newest first. */
  readonly failures: readonly ActivityEntry[]
  readonly next: readonly { readonly job: string; readonly at: number }[]
}

/** What the owner's window asks for. */
export interface MissionDesk {
  readonly activity: Activity
  /** Told of each file of the workspace that changes, by its name in it. What it returns ends that. */
  followFiles(listener: (file: string) => void): () => void
  pulse(): Pulse
  overview(): Promise<Overview>
  event(id: number): EventView | null
  /** Of the last days, today among them. */
  usage(days: number): Promise<UsageReport>
}
