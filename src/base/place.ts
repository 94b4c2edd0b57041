// A place as people write it in a file: `discord:1234`, `webchat:kitchen`, or only the conversation.
import type { Place } from './event.ts'

/** Null: nothing is written. Without a chat name it is in the first of the active chats. */
export function readPlace(written: string | null, chats: readonly [string, ...string[]]): Place | null {
  const text = written?.trim() ?? ''
  if (text === '') return null
  const [, chat, conversation] = /^([a-z]+):(.+)$/.exec(text) ?? []
  if (chat !== undefined && conversation !== undefined) return { chat, conversation }
  return { chat: chats[0], conversation: text.replace(/^#/, '') }
}

/** The full form: `discord:1234`. Also the lane of that conversation. */
export const placeName = ({ chat, conversation }: Place): string => `${chat}:${conversation}`
