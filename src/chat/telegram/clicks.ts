// Clicks on buttons, and the replies that people write after one: Telegram has no dialogs, so a message asks for a reply.
import type { Api } from 'grammy'
import type { Message, User } from 'grammy/types'
import type { ChatMemory, Click, ClickReply } from '../../base/chat.ts'
import type { Sender } from '../../base/event.ts'
import { nameOf } from './addressed.ts'
import { messageId, readConversation } from './conversation.ts'
import { troubleOf } from './errors.ts'
import type { Poster } from './poster.ts'

export interface ClickParts {
  readonly api: Api
  readonly memory: ChatMemory
  readonly poster: Poster
  clicked(click: Click): Promise<ClickReply>
  answerButton(query: string, words: string): Promise<void>
  /** Tells the author of a message something. */
  explain(conversation: string, id: string, words: string): Promise<void>
  trouble(why: string): void
}

/** A message of ours with buttons. */
interface Where {
  readonly chat: number
  readonly message: number
  readonly conversation: string
}

interface Written {
  readonly conversation: string
  readonly sender: Sender
  readonly name: string
  readonly text: string
}

/** What a message of ours asks for. */
interface Asked {
  readonly button: string
  readonly where: Where
  readonly user: string
}

export interface Clicks {
  pressed(query: string, button: string, where: Where, from: User, sender: Sender): Promise<void>
  /** False: the message is not a reply that a button asked for. */
  written(message: Message, written: Written): Promise<boolean>
}

const never = new AbortController().signal
const mostPlaceholder = 64

export function createClicks(parts: ClickParts): Clicks {
  const { api, memory, poster, clicked, answerButton } = parts
  const nameOfPrompt = (chat: number, message: number) => `ask:${messageId(chat, message)}`
  const refOf = ({ conversation, message }: Where) => ({
    place: { chat: 'telegram', conversation },
    id: String(message),
  })

  async function ask(
    query: string,
    button: string,
    where: Where,
    from: User,
    reply: Extract<ClickReply, { type: 'ask' }>,
  ) {
    const { chat, conversation } = where
    const name = nameOf(from)
    const thread = readConversation(conversation)?.topic ?? null
    const send = async () => {
      const sent = await api.sendMessage(chat, `${name}: ${reply.label}`, {
        // Only the person who is mentioned gets the field for the reply.
        entities: [{ type: 'text_mention', offset: 0, length: name.length, user: from }],
        reply_markup: {
          ...{ force_reply: true, selective: true },
          input_field_placeholder: reply.title.slice(0, mostPlaceholder),
        },
        ...(thread === null ? {} : { message_thread_id: thread }),
      })
      return sent.message_id
    }
    const id = await poster.create({ chat, key: `ask:${query}`, about: null, send }, never)
    memory.put(nameOfPrompt(chat, id), JSON.stringify({ button, where, user: String(from.id) } satisfies Asked))
  }

  return {
    async pressed(query, button, where, from, sender) {
      const reply = await clicked({ button, message: refOf(where), sender, name: nameOf(from), text: null })
      await answerButton(query, reply.type === 'note' ? reply.text : '')
      try {
        if (reply.type === 'ask') await ask(query, button, where, from, reply)
      } catch (error) {
        parts.trouble(`a click could not be answered: ${troubleOf(error).why}`)
      }
    },

    async written({ chat, message_id: id, reply_to_message: other }, { conversation, sender, name, text }) {
      const prompt = other && nameOfPrompt(chat.id, other.message_id)
      const asked = JSON.parse((prompt && memory.get(prompt)) || 'null') as Asked | null
      if (!prompt || !asked || asked.user !== sender.user || text === '' || text.startsWith('/')) return false
      const reply = await clicked({ button: asked.button, message: refOf(asked.where), sender, name, text })
      memory.put(prompt, null)
      if (reply.type === 'note') await parts.explain(conversation, messageId(chat.id, id), reply.text)
      // It has served its purpose.
      void api.deleteMessage(chat.id, other.message_id).catch(() => undefined)
      return true
    },
  }
}
