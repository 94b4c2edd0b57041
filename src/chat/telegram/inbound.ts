// Incoming updates, in order per chat: messages become events, edits change waiting ones, the stop button is a command.
import type { Api } from 'grammy'
import type { CallbackQuery, ChatMemberUpdated, Message, Update, User } from 'grammy/types'
import { stopButton } from '../../base/buttons.ts'
import type { Accepted, Attachment, Changed, Duplicate, NewEvent, Refused, Sender } from '../../base/event.ts'
import { createSerial, type Serial } from '../../base/serial.ts'
import { isForUs, isFromPerson, isPrivate, nameOf, promptOf, senderOf, type Us } from './addressed.ts'
import type { Clicks } from './clicks.ts'
import { callbackId, conversationOf, messageId } from './conversation.ts'
import { dropFiles, hasFiles } from './files-in.ts'
import type { Groups } from './groups.ts'
import type { Collect } from './media-groups.ts'

export interface InboundParts {
  readonly api: Api
  readonly groups: Groups
  readonly workspace: string
  readonly collect: Collect
  readonly clicks: Clicks
  /** The names of our commands, without the slash. */
  readonly commands: readonly string[]
  us(): Us
  accept(event: NewEvent): Promise<Accepted | Duplicate | Refused>
  change(key: string, event: NewEvent | null): Promise<Changed>
  knows(sender: Sender): boolean
  fetch(id: string, messages: readonly Message[]): Promise<readonly Attachment[]>
  /** Tells a person why a message was not accepted. */
  explain(conversation: string, id: string, reason: string): Promise<void>
  /** A message with this id exists. */
  seen(chat: number, message: number): void
  /** Answers a button, for the person who pressed it alone. */
  answerButton(query: string, words: string): Promise<void>
  trouble(why: string): void
  broke(error: unknown): void
}

export const keyOf = (id: string): string => `telegram:${id}`

