// What waits and runs, mirrored in memory: which lane is next is decided here, without asking the database.
import type { LaneKey } from '../base/event.ts'
import type { LaneDepth } from '../base/lanes.ts'

export interface Entry {
  readonly id: number
  notBefore: number
}

export interface Lane {
  readonly key: LaneKey
  /** Nobody waits for it: it goes behind all others. */
  readonly background: boolean
  /** In order of arrival. */
  readonly waiting: Entry[]
  /** The key of what runs; '' while it is being taken; null: the lane is free. */
  running: string | null
  /** Puts that are on their way to the disk. */
  arriving: number
  /** Set when `wake` was asked while something ran, so that it does not fall asleep over the knock. */
  woken: boolean
  abort: AbortController | null
}

export interface Mirror {
  lane(key: LaneKey): Lane
  find(key: LaneKey): Lane | undefined
  all(): Iterable<Lane>
  awake(): Iterable<Lane>
  /** To be called after each change of a lane: drops it when nothing is left, passes over it while it only sleeps. */
  changed(lane: Lane): void
  /** The free lane whose head has waited longest and is due; a background lane only if one may run and no other is due. `only`: no other than this one. */
  next(now: number, background: boolean, only: LaneKey | null): Lane | null
  /** When the next put-off head falls due; Infinity if none does. */
  nextDue(now: number): number
  /** Lanes, but for background ones, that run or could: each takes (or will take) one of the places. */
  busyLanes(now: number): number
  depth(): LaneDepth
}

export function openMirror(isBackground: (key: LaneKey) => boolean): Mirror {
  const lanes = new Map<LaneKey, Lane>()
  /** Those that may run; a lane that sleeps until it is woken costs nothing. */
  const awake = new Set<Lane>()
  const isDue = (lane: Lane, now: number) => {
    const head = lane.waiting[0]
    return head !== undefined && head.notBefore <= now
  }
  return {
    lane(key) {
      const known = lanes.get(key)
      if (known) return known
      const background = isBackground(key)
      const lane: Lane = { key, background, waiting: [], running: null, arriving: 0, woken: false, abort: null }
      lanes.set(key, lane)
      return lane
    },
    find: key => lanes.get(key),
    all: () => lanes.values(),
    awake: () => awake,
    changed(lane) {
      const head = lane.waiting[0]
      const busy = lane.running !== null || lane.arriving > 0
      if (busy || (head && head.notBefore < Number.POSITIVE_INFINITY)) awake.add(lane)
      else awake.delete(lane)
      // A lane that was dropped while somebody still held it must not take its successor along.
      if (!busy && !head && lanes.get(lane.key) === lane) lanes.delete(lane.key)
    },
    next(now, background, only) {
      let best: Lane | null = null
      let oldest = Number.POSITIVE_INFINITY
      for (const lane of awake) {
        const head = lane.waiting[0]
        if (lane.running !== null || !head || head.notBefore > now || (lane.background && !background)) continue
        if (only !== null && lane.key !== only) continue
        const first = !best || (best.background === lane.background ? head.id < oldest : best.background)
        if (!first) continue
        best = lane
        oldest = head.id
      }
      return best
    },
    nextDue(now) {
      let due = Number.POSITIVE_INFINITY
      for (const lane of awake) {
        const head = lane.waiting[0]
        if (lane.running === null && head && head.notBefore > now) due = Math.min(due, head.notBefore)
      }
      return due
    },
    busyLanes(now) {
      let busy = 0
      for (const lane of awake)
        if (!lane.background && (lane.running !== null || lane.arriving > 0 || isDue(lane, now))) busy++
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
