// Durable lanes: strict order within a lane, lanes run in parallel. One implementation, used twice (inbox and outbox).
import type { LaneKey } from './event.ts'

export type QueueName = 'in' | 'out'

export type Put =
  | { readonly type: 'accepted'; readonly id: number; readonly position: number }
  | { readonly type: 'duplicate'; readonly id: number }
  | { readonly type: 'refused'; readonly why: 'busy' | 'full'; readonly depth: number }

export interface Taken<Item> {
  readonly id: number
  readonly lane: LaneKey
  readonly key: string
  readonly item: Item
  /** Milliseconds since the epoch; never earlier than that of the item before. */
  readonly at: number
  /** Counted on disk when the item is taken: 1 for the first time. Starts over after an orderly `later`. */
  readonly attempt: number
  /** How often this item was deferred with `retry`. */
  readonly retries: number
  /** True if the last attempt was interrupted (crash, kill) and did not end by itself. */
  readonly interrupted: boolean
  /** An earlier attempt ended in an orderly way with `later`. */
  readonly putOff: boolean
  /** Items answered together with this one (COLLECT), oldest first; this one is the newest. */
  readonly earlier: readonly { readonly id: number; readonly key: string; readonly item: Item }[]
}

/** An item for the other queue, stored in the same commit as the outcome. */
export interface FollowUp {
  readonly queue: QueueName
  readonly lane: LaneKey
  readonly key: string
  readonly item: unknown
}

/** How an attempt ended. */
export type Outcome =
  | ({ readonly type: 'done'; readonly followUps?: readonly FollowUp[] } & Afterwards)
  | ({ readonly type: 'failed'; readonly why: string; readonly followUps?: readonly FollowUp[] } & Afterwards)
  /** Deferred until `at` (ms; Infinity: until `wake`). With `retry` it counts as a retry; otherwise it costs no attempt. */
  | { readonly type: 'later'; readonly at: number; readonly retry?: boolean; readonly followUps?: readonly FollowUp[] }
  /** Interrupted by our own stop: the attempt is not counted, and the item is marked as interrupted next time. */
  | { readonly type: 'cut' }

interface Afterwards {
  /** Starts once the end is on disk; the lane continues when it is over. A kill drops it. Never rejects. */
  afterwards?(): Promise<void>
}

export interface WaitingItem<Item> {
  readonly id: number
  readonly lane: LaneKey
  readonly key: string
  readonly item: Item
  readonly at: number
  readonly notBefore: number
  readonly position: number
  /** Its last attempt was interrupted. */
  readonly interrupted: boolean
}

export interface LaneDepth {
  readonly waiting: number
  readonly running: number
  readonly lanes: number
}

