// The gateway's status, for `aetheel status`, /api/status and /metrics; and the data of Mission Control.

import type {
  Activity,
  ActivityEntry,
  EventView,
  MissionControl,
  Overview,
  RequestNews,
  RunningEvent,
  UsageReport,
} from '../base/activity.ts'
import type { FailureReason } from '../base/agent.ts'
import type { BudgetView } from '../base/budget.ts'
import { type LaneKey, type NewEvent, textOf } from '../base/event.ts'
import type { Jobs } from '../base/jobs.ts'
import type { Lanes, QueueCounts } from '../base/lanes.ts'
import type { WallView } from '../base/profile.ts'
import type { Signal } from '../base/signal.ts'
import type { EventWork } from '../base/work.ts'
import { fromWallTime, startOfDay, wallTime } from '../base/zone.ts'

export interface StatusParts {
  readonly version: string
  readonly backend: string
  readonly startedAt: number
  /** Chats with a remote server, which may be unreachable. */
  readonly chats: readonly string[]
  ready(): boolean
  now(): number
  counts(queue: 'in' | 'out'): QueueCounts
  delayed(): number
  budget(): BudgetView | null
  /** How many requests wait for somebody's answer. */
  openRequests(): number
  readonly database: { trouble(): { readonly why: string } | null }
  /** What the owner should know about this start. */
  readonly notes: readonly string[]
  /** Which wall stands for whom; empty until it is known. */
  walls(): readonly WallView[]
  resting(): readonly { readonly backend: string; readonly why: FailureReason; readonly until: number }[]
}

const noCounts: QueueCounts = { received: 0, waiting: 0, running: 0, answered: 0, refused: 0, failed: 0 }

export type GatewayStatus = ReturnType<ReturnType<typeof createStatus>['status']>

export function createStatus(parts: StatusParts) {
  const unreached = new Set(parts.chats)
  const counts = { in: noCounts, out: noCounts }
  const countsOf = (queue: 'in' | 'out'): QueueCounts => {
    try {
      counts[queue] = parts.counts(queue)
    } catch {
      // The database is damaged, which `trouble` reports; the last counts are used.
    }
    return counts[queue]
  }
  const budget = () => {
    try {
      return parts.budget()
    } catch {
      return null // as above
    }
  }
  const openRequests = () => {
    try {
      return parts.openRequests()
    } catch {
      return 0 // as above
    }
  }
  const turns = { count: 0, ms: 0, firstWords: 0, firstWordMs: 0 }

  const trouble = () => parts.database.trouble()?.why ?? null

  const status = () => {
    const deliveries = countsOf('out')
    return {
      ready: parts.ready(),
      pid: process.pid,
      version: parts.version,
      backend: parts.backend,
      uptimeMs: parts.now() - parts.startedAt,
      rssBytes: process.memoryUsage.rss(),
      /** received = answered + waiting + running + refused + failed; events cancelled before they began count as refused. */
      events: countsOf('in'),
      budget: budget(),
      /** Waiting for somebody's answer. */
      requests: { open: openRequests() },
      /** Why nothing is accepted at the moment. Null if all is well. */
      trouble: trouble(),
      notes: parts.notes,
      /** Chats that are disconnected at the moment. */
      unreached: [...unreached],
      /** Backends in cooldown: until then the others are asked first. */
      resting: parts.resting(),
      /** Which wall stands for whom. */
      walls: parts.walls(),
      /** `delayed` counts those waiting ones that have failed before and are retried. */
      deliveries: {
        ...{ sent: deliveries.answered, failed: deliveries.failed, waiting: deliveries.waiting + deliveries.running },
        delayed: parts.delayed(),
      },
    }
  }

  return {
    status,
    trouble,
    listen(signal: Signal): void {
      if (signal.type === 'chat-ready') unreached.delete(signal.chat)
      else if (signal.type === 'chat-lost') unreached.add(signal.chat)
      else if (signal.type === 'turn-ended') {
        turns.count++
        turns.ms += signal.ms
      } else if (signal.type === 'turn-spoke') {
        turns.firstWords++
        turns.firstWordMs += signal.afterMs
      }
    },
    metrics(): string {
      const now = status()
      const { waiting, running, received, answered, refused, failed } = now.events
      const { delayed, ...deliveries } = now.deliveries
      return [
        ...metric(
          'aetheel_events_total',
          'counter',
          'Events by how they ended.',
          { received, answered, refused, failed },
          'outcome',
        ),
        ...metric('aetheel_events', 'gauge', 'Events that have not ended.', { waiting, running }, 'state'),
        ...metric('aetheel_requests_open', 'gauge', 'Requests that wait for an answer.', now.requests.open),
        ...metric('aetheel_deliveries', 'gauge', 'Deliveries in the outbox.', deliveries, 'state'),
        ...metric('aetheel_deliveries_delayed', 'gauge', 'Deliveries that failed before and are retried.', delayed),
        ...metric('aetheel_turns_total', 'counter', 'Turns that ended since the start.', turns.count),
        ...metric('aetheel_turn_seconds_total', 'counter', 'Time spent in turns since the start.', turns.ms / 1000),
        ...metric(
          'aetheel_first_word_seconds_total',
          'counter',
          'Time to the first word, summed.',
          turns.firstWordMs / 1000,
        ),
        ...metric('aetheel_first_words_total', 'counter', 'Turns that spoke.', turns.firstWords),
        ...(parts.chats.length === 0
          ? []
          : metric(
              'aetheel_chat_connected',
              'gauge',
              'Whether each chat is connected.',
              Object.fromEntries(parts.chats.map(name => [name, unreached.has(name) ? 0 : 1])),
              'chat',
            )),
        ...metric('aetheel_resident_memory_bytes', 'gauge', 'Memory of the gateway.', now.rssBytes),
        ...metric('aetheel_uptime_seconds', 'gauge', 'Time since the start.', now.uptimeMs / 1000),
        '',
      ].join('\n')
    },
  }
}

