// An in-memory index of what waits and runs, and the places lanes run in. It decides which lane is next without reading the database.
import type { LaneKey } from '../base/event.ts'
import type { LaneDepth } from '../base/lanes.ts'
import type { Clock } from '../base/time.ts'
import type { LaneRules } from './rules.ts'

export interface Entry {
  readonly id: number
  readonly key: string
  notBefore: number
  /** When it started to wait here. */
  since: number
  /** It was deferred so often that the items behind it need not wait for it. */
  readonly aside: boolean
  /** It need not wait for deferred items before it. */
  readonly ahead: boolean
}

export interface Choice {
  readonly now: number
  /** Whether a background lane may run. */
  readonly background: boolean
  /** A background lane whose first item has been due for this long goes before the others; Infinity: none does. */
  readonly patienceMs: number
  /** Only this lane; null: any lane. */
  readonly only: LaneKey | null
}

export interface Lane {
  readonly key: LaneKey
  /** Nobody waits for its answers, so it goes after all other lanes. */
  readonly background: boolean
  /** In order of arrival. */
  readonly waiting: Entry[]
  /** The key of the running item; '' while it is being taken; null: the lane is free. */
  running: string | null
  /** Number of puts that are being written to disk. */
  arriving: number
  /** Set when `wake` was called while an item ran, so that the item is retried at once instead of waiting for the next `wake`. */
  woken: boolean
  /** The due item that goes next, while a deferred item before it is tried once more; null: none. */
  goingBefore: number | null
  abort: AbortController | null
  /** The running item is only waiting and has lent its place to others. */
  lent: boolean
}

export interface LaneIndex {
  lane(key: LaneKey): Lane
  find(key: LaneKey): Lane | undefined
  all(): Iterable<Lane>
  awake(): Iterable<Lane>
  /** Call after each change of a lane. Drops the lane when it is empty, and skips it while it only sleeps. */
  changed(lane: Lane): void
  /** Inserts the entry in order of arrival. */
  enter(lane: Lane, entry: Entry): void
  /**
   * The entry of a lane to take now; null: none yet. Before an entry overtakes a deferred one, the deferred one is tried once more.
   * So the original order is restored after an outage.
   */
  choose(lane: Lane, now: number): Entry | null
  /** The free lane whose due entry is the oldest. A background lane only if one may run, and if no other is due or it has waited too long. */
  next(choice: Choice): Lane | null
  /** When the next deferred entry is due; Infinity: none is deferred. */
  nextDue(now: number): number
  /** How many lanes run or could run, without background lanes. Each takes, or will take, a place. */
  busyLanes(now: number): number
  depth(): LaneDepth
}

