// Messages sent unprompted or in the middle of a turn: to which place, and as which deliveries.
import type { ChatAdapter, Delivery, FileScope } from '../base/chat.ts'
import { type Place, placeName } from '../base/event.ts'
import type { Lanes } from '../base/lanes.ts'
import type { Attached } from './attached.ts'
import { filesLinkedIn, finalKey, piecesFor, withFiles, withFilesNamed } from './deliveries.ts'

export interface UnpromptedParts {
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly attached: Pick<Attached, 'find'>
  readonly outbox: Pick<Lanes<Delivery>, 'put'>
}

const mostFiles = 10

export const createUnprompted = ({ chats, attached, outbox }: UnpromptedParts) => ({
  /** `discord:123`; null: there is no such chat. */
  placeNamed(channel: string): Place | null {
    const [, chat, conversation] = /^([a-z]+):([!-~]{1,200})$/.exec(channel.trim()) ?? []
    return chat !== undefined && conversation !== undefined && chats.has(chat) ? { chat, conversation } : null
  },

  /** Resolves once it is on disk, with the files that cannot be sent. A known key sends nothing again. */
  async say(key: string, place: Place, text: string, files: readonly string[], scope?: FileScope) {
    const found = files.map(file => attached.find(file, scope))
    const good = found.filter(file => file !== null).slice(0, mostFiles)
    const limits = chats.get(place.chat)?.limits ?? null
    const parts = piecesFor(withFilesNamed(text, good, limits), limits)
    for (const [i, piece] of parts.entries()) {
      const linked = filesLinkedIn(piece, path => attached.find(path, scope))
      const along = i === parts.length - 1 ? [...new Set([...linked, ...good])] : linked
      const delivery: Delivery = {
        ...{ place, kind: 'final', about: null, text: piece, ok: true },
        ...withFiles(along.slice(0, mostFiles), scope),
      }
      await outbox.put(placeName(place), i === 0 ? finalKey(key) : `${finalKey(key)}-${i}`, delivery)
    }
    return { left: files.filter((_, i) => !good.some(one => one === found[i])) }
  },
})
