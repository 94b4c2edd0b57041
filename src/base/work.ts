// The work of an event: what its agent did, kept with the event and shown under the answer.
import type { RequestState } from './requests.ts'
import type { ToolResult, ToolUse } from './tool-use.ts'

/** Texts are as people see them: without secrets, with invisible characters made visible. */
export type WorkItem =
  | {
      readonly kind: 'action'
      readonly at: number
      /** Null: it is still running, or the turn ended before it did. */
      readonly endedAt: number | null
      readonly ok: boolean | null
      readonly label: string
      /** Null: the backend does not report it, or the event has too much work to keep all of it. */
      readonly use: ToolUse | null
      readonly result: ToolResult | null
      /** How people answered the request for it; null: it was not asked for. */
      readonly asked: { readonly state: RequestState; readonly by: string | null } | null
    }
  /** A summary of what the agent thought. */
  | { readonly kind: 'thought'; readonly at: number; readonly text: string }
  /** What came after this is not kept. */
  | { readonly kind: 'cut'; readonly at: number }

export interface EventWork {
  readonly event: number
  readonly items: readonly WorkItem[]
}
