// What the loopback Telegram keeps in memory, and how its messages look in updates and answers.
import type { Chat, Entity, Person, StoredMessage } from './types.ts'

export type Json = Record<string, unknown>

export interface State {
  token: string
  readonly bot: { readonly id: number; readonly username: string }
  readonly people: Map<number, Person>
  readonly chats: Map<number, Chat>
  readonly messages: Map<number, StoredMessage[]>
  /** The topics of forums. */
  readonly topics: Map<number, Set<number>>
  readonly files: Map<string, { readonly path: string; readonly bytes: Buffer; readonly size: number }>
  readonly updates: Json[]
  readonly callbacks: Map<string, { answered: string | null }>
  /** Chats that the bot was removed from, or people who block it. */
  readonly barred: Set<number>
  /** Groups in which it may not write. */
  readonly muted: Set<number>
  /** Old ids of groups. */
  readonly moved: Map<number, number>
  readonly drafts: Map<number, string[]>
  readonly typing: Map<string, number[]>
  readonly reactions: { readonly chat: number; readonly message: number; readonly emoji: string }[]
  menu: readonly { command: string; description: string }[]
  webhook: string
  /** The shared counter of private chats and basic groups, and one for each supergroup. */
  readonly counters: Map<string, number>
  nextUpdate: number
  wake(): void
}

export function nextMessage(state: State, { id, type }: Chat): number {
  const counter = type === 'supergroup' ? String(id) : 'shared'
  const next = (state.counters.get(counter) ?? 0) + 1
  state.counters.set(counter, next)
  return next
}

export const messagesIn = (state: State, chat: number): StoredMessage[] => {
  const found = state.messages.get(chat) ?? []
  state.messages.set(chat, found)
  return found
}

export const userShape = (state: State, id: number): Json =>
  id === state.bot.id
    ? { id, is_bot: true, first_name: 'Aetheel', username: state.bot.username }
    : { id, is_bot: false, first_name: state.people.get(id)?.name ?? '?' }

export const chatShape = ({ id, type, title, forum }: Chat): Json =>
  type === 'private' ? { id, type, first_name: title } : { id, type, title, ...(forum ? { is_forum: true } : {}) }

export function messageShape(state: State, message: StoredMessage, deep = true): Json {
  const chat = state.chats.get(message.chat)
  const other = deep && message.replyTo !== null ? find(state, message.chat, message.replyTo) : undefined
  const words = message.kind === 'text' ? 'text' : 'caption'
  return {
    message_id: message.id,
    from: userShape(state, message.from),
    chat: chat ? chatShape(chat) : { id: message.chat },
    date: message.date,
    ...(message.text === '' ? {} : { [words]: message.text }),
    ...(message.entities.length === 0
      ? {}
      : { [message.kind === 'text' ? 'entities' : 'caption_entities']: message.entities }),
    ...(message.topic === null ? {} : { message_thread_id: message.topic, is_topic_message: true }),
    ...(other ? { reply_to_message: messageShape(state, other, false) } : {}),
  }
}

export const find = (state: State, chat: number, id: number): StoredMessage | undefined =>
  messagesIn(state, chat).find(one => one.id === id)

export function push(state: State, update: Json): number {
  const id = state.nextUpdate++
  state.updates.push({ update_id: id, ...update })
  state.wake()
  return id
}

/** Commands and mentions, as Telegram finds them. */
export function entitiesIn(text: string): readonly Entity[] {
  const all: Entity[] = []
  for (const found of text.matchAll(/(?<![\w/])\/[a-z0-9_]{1,32}(@\w+)?/gi))
    all.push({ type: 'bot_command', offset: found.index, length: found[0].length })
  for (const found of text.matchAll(/(?<![\w/])@\w{3,32}/g))
    if (
      !all.some(one => one.type === 'bot_command' && found.index < one.offset + one.length && found.index >= one.offset)
    )
      all.push({ type: 'mention', offset: found.index, length: found[0].length })
  return all
}
