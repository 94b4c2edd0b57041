// The persona files that define the agent, as the owner edits them.
import type { MemoryChange } from './memory.ts'

export interface OwnFile {
  /** Relative to the workspace; the only way to address the file. */
  readonly name: string
  readonly about: string
  readonly exists: boolean
  readonly bytes: number
  readonly changedAt: number | null
  /** `too-large`: the agent gets only a part of it. `unusable`: not a text that can be edited here. */
  readonly state: 'good' | 'absent' | 'too-large' | 'unusable'
  /** What is wrong with it; null: nothing. */
  readonly why: string | null
  /** How much of it the agent gets with each turn; null: it is not part of the prompt. */
  readonly room: number | null
}

/** The text of a file. The version identifies the text; null: the file does not exist. */
export interface OwnText {
  readonly text: string
  readonly version: string | null
}

export type OwnRead =
  | ({ readonly type: 'text' } & OwnText)
  | { readonly type: 'unknown' }
  | { readonly type: 'unusable'; readonly why: string }

export type OwnWritten =
  /** `change` is null if the file already had that text. */
  | { readonly type: 'written'; readonly version: string | null; readonly change: MemoryChange | null }
  /** The file is no longer that version; nothing was written. */
  | ({ readonly type: 'stale' } & OwnText)
  | { readonly type: 'unknown' }
  | { readonly type: 'refused'; readonly why: string }

export interface OwnFiles {
  list(): Promise<readonly OwnFile[]>
  read(name: string): Promise<OwnRead>
  /** Writes the whole file, only if it still is that version. A null text removes it. */
  write(name: string, text: string | null, version: string | null): Promise<OwnWritten>
}

/** The limit for the text of one file. */
export const mostFileBytes = 1024 * 1024
/** How much of one file the agent gets with a turn. */
export const promptRoom = 64 * 1024

export interface KnownSkill {
  readonly name: string
  readonly description: string
  /** `shipped`: identical to the one that comes with the gateway. */
  readonly from: 'yours' | 'shipped'
  readonly file: string
  readonly bytes: number
}

export interface SkillsAdmin {
  /** `offered`: those that come with the gateway and are not in the workspace. */
  list(): Promise<{
    readonly skills: readonly KnownSkill[]
    readonly troubles: readonly { readonly file: string; readonly why: string }[]
    readonly offered: readonly { readonly name: string; readonly description: string; readonly text: string }[]
  }>
}
