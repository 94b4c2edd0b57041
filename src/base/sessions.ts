// The session a conversation goes on in.
import type { LaneKey } from './event.ts'

export interface Sessions {
  find(lane: LaneKey, backend: string): Promise<{ readonly id: string; readonly confirmed: boolean } | null>
  /** `confirmed` once the backend itself has told this id; before, it is only what we asked for. */
  remember(lane: LaneKey, backend: string, session: string, confirmed: boolean): Promise<void>
  forget(lane: LaneKey): Promise<void>
}
