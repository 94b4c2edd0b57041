// Posts new messages, each once: a request whose outcome is unknown is cleared up before the next message in its chat.
import type { Api } from 'grammy'
import type { Button } from '../../base/chat.ts'
import { createSerial, type Serial } from '../../base/serial.ts'
import type { Clock } from '../../base/time.ts'
import { readMessageId } from './conversation.ts'
import { isNo, isUnchanged, troubleOf } from './errors.ts'
import { isSupergroup, type Journal, type OpenPost } from './journal.ts'
import type { Pace } from './pace.ts'
import { keyboardOf } from './render.ts'

export interface Post {
  readonly chat: number
  /** The same for every attempt. */
  readonly key: string
  /** The message it answers; null: none. */
  readonly about: string | null
  /** The buttons that `send` gives it. */
  readonly buttons?: readonly Button[]
  /** Called only if the key was not posted before. */
  send(): Promise<number>
}

export interface Poster {
  /** Resolves with the id of the message. */
  create(post: Post, signal: AbortSignal): Promise<number>
}

/**
 * How many unknown ids after the last known one are tried. A lost message is nearly always the next one of its chat; where chats share a
 * counter, messages of others come in between, and some of them we have not received yet.
 */
const looked = { supergroup: 15, shared: 40 }

export function createPoster(api: Api, journal: Journal, pace: Pace, clock: Clock): Poster {
  const lines = new Map<number, Serial>()

  /**
   * Bots cannot read what they wrote. But an edit that would change nothing is answered differently for our own message ("not modified"),
   * for somebody else's and for one that does not exist; so an own message that we do not know must be the lost one.
   */
  async function search(chat: number, { after, buttons = [] }: OpenPost): Promise<number | null> {
    let left = isSupergroup(chat) ? looked.supergroup : looked.shared
    for (let id = after + 1; left > 0; id++) {
      if (journal.isKnown(chat, id)) continue
      if (await isOwn(chat, id, buttons)) return id
      left--
    }
    return null
  }

  async function isOwn(chat: number, id: number, buttons: readonly Button[]): Promise<boolean> {
    try {
      await api.editMessageReplyMarkup(chat, id, keyboardOf(buttons))
      return true
    } catch (error) {
      const trouble = troubleOf(error)
      if (isUnchanged(trouble)) return true
      if (trouble.type === 'refused') return false
      throw error
    }
  }

  async function clearUp(chat: number): Promise<void> {
    const open = journal.open(chat)
    if (!open) return
    const found = await search(chat, open)
    if (found === null) journal.failed(chat, open.key)
    else journal.exists(chat, open.key, found)
  }

  async function post({ chat, key, about, buttons = [], send }: Post, signal: AbortSignal): Promise<number> {
    await clearUp(chat)
    const there = journal.find(chat, key)
    if (there !== null) return there
    const wait = pace.wait(chat)
    if (wait > 0) await clock.sleep(wait, signal)
    signal.throwIfAborted()
    journal.begin(chat, key, (about === null ? null : readMessageId(about))?.message ?? 0, buttons)
    pace.sent(chat)
    try {
      const id = await send()
      journal.exists(chat, key, id)
      return id
    } catch (error) {
      if (isNo(troubleOf(error))) journal.failed(chat, key)
      throw error
    }
  }

  return {
    create(wanted, signal) {
      const line = lines.get(wanted.chat) ?? createSerial()
      lines.set(wanted.chat, line)
      return line(() => post(wanted, signal))
    },
  }
}
