// A backend process that stays up and takes one turn after the other.
import type { AgentEvent, Turn } from '../base/agent.ts'

/** One that is up. */
export interface Host {
  readonly pid: number | null
  /** One turn, as `Backend.run`; on an abort it is interrupted and the host stays usable. */
  run(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>
  /** Lets it leave; resolves when it is gone, with all that it started. */
  close(): Promise<void>
  /** Ends it without asking. */
  kill(): void
  /** Resolves when it is gone, for whatever reason. */
  readonly gone: Promise<unknown>
}
