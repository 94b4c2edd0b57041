// Whether the bot can write to a chat or topic, asked without sending a message.
import type { PlaceCheck } from '../../base/chat-module.ts'
import { excerpt } from '../../base/scrub.ts'
import { type Answer, ask } from './ask.ts'
import { conversationOf, readConversation } from './conversation.ts'
import type { TelegramOptions } from './options.ts'
import { wordsFor } from './words.ts'

export async function checkChat(
  options: TelegramOptions,
  conversation: string,
  signal: AbortSignal,
): Promise<PlaceCheck> {
  const place = readConversation(conversation)
  if (!place) return { type: 'refused', why: 'a Telegram chat is a number, such as 1234, -1001234 or -1001234:56' }
  const { chat, topic } = place
  const found = await ask(options, 'getChat', { chat_id: chat }, signal)
  if (found.type === 'no' && found.movedTo !== null)
    return checkChat(options, conversationOf({ chat: found.movedTo, topic }), signal)
  if (found.type !== 'ok') return refusalOf(found)
  if (found.result.type === 'channel')
    return { type: 'refused', why: 'channels are not supported, only chats and groups' }
  if (found.result.type !== 'private') {
    const member = await ask(options, 'getChatMember', { chat_id: chat, user_id: ownId(options) }, signal)
    if (member.type !== 'ok') return refusalOf(member)
    const { status, can_send_messages: may } = member.result
    if (status === 'left' || status === 'kicked') return { type: 'refused', why: 'I am not in that group' }
    if (status === 'restricted' && may !== true) return { type: 'refused', why: 'I may not write in that group' }
  }
  // Shows "typing" for a moment; the only way to find out about a topic, or that somebody has blocked the bot.
  const thread = topic === null ? {} : { message_thread_id: topic }
  const typed = await ask(options, 'sendChatAction', { chat_id: chat, action: 'typing', ...thread }, signal)
  return typed.type === 'ok' ? { type: 'writable' } : refusalOf(typed)
}

/** The id of a bot is the first part of its token. */
const ownId = ({ botToken }: TelegramOptions): number => Number(botToken?.split(':')[0] ?? 0)

function refusalOf(answer: Exclude<Answer, { type: 'ok' }>): PlaceCheck {
  if (answer.type === 'unreachable') return { type: 'unknown', why: `Telegram cannot be reached (${answer.why})` }
  const { code, description } = answer
  if (code === 400 || code === 403) return { type: 'refused', why: wordsFor(description) }
  return { type: 'unknown', why: `Telegram answered ${code} (${excerpt(description, 100)})` }
}
