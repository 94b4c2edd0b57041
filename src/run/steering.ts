// Hands words of a person into the turn that is running, where the backend accepts that.
import { type LaneKey, type NewEvent, principalOfAll } from '../base/event.ts'
import type { FollowUp, Lanes, Taken } from '../base/lanes.ts'

export interface SteeringParts {
  inbox(): Pick<Lanes<NewEvent>, 'handOver' | 'waiting'>
  /** The text of a message as the agent reads it. */
  words(event: NewEvent): string
  /** What the person reads instead of an answer of its own. */
  followUps(event: NewEvent): readonly FollowUp[]
}

export type Steered =
  | 'steered'
  /** Nothing waits in this conversation. */
  | 'nothing'
  /** No turn is running that takes words now. */
  | 'impossible'
  /** The turn runs on the words of somebody else. */
  | 'not-theirs'

/** The running turns that take words now, by their lanes. */
export type SteerableTurns = Map<LaneKey, SteerableTurn>

interface SteerableTurn {
  readonly taken: Pick<Taken<NewEvent>, 'item' | 'earlier'>
  steer(words: string): Promise<boolean>
}

export interface Steering {
  readonly turns: SteerableTurns
  /**
   * Hands a waiting message to the running turn; without a key, the next one that waits. It is done once the turn has it. A kill in
   * between leaves it waiting, so that it is read twice rather than never.
   */
  steer(lane: LaneKey, key?: string): Promise<Steered>
}

export function createSteering({ inbox, words, followUps }: SteeringParts): Steering {
  const turns: SteerableTurns = new Map()
  return {
    turns,
    async steer(lane, key) {
      const waiting = (await inbox().waiting(lane)).filter(({ item }) => item.what.kind === 'message')
      const found = key === undefined ? waiting[0] : waiting.find(one => one.key === key)
      if (!found) return 'nothing'
      const turn = turns.get(lane)
      if (!turn) return 'impossible'
      const { item, earlier } = turn.taken
      if (whoseOf([...earlier.map(one => one.item), item]) !== whoseOf([found.item])) return 'not-theirs'
      const done = await inbox().handOver(lane, found.key, async () =>
        (await turn.steer(words(found.item))) ? followUps(found.item) : null,
      )
      return done ? 'steered' : 'impossible'
    },
  }
}

/** Words of one person must not get the permissions of another. */
function whoseOf(events: readonly NewEvent[]): string {
  const { owner, person } = principalOfAll(events)
  return JSON.stringify([owner, person])
}
