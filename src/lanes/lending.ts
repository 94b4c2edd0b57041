// A running item that only waits for something lends its place to others, and takes it back as soon as it continues.
import type { Lane } from './lane-index.ts'

export interface Lending {
  /** Null: too many have lent their place already, and `work` was not started. */
  lend<T>(lane: Lane | undefined, work: () => Promise<T>): Promise<T | null>
  /** How many run without a place. */
  count(): number
  /** The item in the lane has ended. True: its place was lent, so there is none to free. */
  ended(lane: Lane): boolean
}

interface Places {
  /** A limit, because each of them is still a process. */
  readonly most: number
  vacate(lane: Lane): void
  /** Takes the place back even if none is free: an item that already holds a process must not wait. */
  takeBack(lane: Lane): void
}

export function createLending({ most, vacate, takeBack }: Places): Lending {
  /** An agent may wait for several things at once. */
  const waits = new Map<Lane, { count: number }>()
  return {
    async lend(lane, work) {
      if (!lane?.abort) return work()
      const mine = waits.get(lane) ?? { count: 0 }
      if (mine.count === 0) {
        if (waits.size >= most) return null
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
