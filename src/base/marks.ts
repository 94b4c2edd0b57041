// What is remembered of a job across restarts, so that each due time is dealt with once.
import type { JobKind } from './jobs.ts'

export interface JobMark {
  /** The schedule it is known with. Another one begins anew. */
  readonly schedule: string
  /** Known since then: earlier due times are none of its, and `every` counts from here. */
  readonly since: number
  /** The last due time that fired or was skipped. */
  readonly due: number | null
  /** When it fired last, by its schedule or by hand. */
  readonly fired: number | null
  /** What its pre-check found when it fired last. */
  readonly checked: string | null
}

export interface JobMarks {
  /** What is known of it; a job that is new, or has another schedule, is known from now on. On disk once it resolves. */
  know(kind: JobKind, name: string, schedule: string): Promise<JobMark>
  /** A due time never goes back, whoever comes last. On disk once it resolves. */
  note(kind: JobKind, name: string, happened: Partial<Pick<JobMark, 'due' | 'fired' | 'checked'>>): Promise<void>
  /** Of these, and all that is known beside them is forgotten. */
  forgetOthers(jobs: readonly { readonly kind: JobKind; readonly name: string }[]): Promise<void>
}
