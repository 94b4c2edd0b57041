// What the file guard needs, and what it offers.
import type { ConfigFileName } from '../base/config-files.ts'
import type { LaneKey, NewEvent } from '../base/event.ts'
import type { OwnFiles } from '../base/files.ts'
import type { Taken } from '../base/lanes.ts'
import type { MemoryChange, MemoryLog } from '../base/memory.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Changes } from './changes.ts'
import type { MemoryEdits } from './memory-log.ts'
import type { TreeLimits } from './tree.ts'
import type { TreeGuard } from './tree-guard.ts'
import type { Surroundings } from './tree-places.ts'

export interface FileGuardParts {
  /** The workspace. */
  readonly dir: string
  readonly changes: Changes
  readonly clock: Clock
  readonly emit: Emit
  /** What is wrong with a configuration file that has this text; null: nothing. */
  checkConfig(file: ConfigFileName, text: string): Promise<string | null>
  /** A configuration file has changed, and it loads. */
  configChanged(): void | Promise<void>
  /** A change now waits for the owner. Without events: it may be the owner's own edit, made around the time the gateway was killed. */
  notify(change: MemoryChange): void
  /** Removes secrets from what is shown of the configuration files. */
  scrub(text: string): string
  /** Whether this change of a file gives the agent more power: on an agent's edit it waits for the owner, whoever's turn it was. */
  widens?(file: string, before: string | null, after: string | null): boolean
  /** What else the CLIs read; missing: only the workspace is guarded. */
  readonly around?: Surroundings
  readonly treeLimits?: TreeLimits
  /** How long after its last sign of life a killed turn is certainly dead. */
  readonly deadAfterMs?: number
}

/** Await it at the end of the turn. Never throws. */
export interface Leave {
  (): Promise<void>
  /** Await it before the turn starts. Resolves with why the turn must not run, for people: what it does could not be guarded. */
  readonly ready: Promise<string | null>
}

/** An event that was running when the gateway was killed. */
export type Killed = Pick<Taken<NewEvent>, 'id' | 'item'>

export interface FileGuard extends MemoryLog, MemoryEdits {
  /**
   * Call once, after missing files were created and before the first turn: finds changes made while the gateway was not running.
   * `survived`: processes of the killed turns were still running just now.
   */
  begin(killed: readonly Killed[], survived?: boolean): Promise<void>
  /** Call before a turn starts. `isHeld`: the turn is behind a wall and can change nothing of what is guarded. */
  guardTurn(taken: Taken<NewEvent>, isHeld?: boolean): Leave
  /** Finds edits made by hand, unless a turn is running that may have made them. */
  catchUp(): Promise<void>
  /**
   * The text in effect if a guest may have just changed the file: without that change; null: no file. Undefined: the text on disk is in
   * effect. Anything that takes effect during a turn must ask: at the end of the turn, when the file is restored, it would be too late.
   */
  approved(file: string): string | null | undefined
  /** For files that the gateway writes itself and that others may write too: what guests do to them, and what it does. */
  readonly tree: Pick<TreeGuard, 'settle' | 'wrote' | 'isInDoubt' | 'close'>
  /** The files as the owner edits them on the Files page. */
  readonly own: OwnFiles
  /** A note for the agent in the next turn of this lane; returned once. */
  noteFor(lane: LaneKey): string | null
}
