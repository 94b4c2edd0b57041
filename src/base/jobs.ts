// Jobs: what the agent does at scheduled times. They are in heartbeat.md and agents.md, where people and the agent edit them.
import type { Caller } from './tools.ts'

export type When =
  | { readonly type: 'every'; readonly seconds: number }
  /** Five fields, in the job's time zone. */
  | { readonly type: 'cron'; readonly expression: string }
  /** Once, at `2026-11-17 09:00` in the job's time zone; then the job is removed from its file. */
  | { readonly type: 'once'; readonly at: string }

/** The job is skipped while this is unchanged: the content of a workspace file or URL, or the output of a command. */
export type Precheck =
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'command'; readonly command: string }

export type JobKind = 'heartbeat' | 'cron'

export interface Job {
  readonly kind: JobKind
  /** Unique within its kind; one line. */
  readonly name: string
  readonly when: When
  readonly instruction: string
  /** Null: the time zone of the gateway. */
  readonly zone: string | null
  /** Where the answer goes, as written: `discord:123`. Null: the default channel. */
  readonly channel: string | null
  /** `model` or `backend/model`. */
  readonly model: string | null
  /** What to do with runs that were due while the gateway was not running. */
  readonly missed: 'skip' | 'once'
  readonly paused: boolean
  readonly skipIf: Precheck | null
}

/** An entry of a schedule file that cannot be used; the rest of the file is still used. */
export interface JobTrouble {
  readonly file: string
  readonly name: string
  readonly why: string
}

export interface JobView extends Job {
  /** The schedule as text: `every 30 minutes`, `Mondays at 08:00`, or the cron expression. */
  readonly words: string
  /** The next three times, in ms since the epoch; none while the job is paused. */
  readonly next: readonly number[]
  /** When it last fired; null: never. */
  readonly last: number | null
  /** Where its answers actually go: `webchat:home`. Null: nowhere, since neither the job nor the configuration names a channel. */
  readonly answersTo: string | null
}

/** The sentence shown to whoever adds or runs a job. */
export const answersGo = ({ answersTo }: Pick<JobView, 'answersTo'>): string =>
  answersTo === null
    ? 'Its answers are not sent anywhere. Set a channel with --channel or a line "Channel: webchat:home", or one for all jobs with OUTPUT_CHANNEL_ID.'
    : `Its answers go to ${answersTo}.`

export interface NewJob {
  readonly name: string
  /**
   * In everyday words: `every 30 minutes`, `every morning (9:00 AM)`, `every Monday at 8:00`, `in 20 minutes`, `tomorrow at 9:00`, `at
   * 2026-11-17 09:00`, or a cron expression.
   */
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
  /** A plain sentence for whoever asked. Nothing was changed. */
  | { readonly ok: false; readonly why: string }

/**
 * The jobs of the workspace. Every change edits the markdown file and takes effect immediately. `by`: the turn that makes the change,
 * if any.
 */
export interface Jobs {
  list(): Promise<{ readonly jobs: readonly JobView[]; readonly troubles: readonly JobTrouble[] }>
  add(job: NewJob, by?: Caller): Promise<JobChange>
  pause(name: string, paused: boolean, by?: Caller): Promise<JobChange>
  remove(name: string, by?: Caller): Promise<JobChange>
  /** Runs the job now, regardless of its schedule; its next due time is unchanged. */
  run(name: string): Promise<JobChange>
}
