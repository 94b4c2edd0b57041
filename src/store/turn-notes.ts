// Notes of the gateway for the agent's next turn in a lane.
import type { LaneKey } from '../base/event.ts'
import { visible } from '../base/scrub.ts'
import type { Actor } from './actor.ts'

const mostLanes = 1000
const longest = 4000

export function createTurnNotes() {
  const notes = new Map<LaneKey, string>()
  return {
    noteTo(actors: Iterable<Actor>, text: string): void {
      for (const { lane } of actors) {
        if (lane === null || (notes.size >= mostLanes && !notes.has(lane))) continue
        const earlier = notes.get(lane)
        if ((earlier?.length ?? 0) > longest) continue
        // The text names files, and whoever made them chose the name.
        const note = `[Gateway: ${text
          .split('\n')
          .map(line => visible(line, longest))
          .join('\n')}]`
        notes.set(lane, earlier === undefined ? note : `${earlier}\n${note}`)
      }
    },
    /** Returned once; null: none. */
    noteFor(lane: LaneKey): string | null {
      const note = notes.get(lane) ?? null
      notes.delete(lane)
      return note
    },
  }
}
