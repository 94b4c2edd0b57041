// The lanes: strict order inside a lane, lanes side by side, every step on disk before it counts.
import type { LaneKey } from '../base/event.ts'
import type {
  Box,
  FollowUp,
  LaneDepth,
  Lanes,
  Outcome,
  Put,
  Shelf,
  ShelfRow,
  Taken,
  WaitingItem,
} from '../base/lanes.ts'
import type { Clock } from '../base/time.ts'
import { openAlarm } from './alarm.ts'
import { type Entry, type Lane, openMirror } from './mirror.ts'

export interface LaneRules<Item> {
  readonly box: Box
  /** How many lanes run side by side. */
  readonly atOnce: number
  /** More than this many waiting: refused. */
  readonly maxDepth: number
  /** What happens to a new lane while `atOnce` lanes are busy. */
  readonly busy: 'reject' | 'queue'
  /** Lanes in which nobody waits: they are never refused as busy, go last, and leave places free for the others. */
  background?(lane: LaneKey): boolean
  /** Take everything that waits in a lane together. */
  readonly collect: boolean
  /** Whether an attempt is on disk before it begins, also for a power cut: it is for what must not loop. */
  readonly taking: 'durably' | 'lightly'
  /** Taken this often without coming to an end: set aside. */
  readonly maxAttempts: number
  /** The visible end of an item that is set aside. */
  giveUp(item: Taken<Item>): Outcome
  /** The visible end of an item whose handler threw: a bug, but the lane goes on. */
  broke(item: Taken<Item>, error: unknown): Outcome
  /** The disk refuses an outcome; it is tried again until it takes it. */
  stuck(error: unknown): void
}

type Handle<Item> = (item: Taken<Item>, signal: AbortSignal) => Promise<Outcome>

const collectAtMost = 20

