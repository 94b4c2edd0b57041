// The jobs of the workspace: kept in its files, fired when they fall due.
import { sameName } from '../base/entries.ts'
import type { EventSink, EventSource, LaneKey, Place } from '../base/event.ts'
import type { Job, JobChange, JobKind, Jobs, JobView, NewJob } from '../base/jobs.ts'
import type { JobMarks } from '../base/marks.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Caller } from '../base/tools.ts'
import { handled, openAttendance, put } from './attend.ts'
import { nextRuns } from './due.ts'
import { jobFrom, withJob, withoutJob, withPaused } from './edit.ts'
import { zoneOr } from './fields.ts'
import { datedFrom } from './from-now.ts'
import type { PrecheckParts } from './precheck.ts'
import { type Known, openRoster } from './roster.ts'
import { type Edited, fileOf, openScheduleFiles, openWatch, type ScheduleKeeper } from './schedule-files.ts'
import { quoted } from './seen.ts'
import { openTroubles } from './troubles.ts'
import { eventOf, laneOf } from './wake.ts'
import { wordsFor } from './words.ts'

export interface JobsParts {
  /** The workspace. */
  readonly dir: string
  readonly clock: Clock
  /** Of jobs that name none. */
  zone(): string
  readonly marks: JobMarks
  readonly tell: Tell
  /** Runs the command of a pre-check. */
  readonly run: PrecheckParts['run']
  readonly noCommands?: () => string | null
  /** Whether an event of the lane waits or runs. */
  busy(lane: LaneKey): boolean
  /** Where the answer goes, for what a job names or, with null, for one that names nothing. */
  placeOf(channel: string | null): Place | null
  /** Whether anything can be sent there; missing: nobody knows. */
  isReached?(place: Place): boolean
  readonly keeper?: ScheduleKeeper
  /** A bug, for the log. */
  broke(error: unknown): void
  /** How often files and time are looked at although nothing calls: a watch can go deaf, and a machine sleeps. */
  readonly lookMs?: number
}

const defaultLookMs = 30_000
const afterBugMs = 60_000
const shown = 3

interface Edit {
  readonly kind: JobKind
  change(markdown: string): string
}

export function openJobs(parts: JobsParts): { readonly jobs: Jobs; readonly source: EventSource } {
  const { dir, clock, lookMs = defaultLookMs } = parts
  const files = openScheduleFiles(dir, parts.keeper)
  const troubles = openTroubles(parts.tell)
  const roster = openRoster({ ...parts, files, troubles })
  const inTurn = oneAtATime()
  let sink: EventSink | null = null
  let nap = new AbortController()

  const look = async () => {
    await inTurn(roster.look)
    nap.abort()
  }

  /** `what` sees the files as they are; words from it leave them so. What changed counts once it resolves. */
  const edit = (what: () => Edit | string, by: Caller | null = null): Promise<Edited> =>
    inTurn(async () => {
      await roster.look()
      const wanted = what()
      if (typeof wanted === 'string') return { ok: false, why: wanted }
      const edited = await files.edit(wanted.kind, by, wanted.change)
      await roster.look()
      nap.abort()
      return edited
    })

  const attend = openAttendance({
    ...parts,
    roster,
    troubles,
    precheck: parts,
    async finish(job) {
      const { kind, name } = job
      const edited = await edit(() => {
        // Somebody may have given it another time meanwhile.
        const same = JSON.stringify(roster.known.get(laneOf(job))?.job.when) === JSON.stringify(job.when)
        return { kind, change: markdown => (same ? withoutJob(markdown, kind, name) : markdown) }
      })
      if (edited.ok) return
      const why = `it is done, but cannot be taken out: ${edited.why}`
      troubles.set(laneOf(job), 'passed', [{ file: fileOf[kind], name, why }])
    },
  })

  const start = (entry: Known, to: EventSink, signal: AbortSignal) => {
    entry.flight = attend(entry, to, signal)
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
    const wake = () => nap.abort()
    const watch = openWatch(dir, () => {
      stale = true
      wake()
    })
    signal.addEventListener('abort', wake)
    sink = to
    try {
      while (!signal.aborted) {
        // From here on a call is not missed: it ends the sleep before it begins.
        nap = new AbortController()
        const now = clock.now()
        if (stale || now < lookedAt || now - lookedAt >= lookMs) {
          stale = false
          lookedAt = now
          watch.ensure()
          await inTurn(roster.look).catch(parts.broke)
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

  const view = async ({ job, zone, mark }: Known): Promise<JobView> => {
    const from = Math.max(handled(mark), clock.now())
    const next = job.paused ? [] : await nextRuns(job.when, zone, from, shown, mark.since)
    const place = parts.placeOf(job.channel)
    const answersTo = place && `${place.chat}:${place.conversation}`
    return { ...job, words: wordsFor(job.when), next, last: mark.fired, answersTo }
  }

  /** By its name, or by its kind and name where both kinds have one. */
  const find = (name: string): Known | string => {
    const all = [...roster.known.values()]
    const found = all.filter(({ job }) => sameName(job.name, name) || sameName(laneOf(job), name))
    const [entry, another] = found
    if (!entry) return `There is no job called "${quoted(name)}".`
    if (another) return `There are two of that name; say ${found.map(({ job }) => laneOf(job)).join(' or ')}.`
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
      if (place && parts.isReached?.(place) === false)
        return { ok: false, why: `There is no chat "${quoted(place.chat)}" here. Write the channel like discord:123.` }
      const [next] = await nextRuns(job.when, job.zone ?? parts.zone(), now, 1, now)
      if (next === undefined) return { ok: false, why: 'That time has passed or never comes.' }
      const edited = await edit(() => {
        const taken = [...roster.known.values()].some(one => sameName(one.job.name, job.name))
        if (taken) return `There is a job called "${quoted(job.name)}" already; remove it first.`
        // It would be overwritten.
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
      return after.ok && after.job.paused !== paused ? unchangedIn(after.job) : after
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
      const answer = await put(sink, eventOf(entry.job, `now-${now}`, parts.placeOf(entry.job.channel)))
      if (answer === null) return { ok: false, why: 'It could not be stored; check the free space of the disk.' }
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
  why: `${fileOf[kind]} does not read as it should after the change; look at the file.`,
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

function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work, work)
    last = mine.catch(() => undefined)
    return mine
  }
}