/** `overtaking`: whether there are entries that go ahead of deferred ones. */
export function createLaneIndex(isBackground: (key: LaneKey) => boolean, overtaking = false): LaneIndex {
  const lanes = new Map<LaneKey, Lane>()
  /** Lanes that may run. A lane that sleeps until `wake` costs nothing. */
  const awake = new Set<Lane>()

  /** Entries that are not held back by an earlier one, up to the first that is due. Usually only the head. */
  function* free({ waiting }: Lane, now: number): Generator<Entry> {
    let held = false
    for (const entry of waiting) {
      if (held && !entry.ahead) continue
      yield entry
      if (entry.notBefore <= now) return
      if (entry.aside) continue
      // An entry that sleeps until `wake` holds back everything: there is nobody to deliver to.
      if (!overtaking || entry.notBefore === Number.POSITIVE_INFINITY) return
      held = true
    }
  }

  const due = (lane: Lane, now: number): Entry | null => {
    for (const entry of free(lane, now)) if (entry.notBefore <= now) return entry
    return null
  }

  function changed(lane: Lane): void {
    const head = lane.waiting[0]
    const busy = lane.running !== null || lane.arriving > 0
    if (busy || (head && head.notBefore < Number.POSITIVE_INFINITY)) awake.add(lane)
    else awake.delete(lane)
    // A dropped lane that is still referenced must not delete the new lane with the same key.
    if (!busy && !head && lanes.get(lane.key) === lane) lanes.delete(lane.key)
  }

  return {
    changed,
    choose(lane, now) {
      const found = due(lane, now)
      const [head] = lane.waiting
      const early = found && !found.ahead && head?.aside && head !== found && lane.goingBefore !== found.id
      lane.goingBefore = early ? found.id : null
      return early ? head : found
    },
    enter(lane, entry) {
      const { waiting } = lane
      waiting.push(entry)
      // Two puts in one lane may return from the disk in either order. Their ids show which was first.
      for (let i = waiting.length - 1; i > 0; i--) {
        const [before, after] = [waiting[i - 1], waiting[i]]
        if (!before || !after || before.id < after.id) break
        waiting[i - 1] = after
        waiting[i] = before
      }
      changed(lane)
    },
    lane(key) {
      const known = lanes.get(key)
      if (known) return known
      const background = isBackground(key)
      const lane: Lane = {
        key,
        background,
        waiting: [],
        running: null,
        arriving: 0,
        woken: false,
        goingBefore: null,
        abort: null,
        lent: false,
      }
      lanes.set(key, lane)
      return lane
    },
    find: key => lanes.get(key),
    all: () => lanes.values(),
    awake: () => awake,
    next({ now, background, patienceMs, only }) {
      let person: Found | null = null
      let job: Found | null = null
      for (const lane of awake) {
        if (lane.running !== null || (lane.background && !background) || (only !== null && lane.key !== only)) continue
        const first = due(lane, now)
        if (!first) continue
        if (lane.background) job = older(job, { lane, first })
        else person = older(person, { lane, first })
      }
      return (job && (!person || waited(job.first, now) >= patienceMs) ? job : person)?.lane ?? null
    },
    nextDue(now) {
      let next = Number.POSITIVE_INFINITY
      for (const lane of awake) {
        if (lane.running !== null) continue
        for (const { notBefore } of free(lane, now)) if (notBefore > now) next = Math.min(next, notBefore)
      }
      return next
    },
    busyLanes(now) {
      let busy = 0
      for (const lane of awake)
        if (!lane.background && !lane.lent && (lane.running !== null || lane.arriving > 0 || due(lane, now))) busy++
      return busy
    },
    depth() {
      let waiting = 0
      let running = 0
      for (const lane of lanes.values()) {
        waiting += lane.waiting.length
        if (lane.running !== null) running++
      }
      return { waiting, running, lanes: lanes.size }
    },
  }
}

interface Found {
  readonly lane: Lane
  readonly first: Entry
}

const older = (one: Found | null, other: Found): Found => (one && one.first.id < other.first.id ? one : other)

/** How long it has been due. If the clock was set back, it is counted from then on. */
function waited(entry: Entry, now: number): number {
  entry.since = Math.min(entry.since, now)
  return now - Math.max(entry.since, entry.notBefore)
}

// The places in which lanes run: how many there are, which lane gets the next one, and when a new item is refused.

/** How long background lanes wait behind people. After that one goes first, but never two in a row. */
const patienceMs = 10 * 60_000

type PlaceRules = Pick<LaneRules<never>, 'atOnce' | 'maxDepth' | 'busy'>

