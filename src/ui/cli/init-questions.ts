// How `aetheel init` learns what it has to know.
import type { Flags } from './ports.ts'
import type { Questions } from './questions.ts'
import type { Terminal } from './terminal.ts'

/** Missing or invalid input: exit code 2. */
export class Unclear extends Error {
  override readonly name = 'Unclear'
}

export interface Chooser {
  readonly terminal: Terminal
  readonly flags: Flags
  /** Null if there is no terminal to ask at. */
  readonly questions: Questions | null
  readonly signal: AbortSignal
  say(text?: string): void
}
