// The jobs of the workspace: stored in its files, fired when they fall due.
import { sameName } from '../base/entries.ts'
import { type EventSink, type EventSource, type LaneKey, type Place, placeName } from '../base/event.ts'
import type { JobStates } from '../base/job-state.ts'
import type { Job, JobChange, JobKind, Jobs, JobView, NewJob } from '../base/jobs.ts'
import { createSerial } from '../base/serial.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Caller } from '../base/tools.ts'
import { nextRuns } from './due.ts'
import { jobFrom, withJob, withoutJob, withPaused } from './edit.ts'
import { quoted, zoneOr } from './fields.ts'
import { createFiring, handled, put } from './fire.ts'
import { datedFrom } from './from-now.ts'
import type { PrecheckParts } from './precheck.ts'
import { createTroubles } from './problems.ts'
import { createRoster, eventOf, type Known, laneOf } from './roster.ts'
import { wordsFor } from './schedule.ts'
import { createScheduleFiles, type Edited, fileOf, openWatch, type ScheduleGuard } from './schedule-files.ts'

export interface JobsParts {
  /** The workspace. */
  readonly dir: string
  readonly clock: Clock
  /** The time zone of jobs that name none. */
  zone(): string
  readonly states: JobStates
  readonly emit: Emit
  /** Runs the command of a pre-check. */
  readonly run: PrecheckParts['run']
  readonly noCommands?: () => string | null
  /** Whether an event of the lane is waiting or running. */
  busy(lane: LaneKey): boolean
  /** Whether the jobs of heartbeat.md run, and whether their answers are sent. Both run as usual if missing. */
  heartbeats?(): { readonly enabled: boolean; readonly silent: boolean }
  /** Where the answer goes: for the channel that a job names, or for null if it names none. */
  placeOf(channel: string | null): Place | null
  /** Why nothing can be sent to this place; null: it can. Not checked if missing. */
  objection?(place: Place): Promise<string | null>
  readonly fileGuard?: ScheduleGuard
  /** Reports a bug to the log. */
  broke(error: unknown): void
  /** How often files and time are checked without a notification: a file watch can fail silently, and machines go to sleep. */
  readonly lookMs?: number
}

const defaultLookMs = 30_000
const afterBugMs = 60_000
const shown = 3

interface Edit {
  readonly kind: JobKind
  change(markdown: string): string
}

