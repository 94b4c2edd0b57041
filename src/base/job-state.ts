// What is stored about a job across restarts, so that each due time is handled once.
import type { JobKind } from './jobs.ts'

export interface JobState {
  /** The schedule this state belongs to. With another schedule the state is reset. */
  readonly schedule: string
  /** When the job was first seen: earlier due times are ignored, and `every` counts from here. */
  readonly since: number
  /** The last due time that fired or was skipped. */
  readonly due: number | null
  /** When it last fired, by its schedule or by hand. */
  readonly fired: number | null
  /** What its pre-check found when it last fired. */
  readonly checked: string | null
}

export interface KnownJobState extends JobState {
  /** How far the state was ahead of the clock, because the clock was wrong when it was written; it is corrected. 0: it was not ahead. */
  readonly aheadMs: number
}

export interface JobStates {
  /** Returns the state of the job. A job that is new, or has another schedule, starts with the current time. On disk once it resolves. */
  know(kind: JobKind, name: string, schedule: string): Promise<KnownJobState>
  /** A due time never moves back, in whatever order the calls arrive. On disk once it resolves. */
  note(kind: JobKind, name: string, happened: Partial<Pick<JobState, 'due' | 'fired' | 'checked'>>): Promise<void>
  /** Keeps the state of these jobs and deletes all other state. */
  forgetOthers(jobs: readonly { readonly kind: JobKind; readonly name: string }[]): Promise<void>
}
