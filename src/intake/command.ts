// A command of the chat: who gives it, and a row of the table that says what it does.
import type { Author, LaneKey, Place } from '../base/event.ts'

/** Who gives a command, and where. */
export interface CommandFrom {
  readonly lane: LaneKey
  readonly author: Author
  /** Where the answer goes. */
  readonly place: Place | null
  /** The key of its event: a command that is heard twice is the same one. */
  readonly key: string
}

export interface CommandRequest extends CommandFrom {
  readonly rest: string
}

export interface CommandRow {
  readonly names: readonly [string, ...string[]]
  /** What may follow it, for the help. */
  readonly takes?: string
  readonly about: string
  /** Changes what others get, too. */
  readonly ownerOnly?: true
  /** Null: what follows is a message for the agent. */
  readonly answer: ((request: CommandRequest) => Promise<string>) | null
}
