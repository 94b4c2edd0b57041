// Sends deliveries and drafts to Telegram: as a new message, or by editing one of our messages.
import { type Api, InputFile } from 'grammy'
import { stopButton } from '../../base/buttons.ts'
import type { FileScope, Outgoing } from '../../base/chat.ts'
import type { Place } from '../../base/event.ts'
import { type Answers, type DraftNote, withoutFileLinks } from '../live-drafts.ts'
import { type Buttoned, createSender, type Sender } from '../sender.ts'
import { createStopNotes, type StopNotes, stopNoteText } from '../stop-notes.ts'
import { stopping } from './api.ts'
import { readCallbackId, readConversation, readMessageId } from './conversation.ts'
import { isBadEntities, isUnchanged, troubleOf } from './errors.ts'
import type { Groups } from './groups.ts'
import type { Journal } from './journal.ts'
import { renderMarkdown } from './markdown.ts'
import type { Poster } from './poster.ts'
import { beginningOf, isPicture, keyboardOf, limits } from './render.ts'

export interface SendingParts {
  readonly api: Api
  readonly answers: Answers
  readonly buttoned: Buttoned
  readonly groups: Groups
  readonly journal: Journal
  readonly poster: Poster
  /** A workspace file; null: it no longer exists, or may not be sent. */
  readFile(path: string, scope?: FileScope): Promise<Uint8Array | null>
  /** It has been sent: it would not be sent again even if we were killed now. */
  sent(deliveryKey: string): void
  refusedToken(): void
}

export interface Sending extends Sender {
  readonly stops: StopNotes
  /** As a message with the Stop button. */
  writeDraft(place: Place, about: string, key: string, content: string): Promise<void>
  answerButton(query: string, words: string): Promise<void>
}

interface Target {
  readonly chat: number
  readonly thread: { readonly message_thread_id?: number }
}

interface FileOut {
  readonly name: string
  readonly data: Uint8Array
}

/** Bots may send files up to 50 MB. */
const mostBytes = 50 * 1024 * 1024
const buttonWords = 190
const mostFleeting = 60

