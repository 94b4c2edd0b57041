// The session a conversation goes on in: one for each backend that took part in it.
import type { Usage } from './agent.ts'
import type { LaneKey } from './event.ts'

export interface Session {
  readonly id: string
  /** The backend itself has told this id; before, it is only what we asked for. */
  readonly confirmed: boolean
  /** The last event that this session has answered: it does not know what others answered since. */
  readonly through: number
  /** What it had used up by then, where its backend counts for the whole session; null: not known. */
  readonly totals: Usage | null
}

export interface Sessions {
  find(lane: LaneKey, backend: string): Promise<Session | null>
  remember(lane: LaneKey, backend: string, session: string, confirmed: boolean): Promise<void>
  /** After a turn, without waiting for the disk: lost, it costs a repetition in a prompt. */
  advance(lane: LaneKey, backend: string, through: number, totals: Usage | null): void
  forget(lane: LaneKey, backend: string): Promise<void>
}

/** One session, as its owner sees it. */
export interface SessionView {
  readonly lane: LaneKey
  readonly backend: string
  readonly session: string
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
  /** Events of the lane that wait or run. */
  readonly unanswered: number
}

export type SessionsCleared =
  | { readonly ok: true; readonly lanes: readonly LaneKey[] }
  /** In plain words. Nothing was changed. */
  | { readonly ok: false; readonly why: string }

/** Where the owner looks at sessions and ends them. */
export interface SessionsDesk {
  /** Those used last come first. */
  list(): Promise<readonly SessionView[]>
  /**
   * Begins these conversations anew, as `/new` does: `all`, those that are `stale`, or the one named by its lane or, where
   * only one has it, by what stands behind the colon of its lane.
   */
  clear(which: LaneKey | 'stale' | 'all'): Promise<SessionsCleared>
}

/** Not used for so long, and nothing waits. */
export const staleDays = 30
