// Durable lanes: strict order inside a lane, lanes side by side. One machine, used twice (inbox and outbox).
import type { LaneKey } from './event.ts'

export type Box = 'in' | 'out'

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
  /** Counted when the item was taken, on disk: 1 for the first time. Starts anew after an orderly `later`. */
  readonly attempt: number
  /** How often this item was put off with `retry`. */
  readonly retries: number
  /** True when the last attempt was cut off (crash, kill) and did not end by itself. */
  readonly interrupted: boolean
  /** Items answered together with this one (COLLECT): older first; this one is the newest. */
  readonly earlier: readonly { readonly id: number; readonly key: string; readonly item: Item }[]
}

/** Something for the other box, stored in the same commit as the outcome. */
export interface FollowUp {
  readonly box: Box
  readonly lane: LaneKey
  readonly key: string
  readonly item: unknown
}

/** How an attempt ended. */
export type Outcome =
  | ({ readonly type: 'done'; readonly followUps?: readonly FollowUp[] } & Afterwards)
  | ({ readonly type: 'failed'; readonly why: string; readonly followUps?: readonly FollowUp[] } & Afterwards)
  /** Put off until `at` (ms; Infinity: until `wake`). `retry` counts it as a retry; otherwise it costs nothing. */
  | { readonly type: 'later'; readonly at: number; readonly retry?: boolean; readonly followUps?: readonly FollowUp[] }
  /** Cut off by our own stop: the attempt is given back and the item is told it was interrupted next time. */
  | { readonly type: 'cut' }

interface Afterwards {
  /** Begins once the end is on disk; the lane goes on when it is over. A kill forgets it. Never rejects. */
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
  /** Its last attempt was cut off. */
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
  /** Counts an item that was turned away before it came here, so that every received one has an end; one that is known is not. */
  refuse(lane: LaneKey, key: string): Promise<Extract<Put, { type: 'duplicate' }> | null>
  /** Whether an item with this key came already. */
  knows(key: string): Promise<boolean>
  /** Stores an item that is dealt with already, together with what follows from it. Duplicate: its key is known. */
  file(lane: LaneKey, key: string, item: Item, followUps: readonly FollowUp[]): Promise<'filed' | 'duplicate'>
  /** Works until the signal, on that lane alone if one is named; resolves when the last handler has ended. What waits stays on disk. */
  work(
    handle: (item: Taken<Item>, signal: AbortSignal) => Promise<Outcome>,
    signal: AbortSignal,
    only?: LaneKey,
  ): Promise<void>
  /** Edits (or with null: cancels) what waits, together with what follows from it. False: it does not wait (any more). */
  change(key: string, item: Item | null, followUps?: readonly FollowUp[]): Promise<boolean>
  /** Cancels everything that waits in a lane; returns the keys. */
  cancel(lane: LaneKey): Promise<readonly string[]>
  /** Aborts what runs in a lane. False: nothing runs there. */
  stop(lane: LaneKey): boolean
  /** Whether anything of the lane waits or runs. */
  isBusy(lane: LaneKey): boolean
  /** Makes what is put off in a lane due now; resolves when the lane has nothing left to do. */
  wake(lane: LaneKey): Promise<void>
  waiting(lane?: LaneKey): Promise<readonly WaitingItem<Item>[]>
  depth(): LaneDepth
  /** Keys of the items that run now. */
  running(): readonly { readonly lane: LaneKey; readonly key: string }[]
  /** Resolves when nothing waits (other than what is put off) and nothing runs. */
  drain(): Promise<void>
}

// ---- what the machine asks of a database: few, coarse, each atomic and on disk once it resolves ----

export interface ShelfRow {
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

export type ShelfPut =
  | { readonly type: 'stored'; readonly row: ShelfRow }
  | { readonly type: 'duplicate'; readonly id: number }
  | { readonly type: 'refused' }

export interface Arrival {
  readonly id: number
  readonly key: string
  readonly lane: LaneKey
  readonly notBefore: number
}

export interface Shelf {
  /** On start: what was running waits again, marked as interrupted. Returns everything open, oldest first. */
  recover(box: Box): Promise<readonly ShelfRow[]>
  /** `refuse`: counts a refusal unless the key is known. `start`: stored as taken, attempt 1. */
  put(box: Box, lane: LaneKey, key: string, body: string, how: 'wait' | 'start' | 'refuse'): Promise<ShelfPut>
  /** Counts the attempts; returns those that still waited. `lightly`: a kill does not undo it, a power cut may. */
  take(ids: readonly number[], how: 'durably' | 'lightly'): Promise<readonly ShelfRow[]>
  settle(ids: readonly number[], outcome: Outcome): Promise<void>
  change(box: Box, key: string, body: string | null, followUps?: readonly FollowUp[]): Promise<ShelfRow | null>
  read(ids: readonly number[]): Promise<readonly ShelfRow[]>
  knows(box: Box, key: string): Promise<boolean>
  /** As `put` and `settle` with `done` in one. False: its key is known. */
  file(box: Box, lane: LaneKey, key: string, body: string, followUps: readonly FollowUp[]): Promise<boolean>
  /** Told of items that came as a follow-up, after the commit. */
  watch(box: Box, arrived: (arrival: Arrival) => void): void
}
