// The session in which a conversation continues: one for each backend that took part in it.
import type { Usage } from './agent.ts'
import type { LaneKey } from './event.ts'

export interface Session {
  readonly id: string
  /** The backend reported this id itself; until then it is only the id we asked for. */
  readonly confirmed: boolean
  /** The last event this session answered: it does not know what other backends answered since. */
  readonly through: number
  /** The usage of the session by then, if its backend counts per session; null: unknown. */
  readonly totals: Usage | null
  /** A prompt the session contains but has not answered; null: none known. */
  readonly received: ReceivedPrompt | null
}

export interface ReceivedPrompt {
  /** The newest event whose text it contains. */
  readonly event: number
  /** Of that text: an event may be edited before it is tried again. */
  readonly digest: string
}

export interface Sessions {
  find(lane: LaneKey, backend: string): Promise<Session | null>
  remember(lane: LaneKey, backend: string, session: string, confirmed: boolean): Promise<void>
  /** After a turn, without waiting for the disk: if it is lost, a later prompt repeats some messages. */
  advance(lane: LaneKey, backend: string, through: number, totals: Usage | null): void
  /** Records that the session contains this prompt. A kill does not undo it. */
  receive(lane: LaneKey, backend: string, received: ReceivedPrompt): void
  forget(lane: LaneKey, backend: string): Promise<void>
}

/** One session, as the owner sees it. */
export interface SessionView {
  readonly lane: LaneKey
  readonly backend: string
  readonly session: string
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
  /** Events of the lane that wait or run. */
  readonly unanswered: number
}

/** One page of sessions; `next` is the start of the next page, null on the last one. */
export interface SessionsPage {
  readonly sessions: readonly SessionView[]
  /** How many conversations have sessions in total. */
  readonly conversations: number
  readonly next: string | null
}

export type SessionsCleared =
  | { readonly ok: true; readonly lanes: readonly LaneKey[] }
  /** A plain sentence. Nothing was changed. */
  | { readonly ok: false; readonly why: string }

/** The owner's list of sessions, and resetting them. */
export interface SessionsAdmin {
  /** Most recently used first. `after`: the `next` of the page before. Null: `after` is not valid. */
  list(most: number, after?: string): Promise<SessionsPage | null>
  /**
   * Starts these conversations over, as `/new` does: `all`, those that are `stale`, or the one named by its lane or, if it is
   * unique, by the part of its lane after the colon.
   */
  clear(which: LaneKey | 'stale' | 'all'): Promise<SessionsCleared>
}

/** Days without use, with nothing waiting, after which a session is stale. */
export const staleDays = 30
