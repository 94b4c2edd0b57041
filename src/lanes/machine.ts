// The lanes: strict order inside a lane, lanes in parallel, every step on disk before it takes effect.
import { aborted } from '../base/aborted.ts'
import type { LaneKey } from '../base/event.ts'
import type { FollowUp, LaneDepth, Lanes, Put, QueueRow, QueueStore, WaitingItem } from '../base/lanes.ts'
import type { Clock } from '../base/time.ts'
import { createAttempts, longestPauseMs, toTaken } from './attempts.ts'
import { createAlarm, createLaneIndex, createLending, createPlaces, type Entry, type Lane } from './lane-index.ts'
import type { Handle, LaneRules } from './rules.ts'

const collectAtMost = 20

/** Recovers the items that an earlier process left, then waits for `work`. */
export async function openLanes<Item>(
  queueStore: QueueStore,
  clock: Clock,
  rules: LaneRules<Item>,
): Promise<Lanes<Item>> {
  const { queue } = rules
  const laneIndex = createLaneIndex(rules.background ?? (() => false), rules.ahead !== undefined)
  let handle: Handle<Item> | null = null
  let only: LaneKey | null = null
  /** Aborts when `work` ends, so that nobody keeps waiting for the disk. */
  let over = AbortSignal.abort()
  let waitingCount = 0
  let arriving = 0
  let quietWaiters: { quiet(): boolean; resolve(): void }[] = []
  const places = createPlaces(rules, laneIndex)
  const timer = createAlarm(clock, at => pump(at))
  const lending = createLending({
    most: rules.atOnce,
    vacate(lane) {
      lane.lent = true
      places.leave(lane)
      pump()
    },
    takeBack(lane) {
      lane.lent = false
      places.take(lane)
    },
  })

  const attempt = createAttempts({ queueStore, clock, rules, isWorking: () => handle !== null, over: () => over })

  const patience = rules.patience ?? Number.POSITIVE_INFINITY
  const isAhead = (body: string) => rules.ahead?.(JSON.parse(body) as Item) ?? false

  for (const row of await queueStore.recover(queue)) enterRow(row)
  queueStore.watch(queue, arrival => {
    const { id, key, lane, notBefore, item } = arrival
    enter(lane, { id, key, notBefore, since: clock.now(), aside: false, ahead: rules.ahead?.(item as Item) ?? false })
    pump()
  })

  function enterRow({ id, key, lane, notBefore, retries, body }: QueueRow): void {
    enter(lane, { id, key, notBefore, since: clock.now(), aside: retries >= patience, ahead: isAhead(body) })
  }

  function enter(key: LaneKey, entry: Entry): void {
    laneIndex.enter(laneIndex.lane(key), entry)
    waitingCount++
  }

  function leave(lane: Lane, entry: Entry): void {
    const at = lane.waiting.indexOf(entry)
    if (at < 0) return
    lane.waiting.splice(at, 1)
    waitingCount--
    laneIndex.changed(lane)
  }

  /** `slept`: the time an alarm was set for. Items of that time are due even if the wall clock says otherwise. */
  function pump(slept = 0): void {
    const now = Math.max(clock.now(), slept)
    while (handle) {
      const lane = places.next(now, only)
      if (!lane) break
      occupy(lane)
      void takeAndRun(lane, handle, now)
    }
    timer.set(handle ? laneIndex.nextDue(now) : Number.POSITIVE_INFINITY)
    if (quietWaiters.length === 0) return
    const ready = quietWaiters.filter(waiter => waiter.quiet())
    quietWaiters = quietWaiters.filter(waiter => !ready.includes(waiter))
    for (const waiter of ready) waiter.resolve()
  }

  function occupy(lane: Lane): void {
    lane.running = ''
    lane.woken = false
    places.take(lane)
    laneIndex.changed(lane)
  }

  function free(lane: Lane): void {
    lane.running = null
    lane.abort = null
    lane.lent = false
    if (!lending.ended(lane)) places.leave(lane)
    laneIndex.changed(lane)
    pump()
  }

  const nothingRuns = () => places.taken() + lending.count() === 0

  async function takeAndRun(lane: Lane, run: Handle<Item>, now: number): Promise<void> {
    const first = laneIndex.choose(lane, now)
    const due = rules.collect
      ? lane.waiting.slice(0, collectAtMost).filter(entry => entry.notBefore <= now)
      : first
        ? [first]
        : []
    let rows: readonly QueueRow[]
    try {
      rows = await queueStore.take(
        due.map(entry => entry.id),
        rules.taking,
      )
    } catch (error) {
      await clock.sleep(rules.stuck(error) === 'never' ? longestPauseMs : 1000, over)
      return free(lane)
    }
    for (const entry of due) leave(lane, entry)
    if (rows.length > 0) await runRows(lane, rows, run)
    free(lane)
  }

  async function runRows(lane: Lane, rows: readonly QueueRow[], run: Handle<Item>): Promise<void> {
    const newest = rows.at(-1)
    if (!newest) return
    const taken = toTaken<Item>(newest, rows.slice(0, -1))
    const abort = new AbortController()
    lane.running = taken.key
    lane.abort = abort
    const outcome = await attempt(taken, rows, run, abort.signal)
    if (outcome === null) return
    if (outcome.type === 'done') lane.goingBefore = null
    if (outcome.type !== 'later' && outcome.type !== 'cut') return outcome.afterwards?.()
    const retried = outcome.type === 'later' && outcome.retry ? 1 : 0
    const at = outcome.type === 'cut' || (lane.woken && outcome.at === Number.POSITIVE_INFINITY) ? 0 : outcome.at
    for (const row of rows) enterRow({ ...row, notBefore: at, retries: row.retries + retried })
  }

  async function put(key: LaneKey, itemKey: string, item: Item): Promise<Put> {
    const now = clock.now()
    const lane = laneIndex.lane(key)
    const depth = waitingCount + arriving
    const isNew = lane.running === null && lane.waiting.length === 0 && lane.arriving === 0
    const why = rules.alwaysWaits?.(item) ? null : places.refusal(lane, isNew, depth, now)
    const run = handle
    const start = why === null && isNew && run !== null && places.hasPlace(lane, now, only)
    const position = start
      ? 0
      : (lane.running === null ? 0 : 1) +
        lane.waiting.length +
        lane.arriving +
        (isNew ? places.lanesBefore(lane, now) + 1 : 0)
    if (start) occupy(lane)
    // While it is written to disk, only an item that will wait takes up room, not one that is refused or starts immediately.
    const room = why === null && !start ? 1 : 0
    lane.arriving += room
    arriving += room
    laneIndex.changed(lane)
    let stored: Awaited<ReturnType<QueueStore['put']>> | null = null
    try {
      stored = await queueStore.put(
        queue,
        key,
        itemKey,
        JSON.stringify(item),
        why ? 'refuse' : start ? 'start' : 'wait',
      )
    } finally {
      lane.arriving -= room
      arriving -= room
      if (stored?.type === 'stored' && !start) enterRow(stored.row)
      if (stored?.type !== 'stored' && start) free(lane)
      laneIndex.changed(lane)
    }
    if (stored.type === 'duplicate') return stored
    if (stored.type === 'refused') return { type: 'refused', why: why ?? 'full', depth }
    const { row } = stored
    // In the next round of the event loop, so that the caller gets "accepted" before any part of the answer.
    if (start) setImmediate(() => void runRows(lane, [row], run).then(() => free(lane)))
    else pump()
    return { type: 'accepted', id: row.id, position }
  }

  async function change(key: string, item: Item | null, followUps?: readonly FollowUp[]): Promise<boolean> {
    const row = await queueStore.change(queue, key, item === null ? null : JSON.stringify(item), followUps)
    if (!row || item !== null) return row !== null
    const lane = laneIndex.find(row.lane)
    const entry = lane?.waiting.find(one => one.id === row.id)
    if (lane && entry) {
      leave(lane, entry)
      laneIndex.changed(lane)
      pump()
    }
    return true
  }

  async function handOver(
    key: LaneKey,
    itemKey: string,
    work: () => Promise<readonly FollowUp[] | null>,
  ): Promise<boolean> {
    const lane = laneIndex.find(key)
    const entry = lane?.waiting.find(one => one.key === itemKey)
    if (!lane || !entry || entry.notBefore === Number.POSITIVE_INFINITY) return false
    const { notBefore } = entry
    // Until it is decided, nothing behind it may go first.
    entry.notBefore = Number.POSITIVE_INFINITY
    let done = false
    try {
      const followUps = await work()
      const rows = followUps === null ? [] : await queueStore.take([entry.id], rules.taking)
      if (followUps !== null && rows.length > 0) {
        await queueStore.settle([entry.id], { type: 'done', followUps })
        done = true
      }
    } finally {
      entry.notBefore = notBefore
      if (done) leave(lane, entry)
      laneIndex.changed(lane)
      pump()
    }
    return done
  }

  async function waiting(key?: LaneKey): Promise<readonly WaitingItem<Item>[]> {
    const lanes = key === undefined ? [...laneIndex.all()] : [laneIndex.find(key)].filter(lane => lane !== undefined)
    const places = new Map<number, { position: number; notBefore: number }>()
    for (const lane of lanes)
      lane.waiting.forEach((entry, i) => {
        places.set(entry.id, { position: i + 1, notBefore: entry.notBefore })
      })
    const rows = await queueStore.read([...places.keys()].sort((a, b) => a - b))
    return rows.map(row => ({
      id: row.id,
      lane: row.lane,
      key: row.key,
      item: JSON.parse(row.body) as Item,
      at: row.at,
      interrupted: row.interrupted,
      ...(places.get(row.id) ?? { position: 1, notBefore: row.notBefore }),
    }))
  }

  const when = (quiet: () => boolean): Promise<void> =>
    new Promise(resolve => {
      quietWaiters.push({ quiet, resolve })
      pump()
    })

  return {
    put,
    change,
    handOver,
    waiting,

    async refuse(key, itemKey) {
      const put = await queueStore.put(queue, key, itemKey, '', 'refuse')
      return put.type === 'duplicate' ? put : null
    },

    knows: itemKey => queueStore.knows(queue, itemKey),

    file: async (key, itemKey, item, followUps) =>
      (await queueStore.file(queue, key, itemKey, JSON.stringify(item), followUps)) ? 'filed' : 'duplicate',

    async work(run, signal, lane) {
      if (signal.aborted) return
      handle = run
      over = signal
      only = lane ?? null
      pump()
      await aborted(signal)
      handle = null
      timer.set(Number.POSITIVE_INFINITY)
      await when(nothingRuns)
    },

    async cancel(key) {
      const cancelled: string[] = []
      for (const item of await waiting(key)) if (await change(item.key, null)) cancelled.push(item.key)
      return cancelled
    },

    stop(key) {
      const abort = laneIndex.find(key)?.abort
      abort?.abort('stopped')
      return abort !== null && abort !== undefined
    },

    isBusy(key) {
      const lane = laneIndex.find(key)
      return (
        lane !== undefined && (lane.running !== null || lane.arriving > 0 || lane.waiting.some(({ aside }) => !aside))
      )
    },

    lend: (key, work, on) => lending.lend(laneIndex.find(key), work, on),

    async wake(key) {
      const lane = laneIndex.find(key)
      if (!lane) return
      if (lane.running !== null) lane.woken = true
      for (const entry of lane.waiting) entry.notBefore = 0
      laneIndex.changed(lane)
      await when(() => {
        const now = laneIndex.find(key)
        return !now || (now.running === null && (now.waiting[0]?.notBefore ?? 1) > 0)
      })
    },

    positions: key => (laneIndex.find(key)?.waiting ?? []).map((entry, i) => ({ key: entry.key, position: i + 1 })),

    depth: (): LaneDepth => laneIndex.depth(),

    running: () =>
      [...laneIndex.awake()].flatMap(lane => (lane.running ? [{ lane: lane.key, key: lane.running }] : [])),

    drain: () =>
      when(
        () =>
          nothingRuns() &&
          arriving === 0 &&
          [...laneIndex.awake()].every(
            lane => (lane.waiting[0]?.notBefore ?? Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY,
          ),
      ),
  }
}
