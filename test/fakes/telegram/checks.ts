// What the Bot API accepts: which parameters, how long, and which entities.
import { bad } from './refusal.ts'
import type { Entity } from './types.ts'

const posting = ['chat_id', 'message_thread_id', 'reply_parameters', 'reply_markup', 'disable_notification']

/** All others are refused, so that a mistyped parameter is noticed. */
export const parameters: Readonly<Record<string, readonly string[]>> = {
  getMe: [],
  getWebhookInfo: [],
  getUpdates: ['offset', 'limit', 'timeout', 'allowed_updates'],
  getChat: ['chat_id'],
  getChatMember: ['chat_id', 'user_id'],
  getFile: ['file_id'],
  sendMessage: [...posting, 'text', 'entities', 'link_preview_options'],
  sendMessageDraft: ['chat_id', 'message_thread_id', 'draft_id', 'text', 'entities'],
  sendPhoto: [...posting, 'photo'],
  sendDocument: [...posting, 'document'],
  sendChatAction: ['chat_id', 'message_thread_id', 'action'],
  editMessageText: ['chat_id', 'message_id', 'text', 'entities', 'link_preview_options', 'reply_markup'],
  editMessageReplyMarkup: ['chat_id', 'message_id', 'reply_markup'],
  deleteMessage: ['chat_id', 'message_id'],
  setMessageReaction: ['chat_id', 'message_id', 'reaction'],
  setMyCommands: ['commands'],
  answerCallbackQuery: ['callback_query_id', 'text', 'show_alert'],
}

export function checkText(text: unknown, most = 4096): string {
  if (typeof text !== 'string' || text.trim() === '') throw bad('message text is empty')
  if (text.length > most) throw bad('message is too long')
  return text
}

type Markup = Readonly<Record<string, unknown>>

/** The data of the buttons. */
export function checkMarkup(given: unknown): { readonly buttons: readonly string[]; readonly forcesReply: boolean } {
  const markup = (given ?? {}) as Markup
  const { inline_keyboard: rows = [], force_reply: forces, input_field_placeholder: hint = '', ...others } = markup
  if (Object.keys(others).some(name => name !== 'selective')) throw bad("can't parse reply keyboard markup JSON object")
  if (forces !== undefined && rows !== undefined && (rows as unknown[]).length > 0)
    throw bad('object expected as reply markup')
  if (String(hint).length > 64) throw bad('input field placeholder is too long')
  const buttons = (rows as readonly (readonly Markup[])[]).flatMap(row => {
    if (row.length > 8) throw bad('REPLY_MARKUP_TOO_LONG')
    return row.map(({ text, callback_data: data }) => {
      if (typeof text !== 'string' || text === '')
        throw bad("can't parse inline keyboard button: text must be non-empty")
      const bytes = Buffer.byteLength(String(data ?? ''))
      if (bytes < 1 || bytes > 64) throw bad('BUTTON_DATA_INVALID')
      return String(data)
    })
  })
  if (buttons.length > 100) throw bad('REPLY_MARKUP_TOO_LONG')
  return { buttons, forcesReply: forces === true }
}

const plainTypes = ['bold', 'italic', 'underline', 'strikethrough', 'spoiler', 'code', 'pre', 'blockquote', 'text_link']

export function checkEntities(given: unknown, text: string): readonly Entity[] {
  const entities = (given ?? []) as readonly Entity[]
  const wrong = (why: string) => bad(`can't parse entities: ${why}`)
  if (entities.length > 100) throw wrong('too many of them')
  const open: { end: number; type: string }[] = []
  const splits = (at: number) => /[\uDC00-\uDFFF]/.test(text.charAt(at)) && /[\uD800-\uDBFF]/.test(text.charAt(at - 1))
  for (const { type, offset, length, url, user } of [...entities].sort(
    (a, b) => a.offset - b.offset || b.length - a.length,
  )) {
    if (!plainTypes.includes(type) && type !== 'text_mention') throw wrong(`type ${type}`)
    if (type === 'text_mention' && !Number.isInteger(user?.id)) throw wrong('whom it mentions')
    if (!Number.isInteger(offset) || !Number.isInteger(length) || offset < 0 || length < 1) throw wrong('bounds')
    if (offset + length > text.length) throw wrong('beyond the end of the text')
    if (splits(offset) || splits(offset + length)) throw wrong('half a character')
    if (/^\s|\s$/.test(text.slice(offset, offset + length))) throw wrong('around whitespace')
    if (type === 'text_link' && !URL.canParse(url ?? '')) throw wrong('URL')
    while (open.length > 0 && (open.at(-1)?.end ?? 0) <= offset) open.pop()
    const around = open.at(-1)
    if (around && offset + length > around.end) throw wrong('overlap')
    if (around && (around.type === 'pre' || around.type === 'code')) throw wrong('something inside of code')
    open.push({ end: offset + length, type })
  }
  return entities
}

export function checkCommands(given: unknown): readonly { command: string; description: string }[] {
  const commands = given as readonly { command: string; description: string }[]
  if (!Array.isArray(given) || commands.length > 100) throw bad('commands must be an array of at most 100')
  for (const { command, description } of commands) {
    if (!/^[a-z0-9_]{1,32}$/.test(command)) throw bad('BOT_COMMAND_INVALID')
    if (description.length < 1 || description.length > 256) throw bad('BOT_COMMAND_DESCRIPTION_INVALID')
  }
  return commands
}

/** One message a second in a chat (some at once are tolerated), twenty a minute in a group, thirty a second in all. */
export function createLimits(now: () => number) {
  const times = new Map<string, number[]>()
  const over = (name: string, most: number, ms: number): boolean => {
    const kept = (times.get(name) ?? []).filter(at => at > now() - ms)
    times.set(name, [...kept, now()])
    return kept.length >= most
  }
  /** Seconds to wait; null: fine. */
  return (chat: number): number | null => {
    const tooMany = [
      over('all', 32, 1000),
      over(`chat ${chat}`, 5, 3000),
      chat < 0 && over(`group ${chat}`, 21, 60_000),
    ]
    return tooMany.some(Boolean) ? 1 : null
  }
}
