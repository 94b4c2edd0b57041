// Jobs: what the agent does when time passes. Written in heartbeat.md and agents.md, where people and the agent edit them.
import type { Caller } from './tools.ts'

export type When =
  | { readonly type: 'every'; readonly seconds: number }
  /** Five fields, on the wall clock of the job's zone. */
  | { readonly type: 'cron'; readonly expression: string }
  /** One time, `2026-11-17 09:00` on the wall clock of the job's zone; then the job is taken out of its file. */
  | { readonly type: 'once'; readonly at: string }

/** Nothing is spent while this stays the same: the content of a file of the workspace or of an address, or what a command prints. */
export type Precheck =
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'command'; readonly command: string }

export type JobKind = 'heartbeat' | 'cron'

export interface Job {
  readonly kind: JobKind
  /** One of its kind; in one line. */
  readonly name: string
  readonly when: When
  readonly instruction: string
  /** Null: the gateway's own. */
  readonly zone: string | null
  /** Where the answer goes, as it is written: `discord:123`. Null: the default channel. */
  readonly channel: string | null
  /** `model` or `backend/model`. */
  readonly model: string | null
  /** What happens to runs that fell due while nobody was there. */
  readonly missed: 'skip' | 'once'
  readonly paused: boolean
  readonly skipIf: Precheck | null
}

/** Something in a schedule file that cannot be used; the rest of the file still counts. */
export interface JobTrouble {
  readonly file: string
  readonly name: string
  readonly why: string
}

export interface JobView extends Job {
  /** The schedule in words: `every 30 minutes`, `Mondays at 08:00`, else the cron expression. */
  readonly words: string
  /** The next three, in ms since the epoch; none while it is paused. */
  readonly next: readonly number[]
  /** When it fired last; null: never. */
  readonly last: number | null
  /** Where its answers go after all: `webchat:home`. Null: nowhere, since neither it nor the configuration names a place. */
  readonly answersTo: string | null
}

/** What to tell whoever adds or runs a job. */
export const answersGo = ({ answersTo }: Pick<JobView, 'answersTo'>): string =>
  answersTo === null
    ? 'Its answers go nowhere: name a channel with --channel or a line "Channel: webchat:home", or one for all jobs with OUTPUT_CHANNEL_ID.'
    : `Its answers go to ${answersTo}.`

export interface NewJob {
  readonly name: string
  /** As people say it: `every 30 minutes`, `every morning (9:00 AM)`, `every Monday at 8:00`, `in 20 minutes`, `tomorrow at 9:00`, `at 2026-11-17 09:00`, or a cron expression. */
  readonly schedule: string
  readonly instruction: string
  readonly zone?: string | null
  readonly channel?: string | null
  readonly model?: string | null
  readonly missed?: 'skip' | 'once'
  readonly skipIf?: string | null
}

export type JobChange =
  | { readonly ok: true; readonly job: JobView }
  /** In plain words, for whoever asked. Nothing was changed. */
  | { readonly ok: false; readonly why: string }

/** The jobs of the workspace. Every change is an edit of the markdown file; it counts at once. `by`: the turn that does it, if one does. */
export interface Jobs {
  list(): Promise<{ readonly jobs: readonly JobView[]; readonly troubles: readonly JobTrouble[] }>
  add(job: NewJob, by?: Caller): Promise<JobChange>
  pause(name: string, paused: boolean, by?: Caller): Promise<JobChange>
  remove(name: string, by?: Caller): Promise<JobChange>
  /** Now, whatever the schedule says; its next due time stays. */
  run(name: string): Promise<JobChange>
}
