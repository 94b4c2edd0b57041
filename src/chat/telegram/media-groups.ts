// Albums: Telegram sends each picture as a message of its own. They are collected and handled as one message.
import type { Message } from 'grammy/types'
import type { Clock } from '../../base/time.ts'

/** The pictures of an album come together; a network may tear them apart by this much. */
const quietMs = 700

export type Collect = (message: Message, handle: (all: readonly Message[]) => Promise<boolean>) => Promise<boolean>

/** `handle` of the first one gets them all, the earliest first; the others share its result. */
export function createMediaGroups(clock: Clock, life: () => AbortSignal): Collect {
  interface Album {
    readonly messages: Message[]
    readonly done: Promise<boolean>
    touched: number
  }
  const albums = new Map<string, Album>()

  return (message, handle) => {
    const { media_group_id: id } = message
    if (id === undefined) return handle([message])
    const known = albums.get(id)
    if (known) {
      known.messages.push(message)
      known.touched++
      return known.done
    }
    const messages = [message]
    const album: Album = { messages, touched: 0, done: whenQuiet() }
    albums.set(id, album)
    return album.done

    async function whenQuiet(): Promise<boolean> {
      for (let seen = -1; seen !== (albums.get(id ?? '')?.touched ?? 0); ) {
        seen = albums.get(id ?? '')?.touched ?? 0
        await clock.sleep(quietMs, life())
      }
      albums.delete(id ?? '')
      return handle(messages.sort((a, b) => a.message_id - b.message_id))
    }
  }
}