function metric(
  name: string,
  type: string,
  help: string,
  value: number | Readonly<Record<string, number>>,
  label = '',
): string[] {
  const lines =
    typeof value === 'number'
      ? [`${name} ${value}`]
      : Object.entries(value).map(([key, n]) => `${name}{${label}="${key}"} ${n}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}

// The data of Mission Control: fed by signals, read over HTTP.

export interface OverviewParts {
  readonly activity: Activity
  readonly timeline: {
    running(): readonly { readonly id: number; readonly lane: LaneKey; readonly at: number; readonly item: NewEvent }[]
    view(id: number): EventView | null
  }
  readonly work: {
    of(event: number): EventWork
    ofKey(key: string): EventWork | null
  }
  readonly inbox: Pick<Lanes<NewEvent>, 'waiting'>
  readonly jobs: Pick<Jobs, 'list'>
  readonly usage: {
    since(at: number): readonly Overview['today'][]
    byDay(since: number, dayOf: (at: number) => string): Promise<UsageReport>
  }
  /** Calls the listener with each workspace file that changes. Log files begin with `logPrefix`. */
  followFiles(listener: (file: string) => void): () => void
  readonly logPrefix: string
  /** False if the running events cannot be read now. */
  isReadable(): boolean
  openRequests(): number
  status(): object
  zone(): string
  now(): number
}

const longestText = 120
/** A log can have many lines per second. */
const logNewsMs = 400
const failuresShown = 5
const jobsShown = 3
/** Further waiting events are not listed. */
const waitingShown = 100

export function createOverview(parts: OverviewParts) {
  const { activity, timeline, inbox, jobs, usage, status, zone, now } = parts
  const turns = new Map<number, { readonly backend: string; readonly since: number }>()

  const requestFollowers = new Set<(news: RequestNews) => void>()
  const newsOf = (changed: RequestNews['changed']): RequestNews => ({
    open: parts.isReadable() ? parts.openRequests() : 0,
    changed,
  })

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

  const latestWarnings = createLatest(activity, one => one.level === 'warn', failuresShown)
  const failuresSince = async (at: number): Promise<readonly ActivityEntry[]> =>
    (await latestWarnings()).filter(one => one.at >= at)

  const admin: MissionControl = {
    activity,
    followFiles: listener => parts.followFiles(atMostEvery(logNewsMs, parts.logPrefix, listener)),
    followRequests(listener) {
      requestFollowers.add(listener)
      return () => void requestFollowers.delete(listener)
    },
    requestNews: () => newsOf(null),
    pulse: () => ({ status: status(), running: parts.isReadable() ? running() : [] }),
    event: timeline.view,
    work: parts.work.of,
    // An answer to no message of a person has the key of its event as its id.
    workOf: (conversation, message) =>
      parts.work.ofKey(`webchat:${conversation}:${message}`) ?? parts.work.ofKey(message),
    async overview() {
      const today = startOfDay(now(), zone())
      const [waits, failures, soon] = await Promise.all([waiting(), failuresSince(today), next()])
      return { ...admin.pulse(), waiting: waits, today: inAll(usage.since(today)), failures, next: soon }
    },
    usage(days) {
      const wall = wallTime(now(), zone())
      const since = fromWallTime({ ...wall, day: wall.day - days + 1, hour: 0, minute: 0 }, zone())
      return usage.byDay(since, at => dayOf(at, zone()))
    },
  }

  return {
    admin,
    listen(signal: Signal): void {
      if (signal.type === 'turn-began') turns.set(signal.id, { backend: signal.backend, since: now() })
      else if (signal.type === 'turn-ended') turns.delete(signal.id)
      else if ('request' in signal && requestFollowers.size > 0) {
        const { id, state, event, lane } = signal.request
        const news = newsOf({ id, state, event, lane })
        for (const follower of requestFollowers) follower(news)
      }
    },
  }
}

/** The newest matching entries, newest first. Reads the file only once, since the page asks after every signal. */
function createLatest(activity: Activity, isWanted: (entry: ActivityEntry) => boolean, most: number) {
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

/** Changes below `prefix` are reported as one: immediately, and then at most once per `ms`. */
function atMostEvery(ms: number, prefix: string, listener: (file: string) => void): (file: string) => void {
  let timer: NodeJS.Timeout | null = null
  let again = false
  const emit = () => {
    again = false
    listener(prefix)
    timer = setTimeout(() => {
      timer = null
      if (again) emit()
    }, ms).unref()
  }
  return file => {
    if (!file.startsWith(prefix)) listener(file)
    else if (timer) again = true
    else emit()
  }
}

/** The first, which is the newest, entry of each event: a deferred event has failed just before. Entries without an event are unique by text. */
function oneOfEach(entries: readonly ActivityEntry[]): readonly ActivityEntry[] {
  const found = new Map<number | string, ActivityEntry>()
  for (const one of entries) if (!found.has(one.event ?? one.text)) found.set(one.event ?? one.text, one)
  return [...found.values()]
}

function excerpt({ what }: NewEvent): string {
  const text = textOf(what)
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text
}

function inAll(sums: ReturnType<OverviewParts['usage']['since']>): Overview['today'] {
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
