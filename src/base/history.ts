// One line of a conversation, as shown to people and handed to an agent that lost its session.
import type { Author, Standing } from './event.ts'

export interface Said {
  /** The platform's id of the message; an answer carries that of the message it answers. */
  readonly id: string
  readonly role: 'user' | 'agent'
  readonly text: string
  readonly at: number
  readonly ok: boolean
  /** Where anybody can speak: who did. */
  readonly sender?: { readonly author: Author; readonly standing: Standing }
  /** Files that came with a message. */
  readonly attachments?: readonly {
    readonly id?: string
    readonly name: string
    readonly bytes: number
    readonly type: string
  }[]
  /** Files of the workspace that went out with an answer. */
  readonly files?: readonly string[]
  readonly state: 'waiting' | 'running' | 'answered' | 'failed' | 'refused'
}
