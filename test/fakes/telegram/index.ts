// A Telegram on the loopback: the Bot API, strict, with everything in memory.
import { createLimits } from './checks.ts'
import { methodsOf } from './methods.ts'
import { openServer } from './server.ts'
import {
  entitiesIn,
  find,
  type Json,
  messageShape,
  messagesIn,
  nextMessage,
  push,
  type State,
  userShape,
} from './state.ts'
import type { Chat, FileGiven, Person, SayOptions, StoredMessage, TelegramOptions } from './types.ts'

export type * from './types.ts'
export type FakeTelegram = Awaited<ReturnType<typeof openTelegram>>

export async function openTelegram(options: TelegramOptions = {}) {
  const state: State = {
    ...{ token: '987654321:AAloopback-token-for-tests-only', bot: { id: 987654321, username: 'aetheel_bot' } },
    ...{ people: new Map(), chats: new Map(), messages: new Map(), topics: new Map(), files: new Map() },
    ...{ updates: [], callbacks: new Map(), barred: new Set(), muted: new Set(), moved: new Map() },
    ...{ drafts: new Map(), typing: new Map(), reactions: [], menu: [], webhook: '' },
    ...{ counters: new Map(), nextUpdate: 700_000, wake: () => undefined },
  }
  const now = Date.now
  const server = await openServer(state, methodsOf(state, options, now, createLimits(now)))
  let ids = 5000

  function user(name: string): Person {
    const person = { id: ++ids, name }
    state.people.set(person.id, person)
    state.chats.set(person.id, { id: person.id, type: 'private', title: name, forum: false })
    return person
  }
  const known = (id: number): Chat => {
    const found = state.chats.get(id)
    if (!found) throw new Error('no such chat')
    return found
  }
  function group(title: string, type: 'group' | 'supergroup' = 'supergroup', forum = false): Chat {
    const id = type === 'group' ? -++ids : -(1_000_000_000_000 + ++ids)
    const chat: Chat = { id, type, title, forum }
    state.chats.set(id, chat)
    return chat
  }

  function file({ kind, name, bytes, size = Buffer.byteLength(bytes) }: FileGiven): Json {
    const id = `file-${++ids}`
    const path = `${kind}s/${id}`
    state.files.set(id, { path, bytes: Buffer.from(bytes), size })
    const told = { file_id: id, file_unique_id: id, file_size: size }
    if (kind === 'photo')
      return {
        photo: [
          { ...told, file_id: 'small', width: 90, height: 90 },
          { ...told, width: 800, height: 800 },
        ],
      }
    if (kind === 'voice') return { voice: { ...told, duration: 3, mime_type: 'audio/ogg' } }
    return { document: { ...told, file_name: name ?? 'file.txt', mime_type: 'text/plain' } }
  }

  /** An update that the bot gets. More than one file is an album. */
  function say(person: Person, chat: Chat, text: string, given: SayOptions = {}): StoredMessage {
    const { topic = null, replyTo, mention = false, files = [], date = Math.floor(now() / 1000) } = given
    const words = mention ? `@${state.bot.username} ${text}` : text
    const album = files.length > 1 ? { media_group_id: `album-${++ids}` } : {}
    const said = [files[0] ?? null, ...files.slice(1)].map((one, i): StoredMessage => {
      const own = i === 0 ? words : ''
      const message: StoredMessage = {
        ...{ id: nextMessage(state, chat), chat: chat.id, from: person.id, topic, date, text: own },
        ...{ entities: entitiesIn(own), replyTo: replyTo?.id ?? null, buttons: [], file: null, history: [own] },
        ...{ kind: one ? 'document' : 'text', silent: false },
      }
      messagesIn(state, chat.id).push(message)
      push(state, { message: { ...messageShape(state, message), ...(one ? file(one) : {}), ...album } })
      return message
    })
    return said[0] as StoredMessage
  }

  async function until<T>(look: () => T, ms = 5000): Promise<NonNullable<T>> {
    for (const end = performance.now() + ms; ; ) {
      const found = look()
      if (found !== undefined && found !== null && found !== false) return found
      if (performance.now() > end) throw new Error('what was waited for did not come')
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  const ada = user('Ada')
  const close = server.close
  return {
    ...server,
    ...{ bot: state.bot, ada, user, group, say, until, close },
    get token() {
      return state.token
    },
    alone: (person: Person): Chat => known(person.id),
    topic(chat: Chat): number {
      const id = nextMessage(state, chat)
      state.topics.set(chat.id, new Set([...(state.topics.get(chat.id) ?? []), id]))
      return id
    },
    edit(message: StoredMessage, text: string) {
      message.text = text
      push(state, {
        edited_message: { ...messageShape(state, { ...message, entities: entitiesIn(text) }), edit_date: 1 },
      })
    },
    /** What the person sees who pressed the button; null: nothing yet. */
    press(person: Person, message: StoredMessage, data: string): () => string | null {
      const id = `query-${++ids}`
      const query = { answered: null as string | null }
      state.callbacks.set(id, query)
      const shape = messageShape(state, find(state, message.chat, message.id) ?? message)
      push(state, {
        callback_query: { id, from: userShape(state, person.id), data, chat_instance: '1', message: shape },
      })
      return () => query.answered
    },
    /** A basic group becomes a supergroup, with another id. */
    migrate(chat: Chat): Chat {
      const next = group(chat.title)
      state.moved.set(chat.id, next.id)
      const at = { date: Math.floor(now() / 1000), from: userShape(state, ada.id) }
      push(state, {
        message: {
          message_id: nextMessage(state, chat),
          chat: { id: chat.id, type: 'group', title: chat.title },
          ...at,
          migrate_to_chat_id: next.id,
        },
      })
      push(state, {
        message: {
          message_id: nextMessage(state, next),
          chat: { id: next.id, type: 'supergroup', title: chat.title },
          ...at,
          migrate_from_chat_id: chat.id,
        },
      })
      return next
    },
    bar: (chat: Chat, on = true) => void (on ? state.barred.add(chat.id) : state.barred.delete(chat.id)),
    mute: (chat: Chat) => void state.muted.add(chat.id),
    remove: (chat: Chat) => void state.chats.delete(chat.id),
    changeToken(token: string) {
      state.token = token
    },
    webhook(url: string) {
      state.webhook = url
    },
    /** The last updates come again, as after a lost confirmation, in the wrong order. */
    repeat: (updates: readonly Json[]) => {
      state.updates.unshift(...[...updates].reverse())
      state.wake()
    },
    pending: (): readonly Json[] => state.updates,
    messages: (chat: Chat): readonly StoredMessage[] => messagesIn(state, chat.id),
    /** Those of the bot only; `finals`: without drafts, which have a button. */
    answers: (chat: Chat): readonly StoredMessage[] =>
      messagesIn(state, chat.id).filter(one => one.from === state.bot.id),
    finals: (chat: Chat): readonly StoredMessage[] =>
      messagesIn(state, chat.id).filter(one => one.from === state.bot.id && one.buttons.length === 0),
    drafts: (chat: Chat): readonly string[] => state.drafts.get(chat.id) ?? [],
    typing: (place: string): readonly number[] => state.typing.get(place) ?? [],
    reactions: () => state.reactions,
    menu: () => state.menu,
    [Symbol.asyncDispose]: close,
  }
}
