// One line of a conversation, as shown to people and handed to an agent that lost its session.

export interface Said {
  /** The platform's id of the message; an answer carries that of the message it answers. */
  readonly id: string
  readonly role: 'user' | 'agent'
  readonly text: string
  readonly at: number
  readonly ok: boolean
  readonly state: 'waiting' | 'running' | 'answered' | 'failed' | 'refused'
}
