// Handles a job that may be due: fires it, skips it, or retries later.
import type { EventSink, LaneKey, NewEvent, Place, RefusalReason } from '../base/event.ts'
import type { JobState } from '../base/job-state.ts'
import type { Job } from '../base/jobs.ts'
import type { Emit, Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { dueBetween, nextRuns } from './due.ts'
import { type Checked, type PrecheckParts, unchanged } from './precheck.ts'
import type { Troubles } from './problems.ts'
import { eventOf, type Known, laneOf, type Roster } from './roster.ts'
import { fileOf } from './schedule-files.ts'

interface FiringParts {
  readonly clock: Clock
  readonly roster: Roster
  readonly troubles: Troubles
  readonly emit: Emit
  readonly precheck: PrecheckParts
  placeFor(job: Job): Place | null
  /** Whether an earlier event of the lane is still waiting or running. */
  busy(lane: LaneKey): boolean
  /** Removes a one-time job from its file. */
  finish(job: Job): Promise<void>
}

/** A due time noticed later than this counts as missed. */
const lateMs = 60_000
const againMs = 60_000

/** Refusals for which a retry a minute later does not help. */
const permanent: ReadonlySet<RefusalReason> = new Set(['too-long', 'empty', 'stranger', 'cancelled'])

/** Resolves once `next` of the entry is set. Rejects if the schedule cannot be computed. */
export function createFiring(parts: FiringParts) {
  const { clock, roster, troubles } = parts

  const trouble = (job: Job, kind: string, why: string | null) =>
    troubles.set(laneOf(job), kind, why === null ? [] : [{ file: fileOf[job.kind], name: job.name, why }])

  const skip = async (entry: Known, due: number, why: Extract<Signal, { type: 'job-skipped' }>['why']) => {
    const { kind, name } = entry.job
    parts.emit({ type: 'job-skipped', kind, name, due, why })
    await roster.note(entry, { due })
  }

  const news = async ({ job, state }: Known, signal: AbortSignal): Promise<Checked | null> => {
    if (!job.skipIf) return null
    const checked = await unchanged(job.skipIf, state.checked, parts.precheck, signal)
    if (!signal.aborted) trouble(job, 'check', checked.type === 'unclear' ? checked.why : null)
    return checked
  }

  /** False if it must be retried. */
  const fire = async (entry: Known, due: number, checked: Checked | null, sink: EventSink): Promise<boolean> => {
    const { job } = entry
    const answer = await put(sink, eventOf(job, new Date(due).toISOString(), parts.placeFor(job)))
    if (answer === null) return false
    // Skipped, not deferred: tomorrow has its own run. Its fingerprint is not stored, so news stay news. A one-time job waits for the budget.
    if (answer.type === 'refused' && answer.why === 'over-budget' && job.when.type !== 'once') {
      await skip(entry, due, 'over-budget')
      return true
    }
    const isPermanent = answer.type === 'refused' && permanent.has(answer.why)
    trouble(job, 'refused', isPermanent ? answer.reason : null)
    if (answer.type === 'refused' && !isPermanent) return false
    await roster.note(entry, {
      due,
      ...(!isPermanent && { fired: answer.type === 'accepted' ? clock.now() : due }),
      ...(!isPermanent && checked?.type === 'changed' && { checked: checked.fingerprint }),
    })
    return true
  }

  const handle = async (entry: Known, due: number, now: number, sink: EventSink, signal: AbortSignal) => {
    const lane = laneOf(entry.job)
    if (now - due >= lateMs && entry.inTime !== due && entry.job.missed === 'skip') {
      await skip(entry, due, 'missed')
      return true
    }
    entry.inTime = due
    // Besides avoiding a pile of turns: after a kill, it is this very due time that waits in the queue.
    if (parts.busy(lane)) {
      await skip(entry, due, 'still-running')
      return finished(entry)
    }
    const checked = await news(entry, signal)
    // The check may have taken a while: a job changed, paused or removed in the meantime must not fire.
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

  return async function fireIfDue(entry: Known, sink: EventSink, signal: AbortSignal): Promise<void> {
    const { when } = entry.job
    const now = clock.now()
    const due = await dueBetween(when, entry.zone, handled(entry.state), now, entry.state.since)
    const again = due !== null && !(await handle(entry, due, now, sink, signal))
    const { state, job } = entry
    const [next = Infinity] = await nextRuns(when, entry.zone, Math.max(handled(state), now), 1, state.since)
    entry.next = again ? Math.min(next, now + againMs) : next
    if (when.type !== 'once' || next !== Infinity || again || roster.known.get(laneOf(job)) !== entry) return
    const at = (await dueBetween(when, entry.zone, -Infinity, now, state.since)) ?? Infinity
    // The event was accepted, but the gateway was killed before the job was removed.
    if (state.fired !== null && state.fired >= at) await parts.finish(job)
    else trouble(job, 'passed', 'its time has passed; give it another one or remove it')
  }
}

/** Due times up to this moment have been handled. */
export const handled = ({ since, due }: JobState): number => Math.max(since, due ?? since)

/** Null if the event could not be stored. */
export async function put(sink: EventSink, event: NewEvent) {
  try {
    return await sink(event)
  } catch {
    // The sink has reported it; the due time stays and is tried again.
    return null
  }
}
