// The rules by which lanes run: how many, in what order, and how failures end.
import type { LaneKey } from '../base/event.ts'
import type { Outcome, QueueName, Taken } from '../base/lanes.ts'

export interface LaneRules<Item> {
  readonly queue: QueueName
  /** How many lanes run in parallel. */
  readonly atOnce: number
  /** When this many items wait, new ones are refused. */
  readonly maxDepth: number
  /** What happens to a new lane while `atOnce` lanes are busy. */
  readonly busy: 'reject' | 'queue'
  /** Lanes in which nobody waits for an answer. They are never refused as busy, go last unless they have waited long, and leave places free for others. */
  background?(lane: LaneKey): boolean
  /** Items that are never refused: they wait, whatever `busy` and `maxDepth` say. */
  alwaysWaits?(item: Item): boolean
  /** Whether everything that waits in a lane is taken together. */
  readonly collect: boolean
  /** After this many retries an item lets the items behind it pass, and is tried first whenever one of them is due. Missing: never. */
  readonly patience?: number
  /** Items that do not wait for deferred items before them. */
  ahead?(item: Item): boolean
  /** Whether an attempt is on disk before it starts, safe even from a power cut. Needed for items that must not loop. */
  readonly taking: 'durably' | 'lightly'
  /** After this many attempts without an outcome, an item is parked. */
  readonly maxAttempts: number
  /** The visible outcome of a parked item. */
  giveUp(item: Taken<Item>): Outcome
  /** The visible outcome of an item whose handler threw: a bug, but the lane continues. */
  broke(item: Taken<Item>, error: unknown): Outcome
  /** Called when an outcome cannot be written. `again`: retry; `never`: it will never succeed. */
  stuck(error: unknown): 'again' | 'never'
  /** Called when the outcome of an item will never be on disk. */
  unstored?(item: Taken<Item>): void
}

export type Handle<Item> = (item: Taken<Item>, signal: AbortSignal) => Promise<Outcome>
