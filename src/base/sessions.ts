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
