// The methods of the Bot API that the loopback Telegram knows.
import { checkCommands, checkEntities, checkMarkup, checkText } from './checks.ts'
import { bad, Refusal } from './refusal.ts'
import { chatShape, find, type Json, messageShape, messagesIn, nextMessage, type State, userShape } from './state.ts'
import type { Chat, StoredMessage, TelegramOptions } from './types.ts'

export interface Uploaded {
  readonly name: string
  readonly bytes: Buffer
}

export type Method = (payload: Json, files: ReadonlyMap<string, Uploaded>) => unknown

export function methodsOf(
  state: State,
  options: TelegramOptions,
  now: () => number,
  tooFast: (chat: number) => number | null,
) {
  function chatOf({ chat_id: id }: Json): Chat {
    const to = state.moved.get(Number(id))
    if (to !== undefined)
      throw new Refusal(400, 'group chat was upgraded to a supergroup chat', { migrate_to_chat_id: to })
    const chat = state.chats.get(Number(id))
    if (!chat) throw bad('chat not found')
    return chat
  }

  function writable(payload: Json): Chat {
    const chat = chatOf(payload)
    if (state.barred.has(chat.id))
      throw new Refusal(
        403,
        chat.type === 'private' ? 'bot was blocked by the user' : 'bot was kicked from the group chat',
      )
    if (state.muted.has(chat.id)) throw bad('not enough rights to send text messages to the chat')
    const topic = payload.message_thread_id
    if (topic !== undefined && !state.topics.get(chat.id)?.has(Number(topic))) throw bad('message thread not found')
    return chat
  }

  function paced(payload: Json): Chat {
    const chat = writable(payload)
    const wait = options.unlimited ? null : tooFast(chat.id)
    if (wait !== null) throw new Refusal(429, `retry after ${wait}`, { retry_after: wait })
    return chat
  }

  const entitiesOf = (payload: Json, text: string) => {
    if (options.noEntities && payload.entities !== undefined) throw bad("can't parse entities: not here")
    return checkEntities(payload.entities, text)
  }

  const buttonsOf = ({ reply_markup: markup }: Json): readonly string[] => checkMarkup(markup).buttons

  function store(payload: Json, chat: Chat, more: Pick<StoredMessage, 'text' | 'entities' | 'kind' | 'file'>): Json {
    const reply = payload.reply_parameters as { message_id: number; allow_sending_without_reply?: boolean } | undefined
    const other = reply && find(state, chat.id, reply.message_id)
    if (reply && !other && !reply.allow_sending_without_reply) throw bad('message to be replied not found')
    const message: StoredMessage = {
      ...{ id: nextMessage(state, chat), chat: chat.id, from: state.bot.id, date: Math.floor(now() / 1000) },
      topic: payload.message_thread_id === undefined ? null : Number(payload.message_thread_id),
      replyTo: other?.id ?? null,
      ...checkMarkup(payload.reply_markup),
      history: [more.text],
      silent: payload.disable_notification === true,
      ...more,
    }
    messagesIn(state, chat.id).push(message)
    return messageShape(state, message)
  }

  function own(payload: Json): StoredMessage {
    const message = find(state, chatOf(payload).id, Number(payload.message_id))
    if (!message) throw bad('message to edit not found')
    if (message.from !== state.bot.id || message.forcesReply) throw bad("message can't be edited")
    return message
  }

  const same =
    'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message'

  function sendFile(payload: Json, files: ReadonlyMap<string, Uploaded>, kind: 'photo' | 'document'): Json {
    const chat = paced(payload)
    const name = /^attach:\/\/(.+)$/.exec(String(payload[kind]))?.[1] ?? ''
    const file = files.get(name)
    if (!file || file.bytes.length === 0) throw bad('file must be non-empty')
    const isImage = file.bytes[0] === 0x89 || file.bytes[0] === 0xff
    if (kind === 'photo' && !isImage) throw bad('IMAGE_PROCESS_FAILED')
    return store(payload, chat, { text: '', entities: [], kind, file: { name: file.name, bytes: file.bytes.length } })
  }

  const methods: Record<string, Method> = {
    getMe: () => ({ ...userShape(state, state.bot.id), can_join_groups: true, can_read_all_group_messages: false }),
    getWebhookInfo: () => ({ url: state.webhook, has_custom_certificate: false, pending_update_count: 0 }),
    getChat: payload => chatShape(chatOf(payload)),
    getChatMember(payload) {
      const { id } = chatOf(payload)
      if (Number(payload.user_id) !== state.bot.id) throw bad('user not found')
      const status = state.barred.has(id) ? 'kicked' : state.muted.has(id) ? 'restricted' : 'member'
      return {
        status,
        user: userShape(state, state.bot.id),
        ...(status === 'restricted' ? { can_send_messages: false } : {}),
      }
    },
    getFile({ file_id: id }) {
      const file = state.files.get(String(id))
      if (!file) throw bad('invalid file_id')
      if (file.size > 20 * 1024 * 1024) throw bad('file is too big')
      return { file_id: id, file_unique_id: id, file_size: file.size, file_path: file.path }
    },
    sendMessage(payload) {
      const chat = paced(payload)
      const text = checkText(payload.text)
      return store(payload, chat, { text: text.trim(), entities: entitiesOf(payload, text), kind: 'text', file: null })
    },
    sendPhoto: (payload, files) => sendFile(payload, files, 'photo'),
    sendDocument: (payload, files) => sendFile(payload, files, 'document'),
    sendMessageDraft(payload) {
      const chat = writable(payload)
      if (chat.type !== 'private') throw bad('TEXTDRAFT_PEER_INVALID')
      if (!Number.isInteger(payload.draft_id) || payload.draft_id === 0) throw bad('RANDOM_ID_INVALID')
      const text = checkText(payload.text)
      entitiesOf(payload, text)
      state.drafts.set(chat.id, [...(state.drafts.get(chat.id) ?? []), text])
      return true
    },
    sendChatAction(payload) {
      const chat = writable(payload)
      if (payload.action !== 'typing') throw bad('wrong parameter action in request')
      const place =
        payload.message_thread_id === undefined ? String(chat.id) : `${chat.id}:${payload.message_thread_id}`
      state.typing.set(place, [...(state.typing.get(place) ?? []), now()])
      return true
    },
    editMessageText(payload) {
      const message = own(payload)
      const text = checkText(payload.text)
      const entities = entitiesOf(payload, text)
      const buttons = buttonsOf(payload)
      const after = JSON.stringify([text.trim(), entities, buttons])
      if (after === JSON.stringify([message.text, message.entities, message.buttons])) throw bad(same)
      Object.assign(message, { text: text.trim(), entities, buttons })
      message.history.push(text)
      return messageShape(state, message)
    },
    editMessageReplyMarkup(payload) {
      const message = own(payload)
      const buttons = buttonsOf(payload)
      if (JSON.stringify(buttons) === JSON.stringify(message.buttons)) throw bad(same)
      message.buttons = buttons
      return messageShape(state, message)
    },
    deleteMessage(payload) {
      const chat = chatOf(payload)
      const all = messagesIn(state, chat.id)
      const at = all.findIndex(one => one.id === Number(payload.message_id))
      if (at < 0) throw bad('message to delete not found')
      all.splice(at, 1)
      return true
    },
    setMessageReaction(payload) {
      const chat = writable(payload)
      const [reaction] = payload.reaction as { type: string; emoji: string }[]
      if (!find(state, chat.id, Number(payload.message_id))) throw bad('message to react not found')
      if (!['👀', '👍', '🤔'].includes(reaction?.emoji ?? '')) throw bad('REACTION_INVALID')
      state.reactions.push({ chat: chat.id, message: Number(payload.message_id), emoji: reaction?.emoji ?? '' })
      return true
    },
    setMyCommands(payload) {
      state.menu = checkCommands(payload.commands)
      return true
    },
    answerCallbackQuery(payload) {
      const query = state.callbacks.get(String(payload.callback_query_id))
      if (!query || query.answered !== null)
        throw bad('query is too old and response timeout expired or query ID is invalid')
      const text = String(payload.text ?? '')
      if (text.length > 200) throw bad('MESSAGE_TOO_LONG')
      query.answered = text
      return true
    },
  }
  if (options.noDrafts) delete methods.sendMessageDraft
  return methods
}
