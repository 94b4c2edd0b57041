// The agent's memory: how it is searched, and how each change to it is recorded and can be undone.
import type { LaneKey } from './event.ts'

export interface MemoryHit {
  /** Where it is: `memory.md`, `brain`, `conversations/…`, `notes/…`. */
  readonly source: string
  readonly title: string
  /** A few words around the match, with the matches in **bold**. */
  readonly snippet: string
  readonly at: number | null
}

export interface MemorySearch {
  search(query: string, most: number): Promise<readonly MemoryHit[]>
  /** Checks every source again; returns how many documents there are. */
  sync(): Promise<{ readonly documents: number; readonly changed: number }>
}

export type ChangeState =
  | 'made'
  /** Made on behalf of somebody other than the owner: the file is unchanged until the owner has decided. */
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

/** Who made the change: the agent (and on whose behalf), or somebody with an editor. */
export function authorOf({ events, owner, person }: Pick<MemoryChange, 'events' | 'owner' | 'person'>): string {
  if (events.length === 0) return owner ? 'hand' : 'hand or a guest'
  return `the agent for ${owner ? 'the owner' : (person ?? 'a stranger')}`
}

export type ChangeResult =
  | { readonly ok: true; readonly change: MemoryChange }
  | { readonly ok: false; readonly why: string }

export interface MemoryLog {
  /** The newest first. */
  list(most: number): Promise<readonly MemoryChange[]>
  /** Reverts a change, keeping later changes. Without an id: the newest change that is in effect. */
  undo(id: number | null): Promise<ChangeResult>
  approve(id: number): Promise<ChangeResult>
  deny(id: number): Promise<ChangeResult>
}
