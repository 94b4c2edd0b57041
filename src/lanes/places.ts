// The places in which lanes run: how many there are, which lane gets the next one, and when a new item is refused.
import type { LaneKey } from '../base/event.ts'
import type { Lane, LaneIndex } from './lane-index.ts'
import type { LaneRules } from './rules.ts'

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