export function createSending(parts: SendingParts): Sending {
  const { api, answers, buttoned, groups, journal, poster } = parts

  const targetOf = ({ conversation }: Place): Target | null => {
    const found = readConversation(conversation)
    if (!found) return null
    const thread = found.topic === null ? {} : { message_thread_id: found.topic }
    return { chat: groups.current(found.chat), thread }
  }

  const replyTo = (about: string | null, chat: number) => {
    const found = about === null ? null : readMessageId(about)
    // In a group that has moved, the message has another id, so the answer stands alone.
    if (!found || found.chat !== chat) return {}
    return { reply_parameters: { message_id: found.message, allow_sending_without_reply: true } }
  }

  /** With entities; without them if the server refuses them. */
  async function formatted<T>(markdown: string, send: (text: string, entities: object) => Promise<T>): Promise<T> {
    const { text, entities } = renderMarkdown(markdown)
    try {
      return await send(text, entities.length === 0 ? {} : { entities: [...entities] })
    } catch (error) {
      if (entities.length === 0 || !isBadEntities(troubleOf(error))) throw error
      return send(text, {})
    }
  }

  const quiet = { link_preview_options: { is_disabled: true } }

  const sendText = (target: Target, about: string | null, markdown: string, more: object = {}) =>
    formatted(markdown, async (text, entities) => {
      const { chat, thread } = target
      const extra = { ...quiet, ...thread, ...replyTo(about, chat), ...entities, ...more }
      return (await api.sendMessage(chat, text, extra)).message_id
    })

  /** Repeating it changes nothing. False: the message cannot be edited any more. */
  async function editText(chat: number, id: number, markdown: string, more: object = {}): Promise<boolean> {
    try {
      await formatted(markdown, (text, entities) =>
        api.editMessageText(chat, id, text, { ...quiet, ...entities, ...more }),
      )
      return true
    } catch (error) {
      const trouble = troubleOf(error)
      if (isUnchanged(trouble)) return true
      if (trouble.type === 'refused') return false
      throw error
    }
  }

  const sendFile = async (target: Target, about: string | null, { name, data }: FileOut, signal: AbortSignal) => {
    const { chat, thread } = target
    const extra = { ...thread, ...replyTo(about, chat) }
    const file = new InputFile(data, name)
    const asDocument = async () => (await api.sendDocument(chat, file, extra, stopping(signal))).message_id
    if (!isPicture(name, data.length)) return asDocument()
    try {
      return (await api.sendPhoto(chat, file, extra, stopping(signal))).message_id
    } catch (error) {
      // Too wide, too high or not really a picture.
      if (troubleOf(error).type !== 'refused') throw error
      return asDocument()
    }
  }

  /** Turns the draft into the answer. Null: there is none, or it cannot be edited and must be removed. */
  async function replaceDraft(chat: number, about: string, draft: DraftNote, markdown: string): Promise<number | null> {
    const id = idOf(draft)
    if (id !== null && (await editText(chat, id, markdown))) return id
    answers.leaveDraft(about)
    return null
  }

  const idOf = ({ channel, nonce, id }: DraftNote): number | null =>
    id === null ? (nonce === null ? null : journal.find(chatIn(channel), nonce)) : Number(id)

  const chatIn = (channel: string): number => readConversation(channel)?.chat ?? 0

  async function deliver(target: Target, message: Outgoing, signal: AbortSignal): Promise<number> {
    const { about, key, kind, buttons = [] } = message
    const { chat } = target
    const { text, files } = await bodyOf(message, parts.readFile)
    const keyboard = keyboardOf(buttons)
    const earlier = buttoned.replacedBy(message)
    if (earlier && (await editText(Number(earlier.channel), Number(earlier.id), text, keyboard)))
      return Number(earlier.id)
    const claim = kind === 'final' && about !== null ? answers.claim(about, key) : { first: false, draft: null }
    // Ids of a group that has moved say nothing about the present one.
    const hint = about !== null && readMessageId(about)?.chat === chat ? about : null
    const replied = kind === 'notice' || claim.first ? about : null
    let id = 0
    if (text !== '') {
      const draft = claim.draft && about !== null ? await replaceDraft(chat, about, claim.draft, text) : null
      const send = () => sendText(target, replied, text, keyboard)
      id = draft ?? (await poster.create({ chat, key, about: hint, buttons, send }, signal))
      buttoned.posted(message, { channel: String(chat), id: String(id) })
    }
    for (const [i, file] of files.entries()) {
      const send = () => sendFile(target, text === '' && i === 0 ? replied : null, file, signal)
      id = await poster.create({ chat, key: `${key}#file-${i}`, about: hint, send }, signal)
    }
    return id
  }

  async function answerButton(query: string, words: string): Promise<void> {
    try {
      const text = words.length > buttonWords ? `${words.slice(0, buttonWords - 1)}…` : words
      // A long text would disappear before it is read.
      await api.answerCallbackQuery(query, text === '' ? {} : { text, show_alert: text.length > mostFleeting })
    } catch (error) {
      // Too late: the button no longer waits, and nobody looks at it.
      if (troubleOf(error).type !== 'refused') throw error
    }
  }

  async function removeDraft(about: string, draft: DraftNote): Promise<void> {
    const id = idOf(draft)
    if (id !== null) {
      const gone = await api.deleteMessage(chatIn(draft.channel), id).catch((error: unknown) => {
        if (troubleOf(error).type === 'refused') return false
        throw error
      })
      if (!gone) await api.editMessageReplyMarkup(chatIn(draft.channel), id).catch(() => undefined)
    }
    answers.removed(about)
  }

  function postStoppable(target: Target, about: string, key: string, content: string): Promise<number> {
    const { chat } = target
    const buttons = [stopButton]
    const send = () => sendText(target, about, content, { ...keyboardOf(buttons), disable_notification: true })
    return poster.create({ chat, key, about, buttons, send }, new AbortController().signal)
  }

  const stops = createStopNotes(answers, async (place, about, key) => {
    const target = targetOf(place)
    if (!target) throw new Error('this is not a Telegram chat')
    return String(await postStoppable(target, about, key, stopNoteText))
  })

  const sender = createSender({
    ...{ answers, stops, troubleOf, removeDraft, sent: parts.sent, refusedToken: parts.refusedToken },
    async deliver(place, message, signal) {
      const target = targetOf(place)
      if (!target) throw new Error('this is not a Telegram chat')
      const button = message.about === null ? null : readCallbackId(message.about)
      if (button === null) return String(await deliver(target, message, signal))
      await answerButton(button, renderMarkdown(message.text).text)
      return '0'
    },
    learn(trouble, { conversation }) {
      if (trouble.type === 'moved') groups.moved(readConversation(conversation)?.chat ?? 0, trouble.to)
    },
  })

  return {
    ...sender,
    async post(place, message, drafts, signal) {
      if (!targetOf(place)) return { type: 'refused', why: 'this is not a Telegram chat' }
      return sender.post(place, message, drafts, signal)
    },
    answerButton,
    stops,

    async writeDraft(place, about, key, content) {
      const target = targetOf(place)
      if (sender.isOver() || !target || readCallbackId(about) !== null) return
      const there = answers.draftOf(about)
      const known = there && idOf(there)
      if (known) return void (await editText(target.chat, known, content, keyboardOf([stopButton])))
      const note = { channel: String(target.chat), nonce: key, id: null }
      // Stored before it is posted: otherwise a kill in between would leave an unknown draft.
      answers.drafted(about, note)
      answers.drafted(about, { ...note, id: String(await postStoppable(target, about, key, content)) })
    },
  }
}

/** The text and its files; a text that is too long for a message becomes a file. */
async function bodyOf(
  { text, files: paths = [], scope, document }: Outgoing,
  readFile: SendingParts['readFile'],
): Promise<{ readonly text: string; readonly files: readonly FileOut[] }> {
  const isLong = limits.measure(text) > limits.length
  const files: FileOut[] = isLong ? [{ name: 'answer.md', data: Buffer.from(text) }] : []
  if (document) files.push({ name: document.name, data: Buffer.from(document.text) })
  const missing: string[] = []
  for (const path of paths) {
    const name = path.split('/').at(-1) ?? path
    const data = await readFile(path, scope)
    if (data === null || data.length > mostBytes || data.length === 0) missing.push(name)
    else files.push({ name, data })
  }
  const words = isLong ? beginningOf(text) : withoutFileLinks(text, paths)
  const noted = missing.length === 0 ? words : `${words}\n\nNot sent: ${missing.join(', ')}`
  return { text: limits.measure(noted) <= limits.length ? noted : words, files }
}
