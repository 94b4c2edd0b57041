// One message of a conversation, as shown to people and given to an agent that lost its session.
import type { Author, Sender } from './event.ts'

export interface PastMessage {
  /** The platform's id of the message; an answer has the id of the message it answers. */
  readonly id: string
  readonly role: 'user' | 'agent'
  readonly text: string
  readonly at: number
  readonly ok: boolean
  /** Who wrote it, on platforms that are open to anybody. */
  readonly speaker?: { readonly author: Author; readonly sender: Sender }
  /** Files that came with a message. */
  readonly attachments?: readonly {
    readonly id?: string
    readonly name: string
    readonly bytes: number
    readonly type: string
  }[]
  /** Workspace files that were sent with an answer. */
  readonly files?: readonly string[]
  readonly state: 'waiting' | 'running' | 'answered' | 'failed' | 'refused'
}
