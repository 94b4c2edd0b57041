// What is remembered: how it is searched, and how each change of it is known and can be undone.
import type { LaneKey } from './event.ts'

export interface MemoryHit {
  /** Where it is: `memory.md`, `brain`, `conversations/…`, `notes/…`. */
  readonly source: string
  readonly title: string
  /** A few words around what was found, with the words found in **bold**. */
  readonly snippet: string
  readonly at: number | null
}

export interface MemorySearch {
  search(query: string, most: number): Promise<readonly MemoryHit[]>
  /** Looks at every source again; tells how much there is. */
  sync(): Promise<{ readonly documents: number; readonly changed: number }>
}

export type ChangeState =
  | 'made'
  /** On the words of somebody who is not the owner: the file is as it was until the owner has decided. */
  | 'waiting'
  | 'approved'
  | 'denied'
  | 'undone'

export interface MemoryChange {
  readonly id: number
  readonly at: number
  /** Relative to the workspace. */
  readonly file: string
  /** The events that ran while it changed; none: somebody edited it by hand. */
  readonly events: readonly number[]
  readonly lane: LaneKey | null
  readonly person: string | null
  readonly owner: boolean
  readonly state: ChangeState
  /** As a unified diff without a header. */
  readonly diff: string
}

export type ChangeResult =
  | { readonly ok: true; readonly change: MemoryChange }
  | { readonly ok: false; readonly why: string }

export interface MemoryLog {
  /** The newest first. */
  list(most: number): Promise<readonly MemoryChange[]>
  /** Takes a change back, keeping what was changed since. Without an id: the newest that stands. */
  undo(id: number | null): Promise<ChangeResult>
  approve(id: number): Promise<ChangeResult>
  deny(id: number): Promise<ChangeResult>
}
