// The files that make the agent who it is, as the owner edits them by hand.
import type { MemoryChange } from './memory.ts'

export interface OwnFile {
  /** Relative to the workspace; the only way to name it. */
  readonly name: string
  readonly about: string
  readonly exists: boolean
  readonly bytes: number
  readonly changedAt: number | null
  /** `too-large`: the agent is given only a part of it. `unusable`: not a text that can be edited here. */
  readonly state: 'good' | 'absent' | 'too-large' | 'unusable'
  /** What is wrong with it, in words; null: nothing. */
  readonly why: string | null
  /** How much of it the agent is given with each turn; null: it is not part of the prompt. */
  readonly room: number | null
}

/** What stands in a file. The version tells it from every other text; null: there is no file. */
export interface OwnText {
  readonly text: string
  readonly version: string | null
}

export type OwnRead =
  | ({ readonly type: 'text' } & OwnText)
  | { readonly type: 'unknown' }
  | { readonly type: 'unusable'; readonly why: string }

export type OwnWritten =
  /** `change` is null where it was that text already. */
  | { readonly type: 'written'; readonly version: string | null; readonly change: MemoryChange | null }
  /** It is not that version any more; nothing was written. */
  | ({ readonly type: 'stale' } & OwnText)
  | { readonly type: 'unknown' }
  | { readonly type: 'refused'; readonly why: string }

export interface OwnFiles {
  list(): Promise<readonly OwnFile[]>
  read(name: string): Promise<OwnRead>
  /** Whole, and only if it still is that version. Null as text removes it. */
  write(name: string, text: string | null, version: string | null): Promise<OwnWritten>
}

/** Of the text of one file. */
export const mostFileBytes = 1024 * 1024
/** How much of one file the agent is given with a turn. */
export const promptRoom = 64 * 1024

export interface KnownSkill {
  readonly name: string
  readonly description: string
  /** `shipped`: as it came with the gateway, word for word. */
  readonly from: 'yours' | 'shipped'
  readonly file: string
  readonly bytes: number
}

export interface SkillsDesk {
  /** `offered`: those that come with the gateway and are not in the workspace. */
  list(): Promise<{
    readonly skills: readonly KnownSkill[]
    readonly troubles: readonly { readonly file: string; readonly why: string }[]
    readonly offered: readonly { readonly name: string; readonly description: string; readonly text: string }[]
  }>
}
