// The conversations of one chat for its owner: list, read and search.
import type { PastMessage } from './history.ts'
import type { Request } from './requests.ts'

export interface Conversation {
  readonly id: string
  /** The beginning of the first message that is still stored. */
  readonly title: string
  /** The time of the last message. */
  readonly at: number
  readonly waiting: number
  readonly running: boolean
}

/** A section of a conversation. Ask for more before and after it with these numbers; null: there is no more. */
export interface Stretch {
  readonly messages: readonly PastMessage[]
  /** What was asked in the turns of these messages, oldest first; at the end of the conversation also what is asked here by others. */
  readonly requests?: readonly Request[]
  /** How much work is stored, by the ids of the messages whose answers have any. */
  readonly work?: Readonly<Record<string, number>>
  readonly older: number | null
  readonly newer: number | null
}

export interface ConversationHit {
  readonly conversation: string
  readonly id: string
  readonly role: PastMessage['role']
  readonly at: number
  readonly snippet: string
  /** Its position, for `from`. */
  readonly item: number
}

export interface ConversationList {
  /** Newest first. */
  list(most: number): readonly Conversation[]
  /** The latest messages before that position; null means the end. */
  before(conversation: string, item: number | null, most: number): Stretch
  /** The messages from that position on. */
  from(conversation: string, item: number, most: number): Stretch
  /** Matches messages that contain all words, ignoring case. Newest first. */
  search(words: string, most: number): Promise<readonly ConversationHit[]>
}