export interface Lanes<Item> {
  /** Resolves once it is on disk (or refused). */
  put(lane: LaneKey, key: string, item: Item): Promise<Put>
  /** Counts an item that was rejected before it came here, so that every received item has an end; a known item is not counted again. */
  refuse(lane: LaneKey, key: string): Promise<Extract<Put, { type: 'duplicate' }> | null>
  /** Whether an item with this key was received before. */
  knows(key: string): Promise<boolean>
  /** Stores an item that is already handled, together with its follow-ups. Duplicate: its key is known. */
  file(lane: LaneKey, key: string, item: Item, followUps: readonly FollowUp[]): Promise<'filed' | 'duplicate'>
  /**
   * Works until the signal aborts, only on that lane if one is given; resolves when the last handler has ended. Waiting items stay on
   * disk.
   */
  work(
    handle: (item: Taken<Item>, signal: AbortSignal) => Promise<Outcome>,
    signal: AbortSignal,
    only?: LaneKey,
  ): Promise<void>
  /** Edits a waiting item (null cancels it), together with its follow-ups. False: it is not waiting (any more). */
  change(key: string, item: Item | null, followUps?: readonly FollowUp[]): Promise<boolean>
  /**
   * Holds a waiting item, and with it its lane, while `work` handles it in another way. With its follow-ups the item is done; with null,
   * and after a kill, it waits as before. False: it was not waiting, or still is.
   */
  handOver(lane: LaneKey, key: string, work: () => Promise<readonly FollowUp[] | null>): Promise<boolean>
  /** Cancels all waiting items of a lane; returns their keys. */
  cancel(lane: LaneKey): Promise<readonly string[]>
  /** Aborts the running item of a lane. False: nothing is running. */
  stop(lane: LaneKey): boolean
  /**
   * While `work` runs, the item in this lane only waits, and another lane may use its slot; its own lane stays occupied. Null: too many
   * items wait like this already, and `work` was not started. On a person, any number of items may wait.
   */
  lend<T>(lane: LaneKey, work: () => Promise<T>, on?: 'agent' | 'person'): Promise<T | null>
  /** Whether any item of the lane runs or waits, other than those that let others pass. */
  isBusy(lane: LaneKey): boolean
  /** Makes the deferred items of a lane due now; resolves when the lane has nothing left to do. */
  wake(lane: LaneKey): Promise<void>
  waiting(lane?: LaneKey): Promise<readonly WaitingItem<Item>[]>
  /** The same for one lane, from memory: the keys, next one first. */
  positions(lane: LaneKey): readonly { readonly key: string; readonly position: number }[]
  depth(): LaneDepth
  /** Keys of the running items. */
  running(): readonly { readonly lane: LaneKey; readonly key: string }[]
  /** Resolves when nothing waits (other than deferred items) and nothing runs. */
  drain(): Promise<void>
}

// ---- what the lanes need from a database: a few coarse operations, each atomic and on disk once it resolves ----

export interface QueueRow {
  readonly id: number
  readonly lane: LaneKey
  readonly key: string
  readonly body: string
  readonly at: number
  readonly attempts: number
  readonly retries: number
  readonly interrupted: boolean
  readonly notBefore: number
}

export type StoredPut =
  | { readonly type: 'stored'; readonly row: QueueRow }
  | { readonly type: 'duplicate'; readonly id: number }
  | { readonly type: 'refused' }

export interface Arrival {
  readonly id: number
  readonly key: string
  readonly lane: LaneKey
  readonly notBefore: number
  readonly item: unknown
}

export interface QueueStore {
  /** At the start: running items wait again, marked as interrupted. Returns all open items, oldest first. */
  recover(queue: QueueName): Promise<readonly QueueRow[]>
  /** `refuse`: counts a refusal unless the key is known. `start`: stored as taken, attempt 1. */
  put(queue: QueueName, lane: LaneKey, key: string, body: string, how: 'wait' | 'start' | 'refuse'): Promise<StoredPut>
  /** Counts the attempts; returns the items that were still waiting. `lightly`: a kill does not undo it, a power failure may. */
  take(ids: readonly number[], how: 'durably' | 'lightly'): Promise<readonly QueueRow[]>
  settle(ids: readonly number[], outcome: Outcome): Promise<void>
  change(queue: QueueName, key: string, body: string | null, followUps?: readonly FollowUp[]): Promise<QueueRow | null>
  read(ids: readonly number[]): Promise<readonly QueueRow[]>
  knows(queue: QueueName, key: string): Promise<boolean>
  /** `put` and `settle` with `done` in one step. False: its key is known. */
  file(queue: QueueName, lane: LaneKey, key: string, body: string, followUps: readonly FollowUp[]): Promise<boolean>
  /** Calls `arrived` for items that came as a follow-up, after the commit. */
  watch(queue: QueueName, arrived: (arrival: Arrival) => void): void
}

/** The items of one queue, by how they ended. */
export interface QueueCounts {
  readonly received: number
  readonly waiting: number
  readonly running: number
  readonly answered: number
  readonly refused: number
  readonly failed: number
}