export function createJobs(parts: JobsParts): { readonly jobs: Jobs; readonly source: EventSource } {
  const { dir, clock, lookMs = defaultLookMs } = parts
  const files = createScheduleFiles(dir, parts.fileGuard)
  const troubles = createTroubles(parts.emit)
  const roster = createRoster({ ...parts, files, troubles })
  const placeFor = ({ kind, channel }: Pick<Job, 'kind' | 'channel'>) =>
    kind === 'heartbeat' && parts.heartbeats?.().silent ? null : parts.placeOf(channel)
  const areOff = ({ kind }: Pick<Job, 'kind'>) => kind === 'heartbeat' && parts.heartbeats?.().enabled === false
  const serially = createSerial()
  let sink: EventSink | null = null
  let nap = new AbortController()

  const look = async () => {
    await serially(roster.look)
    nap.abort()
  }

  /** `what` sees the current files; if it returns a text, that is the reason to change nothing. The change is in effect when this resolves. */
  const edit = (what: () => Edit | string, by: Caller | null = null): Promise<Edited> =>
    serially(async () => {
      await roster.look()
      const wanted = what()
      if (typeof wanted === 'string') return { ok: false, why: wanted }
      const edited = await files.edit(wanted.kind, by, wanted.change)
      await roster.look()
      nap.abort()
      return edited
    })

  const fireIfDue = createFiring({
    ...parts,
    placeFor,
    roster,
    troubles,
    precheck: parts,
    async finish(job) {
      const { kind, name } = job
      const edited = await edit(() => {
        // Somebody may have given it another time in the meantime.
        const same = JSON.stringify(roster.known.get(laneOf(job))?.job.when) === JSON.stringify(job.when)
        return { kind, change: markdown => (same ? withoutJob(markdown, kind, name) : markdown) }
      })
      if (edited.ok) return
      const why = `it is done, but cannot be removed: ${edited.why}`
      troubles.set(laneOf(job), 'passed', [{ file: fileOf[kind], name, why }])
    },
  })

  const start = (entry: Known, to: EventSink, signal: AbortSignal) => {
    entry.flight = fireIfDue(entry, to, signal)
      .catch(error => {
        entry.next = clock.now() + afterBugMs
        parts.broke(error)
      })
      .finally(() => {
        entry.flight = null
        nap.abort()
      })
    return entry.flight
  }

  async function run(to: EventSink, signal: AbortSignal): Promise<void> {
    const flights = new Set<Promise<void>>()
    let stale = true
    let lookedAt = 0
    let enabled = parts.heartbeats?.().enabled
    const wake = () => nap.abort()
    const watch = openWatch(dir, () => {
      stale = true
      wake()
    })
    signal.addEventListener('abort', wake)
    sink = to
    try {
      while (!signal.aborted) {
        // From here on no wake-up is lost: it ends the next sleep before it begins.
        nap = new AbortController()
        const now = clock.now()
        // Heartbeats were turned on or off: read the jobs again before firing.
        stale ||= enabled !== parts.heartbeats?.().enabled
        enabled = parts.heartbeats?.().enabled
        if (stale || now < lookedAt || now - lookedAt >= lookMs) {
          stale = false
          lookedAt = now
          watch.ensure()
          await serially(roster.look).catch(parts.broke)
        }
        for (const entry of due(roster.known.values(), clock.now())) {
          const flight = start(entry, to, signal)
          flights.add(flight)
          void flight.then(() => flights.delete(flight))
        }
        await clock.sleep(untilNext(roster.known.values(), clock.now(), lookMs), nap.signal)
      }
    } finally {
      sink = null
      signal.removeEventListener('abort', wake)
      watch.close()
      await Promise.all(flights)
    }
  }

  /** The result stays valid until the first of these times. The overview asks for it after every signal. */
  const nextOf = async (entry: Known): Promise<readonly number[]> => {
    const { job, zone, state, soon } = entry
    const from = Math.max(handled(state), clock.now())
    if (soon && soon.from <= from && from < (soon.runs[0] ?? Number.POSITIVE_INFINITY)) return soon.runs
    const runs = await nextRuns(job.when, zone, from, shown, state.since)
    entry.soon = { from, runs }
    return runs
  }

  const view = async (entry: Known): Promise<JobView> => {
    const { job, state } = entry
    const next = job.paused ? [] : await nextOf(entry)
    const place = placeFor(job)
    const answersTo = place && placeName(place)
    return { ...job, words: wordsFor(job.when), next, last: state.fired, answersTo }
  }

  /** By name, or by kind and name if both kinds have one. */
  const find = (name: string): Known | string => {
    const all = [...roster.known.values()]
    const found = all.filter(({ job }) => sameName(job.name, name) || sameName(laneOf(job), name))
    const [entry, another] = found
    if (!entry) return `There is no job called "${quoted(name)}".`
    if (another) return `There are two jobs of that name; use ${found.map(({ job }) => laneOf(job)).join(' or ')}.`
    return entry
  }

  const change = async (
    name: string,
    how: (markdown: string, job: Job) => string,
    by?: Caller,
  ): Promise<{ ok: true; before: Known } | { ok: false; why: string }> => {
    let before: Known | undefined
    const edited = await edit(() => {
      const entry = find(name)
      if (typeof entry === 'string') return entry
      before = entry
      return { kind: entry.job.kind, change: markdown => how(markdown, entry.job) }
    }, by)
    return edited.ok && before ? { ok: true, before } : { ok: false, why: edited.ok ? '' : edited.why }
  }

  const viewOf = async (job: Pick<Job, 'kind' | 'name'>): Promise<JobChange> => {
    const entry = roster.known.get(laneOf(job))
    if (entry) return { ok: true, job: await view(entry) }
    return unchangedIn(job)
  }

  const jobs: Jobs = {
    async list() {
      await look()
      return { jobs: await Promise.all([...roster.known.values()].map(view)), troubles: troubles.all() }
    },
    async add(wanted: NewJob, by?: Caller) {
      const now = clock.now()
      const zone = zoneOr(wanted.zone, parts.zone())
      const made = await jobFrom({ ...wanted, schedule: datedFrom(wanted.schedule, now, zone) })
      if (!made.ok) return made
      const { job } = made
      const why = job.skipIf?.type === 'command' ? parts.noCommands?.() : null
      if (typeof why === 'string') return { ok: false, why: `Skip-if-unchanged: ${why}` }
      const place = job.channel === null ? null : parts.placeOf(job.channel)
      const unreachable = place && (await parts.objection?.(place))
      if (unreachable) return { ok: false, why: unreachable }
      const [next] = await nextRuns(job.when, job.zone ?? parts.zone(), now, 1, now)
      if (next === undefined) return { ok: false, why: 'That time has passed or never occurs.' }
      const edited = await edit(() => {
        const taken = [...roster.known.values()].some(one => sameName(one.job.name, job.name))
        if (taken) return `There is a job called "${quoted(job.name)}" already; remove it first.`
        // The edit would overwrite the unusable entry.
        const broken = troubles.all().find(one => one.file === fileOf[job.kind] && sameName(one.name, job.name))
        if (broken) return `${broken.file} has "${quoted(job.name)}" already, which cannot be used: ${broken.why}`
        return { kind: job.kind, change: markdown => withJob(markdown, job) }
      }, by)
      return edited.ok ? viewOf(job) : edited
    },
    async pause(name, paused, by) {
      const changed = await change(name, (markdown, { kind, name: own }) => withPaused(markdown, kind, own, paused), by)
      if (!changed.ok) return changed
      const after = await viewOf(changed.before.job)
      if (!after.ok || after.job.paused === paused) return after
      return areOff(after.job)
        ? { ok: false, why: 'All heartbeats are off: heartbeat.enabled is false.' }
        : unchangedIn(after.job)
    },
    async remove(name, by) {
      const changed = await change(name, (markdown, { kind, name: own }) => withoutJob(markdown, kind, own), by)
      if (!changed.ok) return changed
      const { job } = changed.before
      if (roster.known.has(laneOf(job))) return unchangedIn(job)
      return { ok: true, job: { ...(await view(changed.before)), next: [] } }
    },
    async run(name) {
      await look()
      const entry = find(name)
      if (typeof entry === 'string') return { ok: false, why: entry }
      if (!sink) return { ok: false, why: 'The gateway is not ready; try again in a moment.' }
      const now = clock.now()
      const answer = await put(sink, eventOf(entry.job, `now-${now}`, placeFor(entry.job)))
      if (answer === null) return { ok: false, why: 'It could not be stored; check the free disk space.' }
      if (answer.type === 'refused') return { ok: false, why: answer.reason }
      await roster.note(entry, { fired: now })
      return { ok: true, job: await view(entry) }
    },
  }
  return { jobs, source: { name: 'clock', run } }
}

/** Something in the file keeps the change from being read back. */
const unchangedIn = ({ kind }: Pick<Job, 'kind'>): JobChange => ({
  ok: false,
  why: `${fileOf[kind]} cannot be read as expected after the change; check the file.`,
})

const due = (all: Iterable<Known>, now: number): readonly Known[] =>
  [...all].filter(({ job, flight, next }) => !job.paused && flight === null && next <= now)

function untilNext(all: Iterable<Known>, now: number, most: number): number {
  let least = most
  for (const { job, flight, next } of all) {
    if (!job.paused && flight === null) least = Math.min(least, Math.max(0, next - now))
  }
  return least
}
