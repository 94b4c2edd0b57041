// Decides which Telegram messages are meant for the bot, and what they say.
import type { Message, MessageEntity, User } from 'grammy/types'
import type { Sender } from '../../base/event.ts'
import { forwarded, inReply, namedInReply } from '../quoted.ts'

export interface Us {
  readonly id: number
  readonly username: string
}

export const isPrivate = ({ chat }: Pick<Message, 'chat'>): boolean => chat.type === 'private'

/** Ignores bots, channels and service messages, so that no two bots talk to each other for ever. */
export const isFromPerson = (message: Message): message is Message & { from: User } =>
  message.from !== undefined && !message.from.is_bot && message.chat.type !== 'channel' && !message.is_automatic_forward

export const nameOf = ({ first_name, last_name }: User): string => [first_name, last_name].filter(Boolean).join(' ')

interface Worded {
  readonly text: string
  readonly entities: readonly MessageEntity[]
}

const wordsIn = ({ text, caption, entities, caption_entities }: Message): Worded => ({
  text: text ?? caption ?? '',
  entities: (text === undefined ? caption_entities : entities) ?? [],
})

const part = (text: string, { offset, length }: MessageEntity): string => text.slice(offset, offset + length)

/** In a group: a mention, a reply to us, or one of our commands. */
export function isForUs(message: Message, us: Us, commands: readonly string[]): boolean {
  if (isPrivate(message)) return true
  const { text, entities } = wordsIn(message)
  if (entities.some(one => isMention(text, one, us))) return true
  if (message.reply_to_message?.from?.id === us.id && !isTopicStart(message)) return true
  const command = commandOf(message, us)
  return command !== null && (command.named || commands.includes(command.name))
}

/** Telegram shows every message of a topic as a reply to the message that created it. */
const isTopicStart = ({ reply_to_message: other }: Message): boolean => other?.forum_topic_created !== undefined

const isMention = (text: string, entity: MessageEntity, us: Us): boolean =>
  (entity.type === 'mention' && part(text, entity).toLowerCase() === `@${us.username.toLowerCase()}`) ||
  (entity.type === 'text_mention' && entity.user.id === us.id)

/** `/new@our_bot rest`. Null: none, or one for another bot. `named`: it names us. */
function commandOf(message: Message, us: Us): { readonly name: string; readonly named: boolean } | null {
  const { text, entities } = wordsIn(message)
  const first = entities.find(one => one.type === 'bot_command' && one.offset === 0)
  if (!first) return null
  const [name = '', bot] = part(text, first).slice(1).split('@')
  if (bot !== undefined && bot.toLowerCase() !== us.username.toLowerCase()) return null
  return { name: name.toLowerCase(), named: bot !== undefined }
}

/** The text without mentions of the bot, with the message it replies to or the note that it was forwarded. */
export function promptOf(message: Message, us: Us): string {
  const { text, entities } = wordsIn(message)
  let own = text
  for (const one of [...entities].sort((a, b) => b.offset - a.offset)) {
    if (isMention(text, one, us)) own = own.slice(0, one.offset) + own.slice(one.offset + one.length)
    else if (one.type === 'bot_command' && one.offset === 0 && commandOf(message, us)?.named)
      own = own.slice(0, part(text, one).indexOf('@')) + own.slice(one.length)
  }
  own = own.trim()
  // Not even a command: the words of somebody else.
  if (message.forward_origin) return own === '' ? '' : forwarded(own)
  // The Start button of a new chat.
  if (isPrivate(message) && /^\/start(\s|$)/.test(own)) return '/help'
  // A command stays a command even as a reply.
  if (own.startsWith('/')) return own
  return [...quoteOf(message, us), own].filter(Boolean).join('\n\n')
}

function quoteOf(message: Message, us: Us): readonly string[] {
  const other = message.reply_to_message
  if (!other || isTopicStart(message)) return []
  const words = message.quote?.text ?? wordsIn(other as Message).text
  // The agent knows what it said; a chosen quote of it says which part is meant.
  if (words === '' || (other.from?.id === us.id && !message.quote)) return []
  const whom = other.from?.id === us.id ? 'you' : namedInReply(other.from ? nameOf(other.from) : '')
  return [inReply(whom, words)]
}

/** `chat`: the id of the group before it became a supergroup, if it did. */
export function senderOf(
  { chat, is_topic_message }: Pick<Message, 'chat' | 'is_topic_message'>,
  user: User,
  id: number,
): Sender {
  const title = 'title' in chat && chat.title ? chat.title : ''
  const group = is_topic_message ? `a topic of the group ${title}` : `the group ${title}`
  return {
    ...{ chat: 'telegram', user: String(user.id), roles: [], channel: String(id) },
    guild: chat.type === 'private' ? null : String(chat.id),
    where: chat.type === 'private' ? 'a direct message' : group.trim(),
  }
}
