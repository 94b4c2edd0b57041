// A chat command: who sent it, and the table row that defines it.
import type { TextDocument } from '../base/chat.ts'
import type { Author, LaneKey, Place } from '../base/event.ts'

/** Who sent a command, and where. */
export interface CommandFrom {
  readonly lane: LaneKey
  /** With the full id of the person, as in `Principal`. */
  readonly author: Author
  readonly place: Place | null
  /** The key of its event. A command received twice has the same key. */
  readonly key: string
}

export interface CommandRequest extends CommandFrom {
  readonly rest: string
}

/** A text, or a text with a document, which chats send as a file. */
export type CommandAnswer = string | { readonly text: string; readonly document: TextDocument }

export interface CommandRow {
  readonly names: readonly [string, ...string[]]
  /** Its arguments, for the help text. */
  readonly takes?: string
  readonly about: string
  /** It changes something for other people too. */
  readonly ownerOnly?: true
  /** The message for the agent that it stands for; null: it is answered here. */
  message?(
    rest: string,
    lane: LaneKey,
  ): { readonly type: 'message'; readonly text: string; readonly steer?: true } | null
  /** Null: the rest of the text is a message for the agent. */
  readonly answer: ((request: CommandRequest) => Promise<CommandAnswer>) | null
}