/** Recovers what an earlier process left, then waits for `work`. */
export async function openLanes<Item>(shelf: Shelf, clock: Clock, rules: LaneRules<Item>): Promise<Lanes<Item>> {
  const { box } = rules
  const mirror = openMirror(rules.background ?? (() => false))
  /** Two places stay free for the others, where there are that many. */
  const backgroundAtOnce = Math.max(1, rules.atOnce - 2)
  /** Nor may they take all the room there is: a storm of webhooks would turn away everybody who speaks. */
  const backgroundDepth = Math.ceil(rules.maxDepth * 0.8)
  let inBackground = 0
  let handle: Handle<Item> | null = null
  let only: LaneKey | null = null
  let running = 0
  let waitingCount = 0
  let arriving = 0
  let quietWaiters: { quiet(): boolean; resolve(): void }[] = []
  const timer = openAlarm(clock, at => pump(at))

  for (const row of await shelf.recover(box)) enter(row)
  shelf.watch(box, arrival => {
    enter(arrival)
    pump()
  })

  function enter(row: { id: number; lane: LaneKey; notBefore: number }): void {
    const lane = mirror.lane(row.lane)
    const { waiting } = lane
    waiting.push({ id: row.id, notBefore: row.notBefore })
    waitingCount++
    // Two puts of one lane may come back from the disk in either order; their ids tell which was first.
    for (let i = waiting.length - 1; i > 0; i--) {
      const [before, after] = [waiting[i - 1], waiting[i]]
      if (!before || !after || before.id < after.id) break
      waiting[i - 1] = after
      waiting[i] = before
    }
    mirror.changed(lane)
  }

  function leave(lane: Lane, entry: Entry): void {
    const at = lane.waiting.indexOf(entry)
    if (at < 0) return
    lane.waiting.splice(at, 1)
    waitingCount--
    mirror.changed(lane)
  }

  /** `slept`: the time an alarm was set for; what it was set for is due, whatever the wall clock says now. */
  function pump(slept = 0): void {
    const now = Math.max(clock.now(), slept)
    while (handle && running < rules.atOnce) {
      const lane = mirror.next(now, inBackground < backgroundAtOnce, only)
      if (!lane) break
      occupy(lane)
      void takeAndRun(lane, handle, now)
    }
    timer.set(handle ? mirror.nextDue(now) : Number.POSITIVE_INFINITY)
    if (quietWaiters.length === 0) return
    const ready = quietWaiters.filter(waiter => waiter.quiet())
    quietWaiters = quietWaiters.filter(waiter => !ready.includes(waiter))
    for (const waiter of ready) waiter.resolve()
  }

  function occupy(lane: Lane): void {
    lane.running = ''
    lane.woken = false
    running++
    if (lane.background) inBackground++
    mirror.changed(lane)
  }

  function free(lane: Lane): void {
    lane.running = null
    lane.abort = null
    running--
    if (lane.background) inBackground--
    mirror.changed(lane)
    pump()
  }

  async function takeAndRun(lane: Lane, run: Handle<Item>, now: number): Promise<void> {
    const due = lane.waiting.filter((entry, i) => i < (rules.collect ? collectAtMost : 1) && entry.notBefore <= now)
    let rows: readonly ShelfRow[]
    try {
      rows = await shelf.take(
        due.map(entry => entry.id),
        rules.taking,
      )
    } catch (error) {
      rules.stuck(error)
      await clock.sleep(1000, new AbortController().signal)
      return free(lane)
    }
    for (const entry of due) leave(lane, entry)
    if (rows.length > 0) await runRows(lane, rows, run)
    free(lane)
  }

  async function runRows(lane: Lane, rows: readonly ShelfRow[], run: Handle<Item>): Promise<void> {
    const newest = rows.at(-1)
    if (!newest) return
    const taken = toTaken(newest, rows.slice(0, -1))
    const abort = new AbortController()
    lane.running = taken.key
    lane.abort = abort
    let outcome: Outcome
    if (taken.attempt > rules.maxAttempts) outcome = rules.giveUp(taken)
    else {
      try {
        outcome = await run(taken, abort.signal)
      } catch (error) {
        outcome = rules.broke(taken, error)
      }
    }
    if (!(await settle(rows, outcome))) return
    if (outcome.type !== 'later' && outcome.type !== 'cut') return outcome.afterwards?.()
    const at = outcome.type === 'cut' || (lane.woken && outcome.at === Number.POSITIVE_INFINITY) ? 0 : outcome.at
    for (const row of rows) enter({ id: row.id, lane: lane.key, notBefore: at })
  }

  /** An end that is not on disk is none: tries until the disk takes it, or until we are told to stop working. */
  async function settle(rows: readonly ShelfRow[], outcome: Outcome): Promise<boolean> {
    for (let pause = 100; ; pause = Math.min(pause * 2, 30_000)) {
      try {
        await shelf.settle(
          rows.map(row => row.id),
          outcome,
        )
        return true
      } catch (error) {
        rules.stuck(error)
        if (!handle) return false
        await clock.sleep(pause, new AbortController().signal)
      }
    }
  }

  async function put(key: LaneKey, itemKey: string, item: Item): Promise<Put> {
    const now = clock.now()
    const lane = mirror.lane(key)
    const depth = waitingCount + arriving
    const isNew = lane.running === null && lane.waiting.length === 0 && lane.arriving === 0
    const why = refusal(lane, isNew, depth, now)
    const run = handle
    const start = why === null && isNew && run !== null && hasPlace(lane, now)
    const position = start
      ? 0
      : (lane.running === null ? 0 : 1) +
        lane.waiting.length +
        lane.arriving +
        (isNew ? waitingLanes(lane, now) + 1 : 0)
    if (start) occupy(lane)
    // Only what will wait takes room while it is written down: not what is refused, and not what begins at once.
    const room = why === null && !start ? 1 : 0
    lane.arriving += room
    arriving += room
    mirror.changed(lane)
    let stored: Awaited<ReturnType<Shelf['put']>> | null = null
    try {
      stored = await shelf.put(box, key, itemKey, JSON.stringify(item), why ? 'refuse' : start ? 'start' : 'wait')
    } finally {
      lane.arriving -= room
      arriving -= room
      if (stored?.type === 'stored' && !start) enter(stored.row)
      if (stored?.type !== 'stored' && start) free(lane)
      mirror.changed(lane)
    }
    if (stored.type === 'duplicate') return stored
    if (stored.type === 'refused') return { type: 'refused', why: why ?? 'full', depth }
    const { row } = stored
    // After this round of the loop, so that whoever put it hears "accepted" before anything of the answer.
    if (start) setImmediate(() => void runRows(lane, [row], run).then(() => free(lane)))
    else pump()
    return { type: 'accepted', id: row.id, position }
  }

  function hasPlace({ key, background }: Lane, now: number): boolean {
    if (running >= rules.atOnce || (only !== null && key !== only)) return false
    return !background || (inBackground < backgroundAtOnce && mirror.next(now, true, only) === null)
  }

  function refusal(lane: Lane, isNew: boolean, depth: number, now: number): 'busy' | 'full' | null {
    if (depth >= (lane.background ? backgroundDepth : rules.maxDepth)) return 'full'
    if (isNew && !lane.background && rules.busy === 'reject' && mirror.busyLanes(now) >= rules.atOnce) return 'busy'
    return null
  }

  /** How many lanes come before this one. */
  function waitingLanes({ background }: Lane, now: number): number {
    let n = 0
    for (const lane of mirror.awake()) {
      const isDue = lane.running === null && (lane.waiting[0]?.notBefore ?? now + 1) <= now
      if (isDue && (background || !lane.background)) n++
    }
    return n
  }

  async function change(key: string, item: Item | null, followUps?: readonly FollowUp[]): Promise<boolean> {
    const row = await shelf.change(box, key, item === null ? null : JSON.stringify(item), followUps)
    if (!row || item !== null) return row !== null
    const lane = mirror.find(row.lane)
    const entry = lane?.waiting.find(one => one.id === row.id)
    if (lane && entry) {
      leave(lane, entry)
      mirror.changed(lane)
      pump()
    }
    return true
  }

  async function waiting(key?: LaneKey): Promise<readonly WaitingItem<Item>[]> {
    const lanes = key === undefined ? [...mirror.all()] : [mirror.find(key)].filter(lane => lane !== undefined)
    const places = new Map<number, { position: number; notBefore: number }>()
    for (const lane of lanes)
      lane.waiting.forEach((entry, i) => {
        places.set(entry.id, { position: i + 1, notBefore: entry.notBefore })
      })
    const rows = await shelf.read([...places.keys()].sort((a, b) => a - b))
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
    waiting,

    async refuse(key, itemKey) {
      const put = await shelf.put(box, key, itemKey, '', 'refuse')
      return put.type === 'duplicate' ? put : null
    },

    knows: itemKey => shelf.knows(box, itemKey),

    file: async (key, itemKey, item, followUps) =>
      (await shelf.file(box, key, itemKey, JSON.stringify(item), followUps)) ? 'filed' : 'duplicate',

    async work(run, signal, lane) {
      if (signal.aborted) return
      handle = run
      only = lane ?? null
      pump()
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      handle = null
      timer.set(Number.POSITIVE_INFINITY)
      await when(() => running === 0)
    },

    async cancel(key) {
      const cancelled: string[] = []
      for (const item of await waiting(key)) if (await change(item.key, null)) cancelled.push(item.key)
      return cancelled
    },

    stop(key) {
      const abort = mirror.find(key)?.abort
      abort?.abort('stopped')
      return abort !== null && abort !== undefined
    },

    isBusy(key) {
      const lane = mirror.find(key)
      return lane !== undefined && (lane.running !== null || lane.arriving > 0 || lane.waiting.length > 0)
    },

    async wake(key) {
      const lane = mirror.find(key)
      if (!lane) return
      if (lane.running !== null) lane.woken = true
      for (const entry of lane.waiting) entry.notBefore = 0
      mirror.changed(lane)
      await when(() => {
        const now = mirror.find(key)
        return !now || (now.running === null && (now.waiting[0]?.notBefore ?? 1) > 0)
      })
    },

    depth: (): LaneDepth => mirror.depth(),

    running: () => [...mirror.awake()].flatMap(lane => (lane.running ? [{ lane: lane.key, key: lane.running }] : [])),

    drain: () =>
      when(
        () =>
          running === 0 &&
          arriving === 0 &&
          [...mirror.awake()].every(
            lane => (lane.waiting[0]?.notBefore ?? Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY,
          ),
      ),
  }

  function toTaken(row: ShelfRow, earlier: readonly ShelfRow[]): Taken<Item> {
    return {
      id: row.id,
      lane: row.lane,
      key: row.key,
      item: JSON.parse(row.body) as Item,
      at: row.at,
      attempt: Math.max(row.attempts, ...earlier.map(one => one.attempts)),
      retries: row.retries,
      interrupted: row.interrupted || earlier.some(one => one.interrupted),
      earlier: earlier.map(one => ({ id: one.id, key: one.key, item: JSON.parse(one.body) as Item })),
    }
  }
}
