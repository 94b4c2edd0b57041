// A conversation on Telegram as it is written in places and lanes: `<chat>` or `<chat>:<topic>`.

export interface ChatAndTopic {
  readonly chat: number
  /** The topic of a forum; null: the chat itself, or the General topic. */
  readonly topic: number | null
}

/** Null: it is not one of Telegram. */
export function readConversation(text: string): ChatAndTopic | null {
  const [, chat, topic] = /^(-?\d{1,16})(?::(\d{1,16}))?$/.exec(text) ?? []
  if (chat === undefined) return null
  return { chat: Number(chat), topic: topic === undefined ? null : Number(topic) }
}

export const conversationOf = ({ chat, topic }: ChatAndTopic): string =>
  topic === null ? String(chat) : `${chat}:${topic}`

/** Message ids are unique in their chat only, so events have both. Buttons have their own ids. */
export const messageId = (chat: number, message: number): string => `${chat}.${message}`
export const callbackId = (chat: number, query: string): string => `${chat}.button-${query}`

/** Null: not a message, such as a button. */
export function readMessageId(id: string): { readonly chat: number; readonly message: number } | null {
  const [, chat, message] = /^(-?\d+)\.(\d+)$/.exec(id) ?? []
  return chat === undefined ? null : { chat: Number(chat), message: Number(message) }
}

export const readCallbackId = (id: string): string | null => /^-?\d+\.button-(.+)$/.exec(id)?.[1] ?? null

/** Groups have negative ids. */
export const isGroup = (chat: number): boolean => chat < 0
