// The jobs that count right now: what the files say, together with what is remembered of each.
import type { Job } from '../base/jobs.ts'
import type { JobMark, JobMarks } from '../base/marks.ts'
import type { Clock } from '../base/time.ts'
import type { openScheduleFiles } from './schedule-files.ts'
import type { Troubles } from './troubles.ts'
import { laneOf } from './wake.ts'

/** One job while it has one schedule; with another it is another one. */
export interface Known {
  job: Job
  readonly zone: string
  readonly schedule: string
  mark: JobMark
  /** Before then there is nothing to do for it. */
  next: number
  /** A due time that was seen in time: tried again later, it is not a missed one. */
  inTime: number | null
  /** Its due time is being dealt with. */
  flight: Promise<void> | null
}

export interface Roster {
  readonly known: ReadonlyMap<string, Known>
  /** Reads the files and takes over what changed. One at a time. Never rejects. */
  look(): Promise<void>
  note(entry: Known, happened: Partial<Pick<JobMark, 'due' | 'fired' | 'checked'>>): Promise<void>
}

interface RosterParts {
  readonly files: ReturnType<typeof openScheduleFiles>
  readonly clock: Clock
  zone(): string
  readonly marks: JobMarks
  readonly troubles: Troubles
}

/** A file that is being written lacks jobs for a moment; what is known of them is kept that long. */
const forgetAfterMs = 60_000
/** Less is the clock being kept right. */
const putBackMs = 60_000

export function openRoster({ files, clock, zone, marks, troubles }: RosterParts): Roster {
  const known = new Map<string, Known>()
  let lookedAt = 0
  let changedAt = 0
  let forgotten = false

  const stored = async <T>(work: Promise<T>): Promise<T | null> => {
    try {
      const value = await work
      troubles.set('', 'marks', [])
      return value
    } catch {
      const why = 'what fell due cannot be stored; check free space and permissions of its folder'
      troubles.set('', 'marks', [{ file: 'the database', name: '', why }])
      return null
    }
  }

  const take = async (job: Job, afresh: boolean): Promise<void> => {
    const lane = laneOf(job)
    const inZone = job.zone ?? zone()
    // With the pause in it: a job that goes on begins anew and does not catch up.
    const schedule = JSON.stringify([job.when, inZone, job.paused ? 'paused' : 'on'])
    const was = known.get(lane)
    if (was?.schedule === schedule && !afresh) {
      was.job = job
      return
    }
    const mark = await stored(marks.know(job.kind, job.name, schedule))
    if (!mark) return
    troubles.clear(lane)
    const inTime = was?.schedule === schedule ? was.inTime : null
    known.set(lane, { job, zone: inZone, schedule, mark, next: 0, inTime, flight: null })
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
      for (const job of found.jobs) if (!jobs.has(laneOf(job))) jobs.set(laneOf(job), job)
      const now = clock.now()
      // Put back, and maybe far: whoever keeps the marks knows whether they can still be trusted.
      const afresh = now < lookedAt - putBackMs
      const gone = [...known.keys()].filter(lane => !jobs.has(lane))
      if (gone.length > 0 || lookedAt === 0 || afresh) {
        changedAt = now
        forgotten = false
      }
      lookedAt = now
      for (const lane of gone) drop(lane)
      await Promise.all([...jobs.values()].map(job => take(job, afresh)))
      inOrder(known, jobs.keys())
      troubles.set('', 'files', found.troubles)
      if (forgotten || !found.whole || now - changedAt < forgetAfterMs) return
      forgotten = (await stored(marks.forgetOthers([...jobs.values()]).then(() => true))) ?? false
    },
    async note(entry, happened) {
      // Here first: a disk that takes nothing must not make it due again.
      entry.mark = { ...entry.mark, ...happened }
      await stored(marks.note(entry.job.kind, entry.job.name, happened))
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
