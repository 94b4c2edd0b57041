// What the owner's window shows: fed by signals, asked over HTTP.
import { join } from 'node:path'
import type { Activity, ActivityEntry, MissionDesk, Overview, RunningEvent } from '../base/activity.ts'
import { askedOf, type NewEvent } from '../base/event.ts'
import type { Jobs } from '../base/jobs.ts'
import type { Lanes } from '../base/lanes.ts'
import type { Signal, Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { fromWallTime, wallTime } from '../base/zone.ts'
import { type Database, followFiles, openActivity, openTimeline, type UsageBook } from '../store/index.ts'
import { startOfDay } from './commands.ts'
import { logFolder } from './folder.ts'
import type { LiveConfig } from './live.ts'

export interface MissionParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly tell: Tell
  readonly inbox: Lanes<NewEvent>
  readonly usage: UsageBook
  readonly jobs: Jobs
  status(): object
}

const longestText = 120
/** A log can have many lines a second. */
const logNewsMs = 400
const failuresShown = 5
const jobsShown = 3
/** More than this is not looked at one by one. */
const waitingShown = 100

export function openMission({ live, db, clock, tell, inbox, usage, jobs, status }: MissionParts) {
  const timeline = openTimeline(db, clock)
  const activity = openActivity({
    path: join(live.current().configDir, 'activity-log.json'),
    now: clock.now,
    eventOf: timeline.eventOf,
    failed: error =>
      tell({
        type: 'workspace-trouble',
        file: 'activity-log.json',
        why: error instanceof Error ? error.message : String(error),
      }),
  })
  const turns = new Map<number, { readonly backend: string; readonly since: number }>()
  const zone = () => live.current().timezone

  const running = (): readonly RunningEvent[] =>
    timeline.running().map(({ id, lane, at, item }) => {
      const { backend = null, since = at } = turns.get(id) ?? {}
      return { event: id, lane, kind: item.what.kind, backend, since, text: excerpt(item) }
    })

  const waiting = async (): Promise<Overview['waiting']> =>
    (await inbox.waiting()).slice(0, waitingShown).map(({ id, lane, item, at, notBefore, position }) => ({
      ...{ event: id, lane, kind: item.what.kind, at, position, text: excerpt(item) },
      notBefore: notBefore > 0 && Number.isFinite(notBefore) ? notBefore : null,
    }))

  const next = async (): Promise<Overview['next']> =>
    (await jobs.list()).jobs
      .flatMap(({ name, next: [at] }) => (at === undefined ? [] : [{ job: name, at }]))
      .sort((a, b) => a.at - b.at)
      .slice(0, jobsShown)

  const latestWarnings = openLatest(activity, one => one.level === 'warn', failuresShown)
  const failuresSince = async (at: number): Promise<readonly ActivityEntry[]> =>
    (await latestWarnings()).filter(one => one.at >= at)

  const desk: MissionDesk = {
    activity,
    followFiles: listener =>
      followFiles(
        live.current().configDir,
        ['', 'skills/*', logFolder],
        atMostEvery(logNewsMs, `${logFolder}/`, listener),
      ),
    pulse: () => ({ status: status(), running: running() }),
    event: timeline.view,
    async overview() {
      const today = startOfDay(clock.now(), zone())
      const [waits, failures, soon] = await Promise.all([waiting(), failuresSince(today), next()])
      return { ...desk.pulse(), waiting: waits, today: inAll(usage.since(today)), failures, next: soon }
    },
    usage(days) {
      const wall = wallTime(clock.now(), zone())
      const since = fromWallTime({ ...wall, day: wall.day - days + 1, hour: 0, minute: 0 }, zone())
      return usage.byDay(since, at => dayOf(at, zone()))
    },
  }

  return {
    desk,
    listen(signal: Signal): void {
      if (signal.type === 'turn-began') turns.set(signal.id, { backend: signal.backend, since: clock.now() })
      else if (signal.type === 'turn-ended') turns.delete(signal.id)
      timeline.listen(signal)
      activity.listen(signal)
    },
    flush: activity.flush,
  }
}

/** The newest entries of a kind, the newest first. The file is read for them once: the page asks after everything that happens. */
function openLatest(activity: Activity, isWanted: (entry: ActivityEntry) => boolean, most: number) {
  let fresh: readonly ActivityEntry[] = []
  let read: Promise<readonly ActivityEntry[]> | null = null
  activity.follow(entry => {
    if (isWanted(entry)) fresh = oneOfEach([entry, ...fresh]).slice(0, most)
  })
  return async (): Promise<readonly ActivityEntry[]> => {
    read ??= activity.list(null, 2000).then(all => oneOfEach(all.filter(isWanted)).slice(0, most))
    return oneOfEach([...fresh, ...(await read)]).slice(0, most)
  }
}

/** Files below `prefix` are told as one, at once and then at most so often. */
function atMostEvery(ms: number, prefix: string, listener: (file: string) => void): (file: string) => void {
  let timer: NodeJS.Timeout | null = null
  let again = false
  const tell = () => {
    again = false
    listener(prefix)
    timer = setTimeout(() => {
      timer = null
      if (again) tell()
    }, ms).unref()
  }
  return file => {
    if (!file.startsWith(prefix)) listener(file)
    else if (timer) again = true
    else tell()
  }
}

/** Of each event the first, which is the newest: what was put off has failed the moment before. And nothing twice in the same words. */
function oneOfEach(entries: readonly ActivityEntry[]): readonly ActivityEntry[] {
  const found = new Map<number | string, ActivityEntry>()
  for (const one of entries) if (!found.has(one.event ?? one.text)) found.set(one.event ?? one.text, one)
  return [...found.values()]
}

function excerpt({ what }: NewEvent): string {
  const text = askedOf(what)
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text
}

function inAll(sums: ReturnType<UsageBook['since']>): Overview['today'] {
  const total = (of: 'turns' | 'failed' | 'inputTokens' | 'outputTokens') => sums.reduce((all, one) => all + one[of], 0)
  const costs = sums.flatMap(({ costUsd }) => costUsd ?? [])
  return {
    turns: total('turns'),
    failed: total('failed'),
    costUsd: costs.length === 0 ? null : costs.reduce((a, b) => a + b),
    inputTokens: total('inputTokens'),
    outputTokens: total('outputTokens'),
  }
}

function dayOf(at: number, zone: string): string {
  const { year, month, day } = wallTime(at, zone)
  return [year, month, day].map(n => String(n).padStart(2, '0')).join('-')
}
