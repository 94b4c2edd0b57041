// Threads that we open: a conversation that starts in a channel gets one with its first answer.
import type { API } from '@discordjs/core'
import type { ChatMemory } from '../../base/chat.ts'
import { codes, troubleOf } from './errors.ts'

export interface Threads {
  /** Plans a thread for the conversation that starts with this message. */
  plan(message: string, channel: string, name: string): void
  /** Whether a thread is planned, or was refused, for this message. */
  has(message: string): boolean
  /** Threads are not allowed in this channel, so messages there share one conversation. */
  impossibleIn(channel: string): boolean
  /** Cancels the plan: the message is not answered. */
  drop(message: string): void
  /** The channel to post to for a conversation. Opens the planned thread if needed. */
  channelOf(conversation: string): Promise<string>
}

interface PlannedThread {
  readonly channel: string
  readonly name: string
  /** It cannot be opened, so the answers go to the channel. */
  readonly refused?: true
}

const dayInMinutes = 1440

export function openThreads(api: API, memory: ChatMemory, opened: (thread: string) => void): Threads {
  const nameOf = (id: string) => `thread:${id}`
  const underway = new Map<string, Promise<string>>()
  /** Until the next start; by then it may be allowed. */
  const impossible = new Set<string>()

  /** A thread that starts with a message has the id of that message. */
  async function open(id: string, planned: PlannedThread): Promise<string> {
    try {
      const body = { name: planned.name, auto_archive_duration: dayInMinutes }
      await api.channels.createThread(planned.channel, body, id)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble.type !== 'refused') throw error
      if (trouble.code !== codes.threadExists) {
        if (trouble.code !== codes.unknownMessage) impossible.add(planned.channel)
        memory.put(nameOf(id), JSON.stringify({ ...planned, refused: true }))
        return planned.channel
      }
    }
    opened(id)
    memory.put(nameOf(id), null)
    return id
  }

  return {
    plan: (message, channel, name) => memory.put(nameOf(message), JSON.stringify({ channel, name: titleOf(name) })),
    has: message => memory.get(nameOf(message)) !== null,
    impossibleIn: channel => impossible.has(channel),
    drop: message => memory.put(nameOf(message), null),
    async channelOf(conversation) {
      const text = memory.get(nameOf(conversation))
      if (text === null) return conversation
      const planned = JSON.parse(text) as PlannedThread
      if (planned.refused) return planned.channel
      const opening = underway.get(conversation) ?? open(conversation, planned)
      underway.set(conversation, opening)
      return opening.finally(() => underway.delete(conversation))
    },
  }
}

/** Discord allows names of 1 to 100 characters. */
function titleOf(text: string): string {
  const line = [...text.replace(/\s+/g, ' ').trim()]
  return line.length === 0 ? 'Conversation' : line.length <= 80 ? line.join('') : `${line.slice(0, 79).join('')}…`
}