/** Resolves with true when the update is handled; false: the gateway is stopping, and it must come again. */
export function createInbound(parts: InboundParts): (update: Update, missed: boolean) => Promise<boolean> {
  const { groups } = parts
  const turns = new Map<number, Serial>()

  /** One at a time per chat: a later message must not overtake one whose files take long. */
  function inOrder(chat: number, work: () => Promise<boolean>): Promise<boolean> {
    const serial = turns.get(chat) ?? createSerial()
    turns.set(chat, serial)
    return serial(work).catch((error: unknown) => {
      // It would throw again: report it, and do not ask for it again.
      parts.broke(error)
      return true
    })
  }

  const placeOf = ({
    chat,
    is_topic_message,
    message_thread_id,
  }: Pick<Message, 'chat' | 'is_topic_message' | 'message_thread_id'>) => {
    const original = groups.original(chat.id)
    const topic = is_topic_message && message_thread_id !== undefined ? message_thread_id : null
    return { original, conversation: conversationOf({ chat: original, topic }) }
  }

  async function eventOf(all: readonly Message[], from: User, missed: boolean, known: boolean): Promise<NewEvent> {
    const [first] = all as readonly [Message]
    const { original, conversation } = placeOf(first)
    // With the present id of the chat: a supergroup counts its messages anew.
    const id = messageId(first.chat.id, first.message_id)
    const prompt = all.map(one => promptOf(one, parts.us())).find(Boolean) ?? ''
    const attachments = known && all.some(hasFiles) ? await parts.fetch(id, all) : []
    const text = prompt === '' && attachments.length > 0 ? `(${nameOf(from)} sent this without text.)` : prompt
    return {
      ...{ key: keyOf(id), lane: `telegram:${conversation}`, source: 'telegram' },
      what: {
        ...{ kind: 'message', id, text },
        // The gate decides who is the owner.
        author: { id: String(from.id), name: nameOf(from), owner: false },
        ...(attachments.length === 0 ? {} : { attachments }),
      },
      replyTo: { chat: 'telegram', conversation },
      sender: { ...senderOf(first, from, original), at: first.date * 1000 },
      ...(missed ? { missed } : {}),
    }
  }

  async function receive(all: readonly Message[], missed: boolean): Promise<boolean> {
    const [first] = all
    if (!first || !isFromPerson(first)) return true
    if (!all.some(one => isForUs(one, parts.us(), parts.commands))) return true
    const { original, conversation } = placeOf(first)
    const sender = senderOf(first, first.from, original)
    const text = promptOf(first, parts.us())
    if (await parts.clicks.written(first, { conversation, sender, name: nameOf(first.from), text })) return true
    const known = parts.knows(sender)
    const event = await eventOf(all, first.from, missed, known)
    // A sticker or a location from a group, say; alone with the bot it would be silence.
    if (event.what.kind === 'message' && event.what.text === '') {
      if (isPrivate(first)) await parts.explain(conversation, event.what.id, 'I can read text and files only.')
      return true
    }
    const answer = await parts.accept(event)
    const id = messageId(first.chat.id, first.message_id)
    if (answer.type === 'accepted' && answer.position > 0) react(first)
    if (answer.type !== 'refused') return true
    // No answer and no confirmation: the next start receives the message again and answers it then.
    if (answer.why === 'stopping') return false
    if (all.some(hasFiles)) await dropFiles(id, parts.workspace)
    if (answer.reason !== '') await parts.explain(conversation, id, answer.reason)
    return true
  }

  /** Shows that a message waits. Some groups allow no reactions. */
  function react({ chat, message_id: id }: Message): void {
    void parts.api.setMessageReaction(chat.id, id, [{ type: 'emoji', emoji: '👀' }]).catch(() => undefined)
  }

  /** Of an album only the text with the first picture can be changed. */
  async function edit(message: Message): Promise<boolean> {
    if (!isFromPerson(message)) return true
    const { original } = placeOf(message)
    if (!parts.knows(senderOf(message, message.from, original))) return true
    if (message.media_group_id !== undefined) return true
    const event = await eventOf([message], message.from, false, true)
    if (event.what.kind === 'message' && event.what.text !== '') await parts.change(event.key, event)
    return true
  }

  async function press({ id: query, from, data, message }: CallbackQuery): Promise<boolean> {
    if (data === undefined || !message) {
      await parts.answerButton(query, '')
      return true
    }
    const place = { ...message, is_topic_message: 'is_topic_message' in message && message.is_topic_message === true }
    const { original, conversation } = placeOf(place as Message)
    const sender = senderOf(place as Message, from, original)
    if (data !== stopButton.id) {
      const where = { chat: message.chat.id, message: message.message_id, conversation }
      await parts.clicks.pressed(query, data, where, from, sender)
      return true
    }
    const id = callbackId(message.chat.id, query)
    const answer = await parts.accept({
      ...{ key: keyOf(id), lane: `telegram:${conversation}`, source: 'telegram' },
      what: { kind: 'message', id, text: '/stop', author: { id: String(from.id), name: nameOf(from), owner: false } },
      replyTo: { chat: 'telegram', conversation },
      sender,
    })
    if (answer.type === 'refused') {
      if (answer.why === 'stopping') return false
      await parts.answerButton(query, answer.reason || 'This button is not for you.')
    }
    return true
  }

  function member({ chat, new_chat_member: { status } }: ChatMemberUpdated): void {
    if (status !== 'left' && status !== 'kicked') return
    const where =
      chat.type === 'private' ? 'a person has blocked the bot' : `the bot was removed from the group ${chat.id}`
    parts.trouble(where)
  }

  return async (update, missed) => {
    const message = update.message ?? update.edited_message
    if (message) {
      const { chat, message_id: id, migrate_to_chat_id: to, migrate_from_chat_id: from } = message
      parts.seen(chat.id, id)
      if (to !== undefined) groups.moved(chat.id, to)
      if (from !== undefined) groups.moved(from, chat.id)
      if (to !== undefined || from !== undefined) return true
    }
    if (update.message) {
      // Collected before it gets in line: the pictures that follow are in the same line.
      const one = update.message
      return parts.collect(one, all => inOrder(one.chat.id, () => receive(all, missed)))
    }
    if (update.edited_message) {
      const edited = update.edited_message
      return inOrder(edited.chat.id, () => edit(edited))
    }
    const pressed = update.callback_query
    if (pressed) return inOrder(pressed.message?.chat.id ?? 0, () => press(pressed))
    if (update.my_chat_member) member(update.my_chat_member)
    return true
  }
}
