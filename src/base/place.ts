// A place as people write it in a file: `discord:1234`, `webchat:kitchen`, or the conversation alone.
import type { Place } from './event.ts'

/** Null: nothing is written. Without the name of a chat it is the first of those that are on. */
export function readPlace(written: string | null, chats: readonly [string, ...string[]]): Place | null {
  const text = written?.trim() ?? ''
  if (text === '') return null
  const [, chat, conversation] = /^([a-z]+):(.+)$/.exec(text) ?? []
  if (chat !== undefined && conversation !== undefined) return { chat, conversation }
  return { chat: chats[0], conversation: text.replace(/^#/, '') }
}
