// Signals: what happens in the gateway, as data. Log, metrics and activity listen; nothing depends on them.
import type { ActionPhase, FailureReason, Usage } from './agent.ts'
import type { LaneKey, Place } from './event.ts'
import type { Request } from './requests.ts'
import type { ToolResult, ToolUse } from './tool-use.ts'

export type Signal =
  | {
      readonly type: 'event-accepted'
      readonly id: number
      readonly source: string
      readonly lane: LaneKey
      readonly kind: string
    }
  | {
      readonly type: 'event-refused'
      readonly source: string
      readonly lane: LaneKey
      readonly why: string
      readonly depth: number
    }
  | { readonly type: 'command-answered'; readonly source: string; readonly lane: LaneKey }
  | { readonly type: 'event-set-aside'; readonly id: number; readonly lane: LaneKey; readonly attempts: number }
  | {
      readonly type: 'turn-began'
      readonly id: number
      readonly lane: LaneKey
      readonly backend: string
      readonly attempt: number
      readonly resumed: boolean
      readonly interrupted: boolean
    }
  /** The exact prompt the agent gets. Only for the timeline of the event; never logged. */
  | {
      readonly type: 'turn-asked'
      readonly id: number
      readonly lane: LaneKey
      readonly backend: string
      readonly model: string | null
      readonly prompt: string
      readonly system: string
    }
  /** The agent uses a tool. The label may repeat what people wrote, so it is never logged. */
  | {
      readonly type: 'turn-acted'
      readonly id: number
      readonly lane: LaneKey
      readonly label: string
      readonly phase: ActionPhase
      /** The same for all phases of one use. */
      readonly action: string
      readonly use?: ToolUse
      readonly result?: ToolResult
    }
  /** The next piece of the summary of its thoughts. Never logged. */
  | { readonly type: 'turn-thought'; readonly id: number; readonly lane: LaneKey; readonly summary: string }
  /** An agent waits for a person's answer. What it wants to do is never logged. */
  | { readonly type: 'request-opened'; readonly request: Request }
  /** It has waited for a while. */
  | { readonly type: 'request-reminder'; readonly request: Request }
  | { readonly type: 'request-settled'; readonly request: Request }
  | { readonly type: 'turn-spoke'; readonly id: number; readonly lane: LaneKey; readonly afterMs: number }
  | {
      readonly type: 'turn-ended'
      readonly id: number
      readonly lane: LaneKey
      readonly source: string
      readonly kind: string
      /** Who wrote; null: nobody. */
      readonly person: string | null
      readonly backend: string
      readonly model: string | null
      readonly ms: number
      readonly firstWordMs: number | null
      readonly ok: boolean
      readonly why: FailureReason | null
      readonly detail: string
      /** Of this turn only. */
      readonly usage: Usage | null
    }
  | {
      readonly type: 'turn-put-off'
      readonly id: number
      readonly lane: LaneKey
      readonly why: FailureReason
      readonly until: number
    }
  /** A problem that does not end the turn. */
  | {
      readonly type: 'turn-troubled'
      readonly id: number
      readonly lane: LaneKey
      readonly backend: string
      readonly why: string
    }
  /** A CLI could not be kept running; meanwhile each of its turns gets a new process. */
  | { readonly type: 'warm-trouble'; readonly backend: string; readonly why: string }
  /** Until then the other backends are tried first. */
  | { readonly type: 'backend-cooldown'; readonly backend: string; readonly why: FailureReason; readonly until: number }
  /** A fallback backend takes over, because this one cannot answer now. */
  | {
      readonly type: 'turn-moved'
      readonly id: number
      readonly lane: LaneKey
      readonly from: string
      readonly to: string
      readonly why: FailureReason
    }
  | { readonly type: 'session-lost'; readonly lane: LaneKey }
  | { readonly type: 'delivery-sent'; readonly id: number; readonly place: Place; readonly length: number }
  | {
      readonly type: 'delivery-refused'
      readonly id: number
      readonly place: Place
      readonly length: number
      readonly why: string
    }
  | {
      readonly type: 'delivery-delayed'
      readonly id: number
      readonly place: Place
      readonly length: number
      readonly why: string
    }
  | {
      readonly type: 'chat-ready'
      readonly chat: string
      /** The name of our bot. */
      readonly bot: string
      readonly guilds: number
      readonly resumed: boolean
      /** Which of several connections, such as `2 of 3`, with its guilds; null: there is only one. */
      readonly shard: string | null
    }
  /** Checks so many places for messages sent while the gateway was offline. */
  | { readonly type: 'chat-catching-up'; readonly chat: string; readonly places: number }
  | { readonly type: 'chat-caught-up'; readonly chat: string; readonly messages: number }
  | { readonly type: 'chat-lost'; readonly chat: string; readonly why: string }
  | { readonly type: 'chat-trouble'; readonly chat: string; readonly why: string }
  | { readonly type: 'draft-lost'; readonly place: Place; readonly why: string }
  | { readonly type: 'workspace-trouble'; readonly file: string; readonly why: string }
  /** heartbeat.md does not exist, so no heartbeats run until it does. */
  | { readonly type: 'heartbeats-missing'; readonly file: string }
  /** A due time of a job that creates no event. */
  | {
      readonly type: 'job-skipped'
      readonly kind: string
      readonly name: string
      readonly due: number
      readonly why: 'missed' | 'still-running' | 'unchanged' | 'over-budget'
    }

export type Emit = (signal: Signal) => void
