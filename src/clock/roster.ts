// The jobs in effect: the entries of the files, together with their stored state.
import { counted } from '../base/counted.ts'
import type { LaneKey, NewEvent, Place } from '../base/event.ts'
import type { JobState, JobStates } from '../base/job-state.ts'
import type { Job } from '../base/jobs.ts'
import { parseModelOverride } from '../base/model-override.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Troubles } from './problems.ts'
import { type createScheduleFiles, fileOf } from './schedule-files.ts'

/** A job with one schedule. With another schedule it becomes another entry. */
export interface Known {
  job: Job
  readonly zone: string
  readonly schedule: string
  state: JobState
  /** There is nothing to do before this time. */
  next: number
  /** A due time that was noticed in time: when it is retried later, it does not count as missed. */
  inTime: number | null
  /** Set while its due time is being handled. */
  flight: Promise<void> | null
  /** The due times after `from`, cached. */
  soon: { readonly from: number; readonly runs: readonly number[] } | null
}

export interface Roster {
  readonly known: ReadonlyMap<string, Known>
  /** Reads the files and applies what changed. Not concurrently. Never rejects. */
  look(): Promise<void>
  note(entry: Known, happened: Partial<Pick<JobState, 'due' | 'fired' | 'checked'>>): Promise<void>
}

interface RosterParts {
  readonly files: ReturnType<typeof createScheduleFiles>
  readonly clock: Clock
  zone(): string
  readonly states: JobStates
  readonly troubles: Troubles
  readonly emit: Emit
  heartbeats?(): { readonly enabled: boolean }
}

/** A file that is being written lacks jobs for a moment; their state is kept for this long. */
const forgetAfterMs = 60_000
/** A smaller step back is normal clock correction. */
const putBackMs = 60_000

export function createRoster({ files, clock, zone, states, troubles, emit, heartbeats }: RosterParts): Roster {
  const known = new Map<string, Known>()
  let lookedAt = 0
  let changedAt = 0
  let forgotten = false
  let missed = false

  const reportMissing = (missing: readonly string[]) => {
    const file = fileOf.heartbeat
    const isMissing = missing.includes(file)
    if (isMissing && !missed) emit({ type: 'heartbeats-missing', file })
    missed = isMissing
  }

  const stored = async <T>(work: Promise<T>): Promise<T | null> => {
    try {
      const value = await work
      troubles.set('', 'states', [])
      return value
    } catch {
      const why = 'the state of jobs cannot be stored; check free space and permissions of its folder'
      troubles.set('', 'states', [{ file: 'the database', name: '', why }])
      return null
    }
  }

  /** Returns how far its stored state is ahead of the clock, in ms. */
  const take = async (job: Job, afresh: boolean): Promise<number> => {
    const lane = laneOf(job)
    const inZone = job.zone ?? zone()
    // Includes the pause: a resumed job starts over and does not catch up.
    const schedule = JSON.stringify([job.when, inZone, job.paused ? 'paused' : 'on'])
    const was = known.get(lane)
    if (was?.schedule === schedule && !afresh) {
      was.job = job
      return 0
    }
    const found = await stored(states.know(job.kind, job.name, schedule))
    if (!found) return 0
    const { aheadMs, ...state } = found
    troubles.clear(lane)
    const inTime = was?.schedule === schedule ? was.inTime : null
    known.set(lane, { job, zone: inZone, schedule, state, next: 0, inTime, flight: null, soon: null })
    return aheadMs
  }

  const reportWrongClock = (ahead: readonly number[]) => {
    const wrong = ahead.filter(ms => ms > 0)
    if (wrong.length === 0) return
    const minutes = Math.floor(Math.max(...wrong) / 60_000)
    const jobs = wrong.length === 1 ? '1 job continues' : `${wrong.length} jobs continue`
    const why = `was at least ${counted(minutes, 'minute')} ahead and was set back; ${jobs} by the time it shows now`
    emit({ type: 'workspace-trouble', file: 'the clock', why })
  }

  const drop = (lane: string) => {
    known.delete(lane)
    troubles.clear(lane)
  }

  return {
    known,
    async look() {
      const found = await files.read()
      const jobs = new Map<string, Job>()
      const isOff = heartbeats?.().enabled === false
      for (const job of found.jobs) {
        const paused = job.paused || (isOff && job.kind === 'heartbeat')
        if (!jobs.has(laneOf(job))) jobs.set(laneOf(job), { ...job, paused })
      }
      const now = clock.now()
      // The clock was set back, maybe far: the store decides whether the job states can still be trusted.
      const afresh = now < lookedAt - putBackMs
      const gone = [...known.keys()].filter(lane => !jobs.has(lane))
      if (gone.length > 0 || lookedAt === 0 || afresh) {
        changedAt = now
        forgotten = false
      }
      lookedAt = now
      for (const lane of gone) drop(lane)
      reportWrongClock(await Promise.all([...jobs.values()].map(job => take(job, afresh))))
      inOrder(known, jobs.keys())
      troubles.set('', 'files', found.troubles)
      reportMissing(found.missing)
      if (forgotten || !found.whole || now - changedAt < forgetAfterMs) return
      forgotten = (await stored(states.forgetOthers([...jobs.values()]).then(() => true))) ?? false
    },
    async note(entry, happened) {
      // In memory first: if the disk refuses the write, the job must not become due again.
      entry.state = { ...entry.state, ...happened }
      await stored(states.note(entry.job.kind, entry.job.name, happened))
    },
  }
}

function inOrder<T>(map: Map<string, T>, keys: Iterable<string>): void {
  for (const key of keys) {
    const value = map.get(key)
    if (value === undefined) continue
    map.delete(key)
    map.set(key, value)
  }
}

export const laneOf = ({ kind, name }: Pick<Job, 'kind' | 'name'>): LaneKey => `${kind}:${name}`

/** `moment` makes repeated calls one event: the due time, or `now-…` for a manual run. */
export function eventOf(job: Job, moment: string, replyTo: Place | null): NewEvent {
  const { kind, name, instruction } = job
  return {
    key: `${laneOf(job)}@${moment}`,
    lane: laneOf(job),
    what: { kind, name, instruction },
    replyTo,
    source: kind,
    ...(job.model !== null && { modelOverride: parseModelOverride(job.model) }),
  }
}
