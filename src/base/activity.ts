// What Mission Control shows: the activity list, the timeline of one event, usage and the overview.
import type { Usage } from './agent.ts'
import type { LaneKey } from './event.ts'
import type { Request } from './requests.ts'
import type { EventWork } from './work.ts'

export interface ActivityEntry {
  /** Increases, also across restarts. */
  readonly id: number
  readonly at: number
  /** The name of the signal. */
  readonly type: string
  readonly level: 'info' | 'warn'
  /** The event the entry is about; null if none. */
  readonly event: number | null
  readonly lane: LaneKey | null
  /** A plain sentence. Never contains what people wrote. */
  readonly text: string
}

export interface Activity {
  /** Newest first; with `before`, only older entries. The newest 200 come from memory, the rest (up to 2000) from the file. */
  list(before: number | null, most: number): Promise<readonly ActivityEntry[]>
  /** Entries after that id that are still in memory, oldest first. */
  after(id: number): readonly ActivityEntry[]
  /** Calls the listener for each new entry. Call the returned function to stop. */
  follow(listener: (entry: ActivityEntry) => void): () => void
}

/** One step of an event: `queued`, `began`, `first word`, `tool`, `ended`, `sent`, … */
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
  /** The prompt, and the answer in the chat; null while there is none. */
  readonly asked: string
  readonly answer: string | null
  readonly person: string | null
  readonly steps: readonly Step[]
  /** How many actions of its agent are kept, for `work`. */
  readonly actions: number
  /** The exact prompt that the agent got, for as long as it is stored. */
  readonly prompt: {
    readonly backend: string
    readonly model: string | null
    readonly text: string
    readonly system: string
  } | null
  readonly usage: Usage | null
}

export interface UsageDay {
  /** `2026-11-16`, in the owner's time zone. */
  readonly day: string
  /** The lane; `agent` for all sub-agents; null for the channels that are summed up because there are too many to list. */
  readonly channel: string | null
  readonly source: string
  readonly backend: string
  readonly turns: number
  readonly failed: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number | null
  /** How many of the turns produced text. */
  readonly spoke: number
  /** The mean over the turns that produced text; null if none did. */
  readonly firstWordMs: number | null
}

export interface UsageReport {
  readonly days: readonly UsageDay[]
  /** Names of channels where known: `#general of Our Server`. */
  readonly names: Readonly<Record<string, string>>
}

/** An event whose turn is running. */
export interface RunningEvent {
  readonly event: number
  readonly lane: LaneKey
  readonly kind: string
  /** Null: the turn is about to start. */
  readonly backend: string | null
  readonly since: number
  /** The beginning of the message. */
  readonly text: string
}

export interface WaitingEvent {
  readonly event: number
  readonly lane: LaneKey
  readonly kind: string
  readonly at: number
  /** The event starts no earlier than this; null: as soon as it is its turn, or when the lane is woken. */
  readonly notBefore: number | null
  readonly position: number
  readonly text: string
}

/** The part of the overview that changes every second. */
export interface Pulse {
  /** The same as /api/status. */
  readonly status: object
  readonly running: readonly RunningEvent[]
}

export interface Overview extends Pulse {
  readonly waiting: readonly WaitingEvent[]
  readonly today: {
    readonly turns: number
    readonly failed: number
    /** Null: none of these turns reported a cost. */
    readonly costUsd: number | null
    readonly inputTokens: number
    readonly outputTokens: number
  }
  /** Today's latest warnings, newest first. */
  readonly failures: readonly ActivityEntry[]
  readonly next: readonly { readonly job: string; readonly at: number }[]
}

/** Requests without what they ask, which only those who may answer see. */
export interface RequestNews {
  readonly open: number
  /** Null: nothing has changed; this is where it stands. */
  readonly changed: Pick<Request, 'id' | 'state' | 'event' | 'lane'> | null
}

/** What Mission Control needs from the gateway. */
export interface MissionControl {
  readonly activity: Activity
  /** Calls the listener with the name of each workspace file that changes. Call the returned function to stop. */
  followFiles(listener: (file: string) => void): () => void
  /** Calls the listener when something is asked, has waited for long, or was answered. */
  followRequests(listener: (news: RequestNews) => void): () => void
  /** Where it stands. */
  requestNews(): RequestNews
  pulse(): Pulse
  overview(): Promise<Overview>
  event(id: number): EventView | null
  /** What the agent did for an event. */
  work(event: number): EventWork
  /** The same for a message of WebChat. Null: it is not stored (any more). */
  workOf(conversation: string, message: string): EventWork | null
  /** Of the last days, including today. */
  usage(days: number): Promise<UsageReport>
}