export function createPlaces({ atOnce, maxDepth, busy }: PlaceRules, laneIndex: LaneIndex) {
  /** Two places stay free for the other lanes, if there are that many. */
  const backgroundAtOnce = Math.max(1, atOnce - 2)
  /** Background lanes may not fill the whole queue: otherwise a flood of webhooks would get people's messages refused. */
  const backgroundDepth = Math.ceil(maxDepth * 0.8)
  let running = 0
  let inBackground = 0
  /** The last lane to run was a background lane. */
  let tookBackground = false

  const find = (now: number, only: LaneKey | null): Lane | null => {
    const background = inBackground < backgroundAtOnce
    return laneIndex.next({ now, background, patienceMs: tookBackground ? Number.POSITIVE_INFINITY : patienceMs, only })
  }

  return {
    /** The lane to run next, if there is a place for it. */
    next(now: number, only: LaneKey | null): Lane | null {
      const lane = running < atOnce ? find(now, only) : null
      if (lane) tookBackground = lane.background
      return lane
    },
    take({ background }: Lane): void {
      running++
      if (background) inBackground++
    },
    leave({ background }: Lane): void {
      running--
      if (background) inBackground--
    },
    taken: () => running,
    /** Whether a new item in this lane may start immediately. */
    hasPlace({ key, background }: Lane, now: number, only: LaneKey | null): boolean {
      if (running >= atOnce || (only !== null && key !== only)) return false
      return !background || (inBackground < backgroundAtOnce && find(now, only) === null)
    },
    refusal(lane: Lane, isNew: boolean, depth: number, now: number): 'busy' | 'full' | null {
      if (depth >= (lane.background ? backgroundDepth : maxDepth)) return 'full'
      if (isNew && !lane.background && busy === 'reject' && laneIndex.busyLanes(now) >= atOnce) return 'busy'
      return null
    },
    /** How many lanes come before this one. */
    lanesBefore({ background }: Lane, now: number): number {
      let n = 0
      for (const lane of laneIndex.awake()) {
        const isDue = lane.running === null && (lane.waiting[0]?.notBefore ?? now + 1) <= now
        if (isDue && (background || !lane.background)) n++
      }
      return n
    },
  }
}

// A running item that only waits for something lends its place to others, and takes it back as soon as it continues.

export interface Lending {
  /** Null: too many have lent their place already, and `work` was not started. */
  lend<T>(lane: Lane | undefined, work: () => Promise<T>, on?: 'agent' | 'person'): Promise<T | null>
  /** How many run without a place. */
  count(): number
  /** The item in the lane has ended. True: its place was lent, so there is none to free. */
  ended(lane: Lane): boolean
}

interface Places {
  /** A limit on those that wait for other agents, because each of them is still a process. */
  readonly most: number
  vacate(lane: Lane): void
  /** Takes the place back even if none is free: an item that already holds a process must not wait. */
  takeBack(lane: Lane): void
}

export function createLending({ most, vacate, takeBack }: Places): Lending {
  /** An agent may wait for several things at once. */
  const waits = new Map<Lane, { count: number; readonly on: 'agent' | 'person' }>()
  const waitOnAgents = () => [...waits.values()].filter(({ on }) => on === 'agent').length
  return {
    async lend(lane, work, on = 'agent') {
      if (!lane?.abort) return work()
      const mine = waits.get(lane) ?? { count: 0, on }
      if (mine.count === 0) {
        if (on === 'agent' && waitOnAgents() >= most) return null
        waits.set(lane, mine)
        vacate(lane)
      }
      mine.count++
      try {
        return await work()
      } finally {
        mine.count--
        // If not, the item that lent it has ended, and another may run in the lane by now.
        if (mine.count === 0 && waits.get(lane) === mine) {
          waits.delete(lane)
          takeBack(lane)
        }
      }
    },
    count: () => waits.size,
    ended: lane => waits.delete(lane),
  }
}

// A single alarm, set for the next time when something is due.

export function createAlarm(clock: Clock, ring: (at: number) => void) {
  let current: { at: number; abort: AbortController } | null = null
  return {
    set(at: number): void {
      if (current?.at === at) return
      current?.abort.abort()
      current = null
      if (at === Number.POSITIVE_INFINITY) return
      const alarm = { at, abort: new AbortController() }
      current = alarm
      const wait = Math.max(0, at - clock.now())
      void clock.sleep(wait, alarm.abort.signal).then(() => {
        if (alarm.abort.signal.aborted) return
        current = null
        // Timers cannot sleep longer than 2^31 ms. A longer sleep ends early, and then the clock is checked again.
        ring(wait < 2 ** 31 ? at : 0)
      })
    },
  }
}
