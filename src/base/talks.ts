// The conversations of one chat as its owner looks through them: which there are, what was said, and where.
import type { Said } from './history.ts'

export interface Conversation {
  readonly id: string
  /** The first words of the first message that is still kept. */
  readonly title: string
  /** When something was last said in it. */
  readonly at: number
  readonly waiting: number
  readonly running: boolean
}

/** A stretch of a conversation. What comes before and after it is asked for by these numbers; null: there is nothing. */
export interface Stretch {
  readonly messages: readonly Said[]
  readonly older: number | null
  readonly newer: number | null
}

export interface TalkHit {
  readonly conversation: string
  readonly id: string
  readonly role: Said['role']
  readonly at: number
  readonly snippet: string
  /** Where it is, for `from`. */
  readonly item: number
}

export interface Talks {
  /** The newest first. */
  list(most: number): readonly Conversation[]
  /** What was said before that place (null: at the end), the latest of it. */
  before(conversation: string, item: number | null, most: number): Stretch
  /** What was said from that place on. */
  from(conversation: string, item: number, most: number): Stretch
  /** All words, in any case, anywhere in what was said. The newest first. */
  search(words: string, most: number): Promise<readonly TalkHit[]>
}
