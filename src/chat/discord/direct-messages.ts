// Direct messages of known people. Discord does not list a bot's direct messages, so each channel is opened once.
import type { API } from '@discordjs/core'
import type { ChatMemory } from '../../base/chat.ts'
import type { Clock } from '../../base/time.ts'
import { persist, troubleOf } from './errors.ts'
import { isId } from './message.ts'

/** A channel with possibly missed messages. */
export interface Away {
  readonly channel: string
  /** Its last message; null: unknown. */
  readonly newest: string | null
}

export interface Directs {
  /** This is the channel of that user, so it need not be opened. */
  met(user: string, channel: string): void
  /** One after the other, owners first; skips people whom Discord refuses. */
  channels(signal: AbortSignal): AsyncGenerator<Away>
}

/** The others are caught up when they write next. */
const mostPeople = 200
/** Discord blocks bots that open many at once. */
const pauseMs = 250

export function createDirectMessages(parts: {
  readonly api: API
  readonly memory: ChatMemory
  readonly clock: Clock
  /** The ids of known people, owners first. */
  people(): readonly string[]
  trouble(why: string): void
}): Directs {
  const { api, memory, clock } = parts
  const nameOf = (user: string) => `dm:${user}`

  async function open(user: string, signal: AbortSignal): Promise<Away | null> {
    try {
      const opened = await persist(() => api.users.createDM(user), clock, signal)
      memory.put(nameOf(user), opened.id)
      const newest = 'last_message_id' in opened ? (opened.last_message_id ?? '0') : null
      return { channel: opened.id, newest }
    } catch (error) {
      signal.throwIfAborted()
      parts.trouble(`direct messages of user ${user} cannot be read: ${troubleOf(error).why}`)
      return null
    }
  }

  return {
    met(user, channel) {
      if (memory.get(nameOf(user)) === null) memory.put(nameOf(user), channel)
    },
    async *channels(signal) {
      const people = parts.people().filter(isId).slice(0, mostPeople)
      for (const user of people) {
        const channel = memory.get(nameOf(user))
        if (channel !== null) yield { channel, newest: null }
      }
      for (const user of people.filter(one => memory.get(nameOf(one)) === null)) {
        const away = await open(user, signal)
        if (away !== null) yield away
        await clock.sleep(pauseMs, signal)
      }
    },
  }
}
