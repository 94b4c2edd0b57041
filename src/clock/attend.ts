// Deals with one job whose time may have come: fires it, skips it, or leaves it for later.
import type { EventSink, LaneKey, NewEvent, Place, RefusalReason } from '../base/event.ts'
import type { Job } from '../base/jobs.ts'
import type { JobMark } from '../base/marks.ts'
import type { Signal, Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { dueBetween, nextRuns } from './due.ts'
import { type Checked, type PrecheckParts, unchanged } from './precheck.ts'
import type { Known, Roster } from './roster.ts'
import { fileOf } from './schedule-files.ts'
import type { Troubles } from './troubles.ts'
import { eventOf, laneOf } from './wake.ts'

interface AttendParts {
  readonly clock: Clock
  readonly roster: Roster
  readonly troubles: Troubles
  readonly tell: Tell
  readonly precheck: PrecheckParts
  placeOf(channel: string | null): Place | null
  /** Whether an earlier event of the lane still waits or runs. */
  busy(lane: LaneKey): boolean
  /** Takes a job whose one time has come out of its file. */
  finish(job: Job): Promise<void>
}

/** Seen later than this, a due time was missed. */
const lateMs = 60_000
const againMs = 60_000

/** These are no different a minute later. */
const inVain: ReadonlySet<RefusalReason> = new Set(['too-long', 'empty', 'stranger', 'cancelled'])

/** Resolves with `next` of the entry set. Rejects for a schedule that cannot be worked out. */
export function openAttendance(parts: AttendParts) {
  const { clock, roster, troubles } = parts

  const trouble = (job: Job, kind: string, why: string | null) =>
    troubles.set(laneOf(job), kind, why === null ? [] : [{ file: fileOf[job.kind], name: job.name, why }])

  const skip = async (entry: Known, due: number, why: Extract<Signal, { type: 'job-skipped' }>['why']) => {
    const { kind, name } = entry.job
    parts.tell({ type: 'job-skipped', kind, name, due, why })
    await roster.note(entry, { due })
  }

  const news = async ({ job, mark }: Known, signal: AbortSignal): Promise<Checked | null> => {
    if (!job.skipIf) return null
    const checked = await unchanged(job.skipIf, mark.checked, parts.precheck, signal)
    if (!signal.aborted) trouble(job, 'check', checked.type === 'unclear' ? checked.why : null)
    return checked
  }

  /** False: to be tried again. */
  const fire = async (entry: Known, due: number, checked: Checked | null, sink: EventSink): Promise<boolean> => {
    const { job } = entry
    const answer = await put(sink, eventOf(job, new Date(due).toISOString(), parts.placeOf(job.channel)))
    if (answer === null) return false
    // Left out, not put off: tomorrow has its own. What was new stays so, and what comes only once waits for its budget.
    if (answer.type === 'refused' && answer.why === 'over-budget' && job.when.type !== 'once') {
      await skip(entry, due, 'over-budget')
      return true
    }
    const vain = answer.type === 'refused' && inVain.has(answer.why)
    trouble(job, 'refused', vain ? answer.reason : null)
    if (answer.type === 'refused' && !vain) return false
    await roster.note(entry, {
      due,
      ...(!vain && { fired: answer.type === 'accepted' ? clock.now() : due }),
      ...(!vain && checked?.type === 'changed' && { checked: checked.fingerprint }),
    })
    return true
  }

  const deal = async (entry: Known, due: number, now: number, sink: EventSink, signal: AbortSignal) => {
    const lane = laneOf(entry.job)
    if (now - due >= lateMs && entry.inTime !== due && entry.job.missed === 'skip') {
      await skip(entry, due, 'missed')
      return true
    }
    entry.inTime = due
    // Not only for the turns it would pile up: after a kill it is this very due time that waits there.
    if (parts.busy(lane)) {
      await skip(entry, due, 'still-running')
      return finished(entry)
    }
    const checked = await news(entry, signal)
    // The check may have taken its time: a job that was changed, paused or removed meanwhile does not fire.
    if (signal.aborted || roster.known.get(lane) !== entry) return true
    if (checked?.type === 'unchanged') {
      await skip(entry, due, 'unchanged')
      return finished(entry)
    }
    return (await fire(entry, due, checked, sink)) && finished(entry)
  }

  const finished = async ({ job }: Known) => {
    if (job.when.type === 'once') await parts.finish(job)
    return true
  }

  return async function attend(entry: Known, sink: EventSink, signal: AbortSignal): Promise<void> {
    const { when } = entry.job
    const now = clock.now()
    const due = await dueBetween(when, entry.zone, handled(entry.mark), now, entry.mark.since)
    const again = due !== null && !(await deal(entry, due, now, sink, signal))
    const { mark, job } = entry
    const [next = Infinity] = await nextRuns(when, entry.zone, Math.max(handled(mark), now), 1, mark.since)
    entry.next = again ? Math.min(next, now + againMs) : next
    if (when.type !== 'once' || next !== Infinity || again || roster.known.get(laneOf(job)) !== entry) return
    const at = (await dueBetween(when, entry.zone, -Infinity, now, mark.since)) ?? Infinity
    // Accepted, and killed before it was taken out.
    if (mark.fired !== null && mark.fired >= at) await parts.finish(job)
    else trouble(job, 'passed', 'its time has passed; give it another one or remove it')
  }
}

/** Due times up to here are dealt with. */
export const handled = ({ since, due }: JobMark): number => Math.max(since, due ?? since)

/** Null: it could not be stored. */
export async function put(sink: EventSink, event: NewEvent) {
  try {
    return await sink(event)
  } catch {
    // Told by the sink; the due time stays and is put again.
    return null
  }
}
