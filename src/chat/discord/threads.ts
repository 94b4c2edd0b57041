// Threads of our own: a conversation that begins in a busy channel gets one, with the first answer.
import type { API } from '@discordjs/core'
import type { ChatMemory } from '../../base/chat.ts'
import { codes, troubleOf } from './trouble.ts'

export interface Threads {
  /** The conversation that begins with this message is to have a thread. */
  owe(message: string, channel: string, name: string): void
  /** Whether it has one, or is to have one. */
  has(message: string): boolean
  /** It was tried and may not be: whoever speaks in this channel goes on with the conversation of all. */
  impossibleIn(channel: string): boolean
  /** It came to nothing: nobody is answered there. */
  drop(message: string): void
  /** Where to write for a conversation: opens its thread if it has none yet. */
  channelOf(conversation: string): Promise<string>
}

interface Owed {
  readonly channel: string
  readonly name: string
  /** It cannot be opened, so the answers stand in the channel. */
  readonly refused?: true
}

const dayInMinutes = 1440

export function openThreads(api: API, memory: ChatMemory, opened: (thread: string) => void): Threads {
  const nameOf = (id: string) => `thread:${id}`
  const underway = new Map<string, Promise<string>>()
  /** Until the next start, by when it may have been allowed. */
  const impossible = new Set<string>()

  /** A thread that begins with a message has the id of that message. */
  async function open(id: string, owed: Owed): Promise<string> {
    try {
      const body = { name: owed.name, auto_archive_duration: dayInMinutes }
      await api.channels.createThread(owed.channel, body, id)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble.type !== 'refused') throw error
      if (trouble.code !== codes.threadExists) {
        if (trouble.code !== codes.unknownMessage) impossible.add(owed.channel)
        memory.put(nameOf(id), JSON.stringify({ ...owed, refused: true }))
        return owed.channel
      }
    }
    opened(id)
    memory.put(nameOf(id), null)
    return id
  }

  return {
    owe: (message, channel, name) => memory.put(nameOf(message), JSON.stringify({ channel, name: titleOf(name) })),
    has: message => memory.get(nameOf(message)) !== null,
    impossibleIn: channel => impossible.has(channel),
    drop: message => memory.put(nameOf(message), null),
    async channelOf(conversation) {
      const text = memory.get(nameOf(conversation))
      if (text === null) return conversation
      const owed = JSON.parse(text) as Owed
      if (owed.refused) return owed.channel
      const opening = underway.get(conversation) ?? open(conversation, owed)
      underway.set(conversation, opening)
      return opening.finally(() => underway.delete(conversation))
    },
  }
}

/** Discord takes names of 1 to 100 characters. */
function titleOf(text: string): string {
  const line = [...text.replace(/\s+/g, ' ').trim()]
  return line.length === 0 ? 'Conversation' : line.length <= 80 ? line.join('') : `${line.slice(0, 79).join('')}…`
}
