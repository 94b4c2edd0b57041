// Sends deliveries and drafts to Discord: as a new message, or by editing one of our messages.
import type { API } from '@discordjs/core'
import type { RawFile } from '@discordjs/rest'
import { stopButton } from '../../base/buttons.ts'
import type { ChatMemory, FileScope, Outgoing } from '../../base/chat.ts'
import type { Place } from '../../base/event.ts'
import {
  type Answers,
  createLiveDrafts,
  type DraftNote,
  type DraftParts,
  type Drafts,
  withoutFileLinks,
} from '../live-drafts.ts'
import { type Buttoned, createSender, type Sender } from '../sender.ts'
import { codes, troubleOf } from './errors.ts'
import type { Threads } from './places.ts'
import {
  allowed,
  type Body,
  beginningOf,
  componentsOf,
  draftOf,
  limits,
  nonceOf,
  type Poster,
  payloadOf,
} from './poster.ts'

export interface SendingParts {
  readonly api: API
  readonly answers: Answers
  readonly buttoned: Buttoned
  readonly asked: PendingQuestions
  readonly poster: Poster
  readonly threads: Threads
  /** A workspace file; null: it no longer exists, or may not be sent. */
  readFile(path: string, scope?: FileScope): Promise<Uint8Array | null>
  /** It has been sent: it would not be sent again even if we were killed now. */
  sent(deliveryKey: string): void
  refusedToken(): void
}

export interface Sending extends Sender {
  writeDraft(place: Place, about: string, key: string, content: string): Promise<void>
}

/** A text that is too long for a message. It is the only file with a content type. */
const answerFile = (text: string): RawFile => ({
  name: 'answer.md',
  data: Buffer.from(text),
  contentType: 'text/markdown',
})
const isAnswer = ({ contentType }: RawFile): boolean => contentType !== undefined

interface Stop {
  readonly signal?: AbortSignal
}

const most = { files: 10, together: 24 * 1024 * 1024 }
const ephemeral = 64
const notShown: Body = {
  content: 'The answer to your command could not be shown to you alone. Please use the command again.',
  files: [],
}

export function createSending(parts: SendingParts): Sending {
  const { api, answers, buttoned, asked, poster, threads } = parts

  /** Replaces everything in the message; repeating it changes nothing. */
  const replaced = ({ content, files, buttons = [] }: Body) => ({
    ...{ content, files, components: componentsOf(buttons), allowed_mentions: allowed() },
    attachments: files.map((file, id) => ({ id: String(id), filename: file.name })),
  })

  async function answerCommand({ app, token }: Asked, body: Body, stop: Stop): Promise<boolean> {
    return unlessRefused(api.interactions.editReply(app, token, replaced(body), undefined, stop))
  }

  /** Turns the draft into the answer. Null: there is no draft, or it cannot be edited and must be removed. */
  async function replaceDraft(channel: string, about: string, draft: DraftNote, body: Body, stop: Stop) {
    // During an outage, the answer does not wait to find out whether the draft exists.
    const id = await idOf(draft, about).catch(() => null)
    if (id !== null && (await unlessRefused(api.channels.editMessage(channel, id, replaced(body), stop)))) return id
    answers.leaveDraft(about)
    return null
  }

  const idOf = async ({ channel, nonce, id }: DraftNote, about: string) =>
    id ?? (nonce === null ? null : poster.findDraft(channel, nonce, about))

  /** Visible only to the person who asked. */
  async function followUp({ app, token }: Asked, body: Body): Promise<boolean> {
    const privately = { allowed_mentions: allowed(), flags: ephemeral }
    return unlessRefused(api.interactions.followUp(app, token, { ...payloadOf(body), ...privately }))
  }

  /** Answers a command in place while that is possible; otherwise in the channel. */
  async function deliver(place: Place, message: Outgoing, body: Body, signal: AbortSignal): Promise<string> {
    const { about, key, kind } = message
    // Files may take minutes, so a stop aborts them; plain text is allowed to finish.
    const stop = body.files.length > 0 ? { signal } : {}
    const earlier = buttoned.replacedBy(message)
    if (earlier && (await unlessRefused(api.channels.editMessage(earlier.channel, earlier.id, replaced(body), stop))))
      return earlier.id
    const command = about === null ? null : await asked.open(about)
    const claim = kind === 'final' && about !== null ? answers.claim(about, key) : { first: false, draft: null }
    if (command && claim.first && (await answerCommand(command, body, stop))) return about ?? ''
    if (about !== null && asked.isPrivate(about)) {
      if (command && (await followUp(command, body))) return about
      // Once is enough, however many pieces there are.
      if (!claim.first) return about
      const channel = await threads.channelOf(place.conversation)
      return poster.create({ channel, about: null, key, body: notShown, draft: false }, stop)
    }
    const channel = await threads.channelOf(place.conversation)
    const draft = claim.draft && about !== null ? await replaceDraft(channel, about, claim.draft, body, stop) : null
    if (draft !== null) return draft
    const replyTo = kind === 'notice' || claim.first ? about : null
    const id = await poster.create({ channel, about: replyTo, key, body, draft: false }, stop)
    buttoned.posted(message, { channel, id })
    return id
  }

  async function removeDraft(about: string, draft: DraftNote): Promise<void> {
    const id = await idOf(draft, about)
    const removed = id === null || (await unlessRefused(api.channels.deleteMessage(draft.channel, id)))
    if (!removed) await unlessRefused(api.channels.editMessage(draft.channel, id, { components: [] }))
    answers.removed(about)
  }

  const sender = createSender({
    ...{ answers, troubleOf, removeDraft, sent: parts.sent, refusedToken: parts.refusedToken },
    async deliver(place, message, signal) {
      const body = await bodyOf(message, parts.readFile)
      return withoutFilesIfTooLarge(body, fitting => deliver(place, message, fitting, signal))
    },
  })

  return {
    ...sender,

    async writeDraft(place, about, key, content) {
      if (sender.isOver()) return
      const command = await asked.open(about)
      const shown = { content, components: componentsOf([stopButton]), allowed_mentions: allowed() }
      const there = answers.draftOf(about)
      if (command) {
        // Stored with its id: when the command can no longer be answered, it is an ordinary message of ours.
        const note = { channel: place.conversation, nonce: null }
        const edited = api.interactions.editReply(command.app, command.token, shown)
        const known = edited.then(({ id }) => id === there?.id || answers.drafted(about, { ...note, id }))
        if (await unlessRefused(known)) return
      }
      const channel = await threads.channelOf(place.conversation)
      if (there && there.id !== null) return void (await api.channels.editMessage(channel, there.id, shown))
      const draft = { channel, nonce: nonceOf(key), id: null }
      // Stored before it is posted: otherwise a kill in between would leave an unknown draft.
      answers.drafted(about, draft)
      const body = { content, files: [], buttons: [stopButton] }
      const id = await poster.create({ channel, about, key, body, draft: true })
      answers.drafted(about, { ...draft, id })
    },
  }
}

/** False: Discord refuses it permanently. Throws for files that are too large: without them it may work. */
async function unlessRefused(doing: Promise<unknown>): Promise<boolean> {
  try {
    await doing
    return true
  } catch (error) {
    const trouble = troubleOf(error)
    if (trouble.type === 'refused' && trouble.code !== codes.tooLarge) return false
    throw error
  }
}

/** Retries without the attached files, but never without the answer itself. */
async function withoutFilesIfTooLarge(body: Body, send: (body: Body) => Promise<string>): Promise<string> {
  try {
    return await send(body)
  } catch (error) {
    const trouble = troubleOf(error)
    const tooLarge = trouble.type === 'refused' && trouble.code === codes.tooLarge
    const kept = body.files.filter(isAnswer)
    if (!tooLarge || kept.length === body.files.length) throw error
    const left = body.files.filter(file => !isAnswer(file)).map(({ name }) => name)
    return send({ ...body, content: withNote(body.content, left), files: kept })
  }
}

/** The text and its files; a text that is too long for a message becomes a file. */
async function bodyOf(message: Outgoing, readFile: SendingParts['readFile']): Promise<Body> {
  const { text, files: paths = [], scope, document, buttons = [] } = message
  const isLong = limits.measure(text) > limits.length
  const files: RawFile[] = isLong ? [answerFile(text)] : []
  const missing: string[] = []
  if (document) files.push({ name: document.name, data: Buffer.from(document.text) })
  let room = most.together - Buffer.byteLength(`${isLong ? text : ''}${document?.text ?? ''}`)
  for (const path of paths) {
    const name = path.split('/').at(-1) ?? path
    const data = files.length < most.files ? await readFile(path, scope) : null
    if (data === null || data.length > room) missing.push(name)
    else {
      files.push({ name, data })
      room -= data.length
    }
  }
  const content = isLong ? beginningOf(text) : withoutFileLinks(text, paths)
  return { content: withNote(content, missing), files, buttons }
}

function withNote(content: string, missing: readonly string[]): string {
  if (missing.length === 0) return content
  const noted = `${content}\n-# Not sent: ${missing.join(', ')}`
  return limits.measure(noted) <= limits.length ? noted : content
}

/** Discord does not publish its limits for edits; this pace works in practice. */
export const editEveryMs = 1200

export const createDrafts = (parts: Omit<DraftParts, 'everyMs' | 'render' | 'trouble'>): Drafts =>
  createLiveDrafts({
    ...parts,
    everyMs: () => editEveryMs,
    render: draftOf,
    trouble(error) {
      const found = troubleOf(error)
      return { afterMs: found.type === 'passing' ? found.afterMs : null, why: found.why }
    },
  })

// Commands and buttons that wait for their answer, also across a restart.

/** A command or button that somebody used, while it can still be answered in place. */
export interface Asked {
  readonly app: string
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly until: number
  /** Only the person who used it sees the answer. */
  readonly privately: boolean
}

export interface PendingQuestions {
  remember(id: string, asked: Asked): void
  /** It cannot be answered in place. */
  forget(id: string): void
  /** The answer is only for the person who asked, even if it can no longer be shown in place. */
  isPrivate(id: string): boolean
  /** Null: not a command, or too long ago. Waits until the command is acknowledged to Discord. */
  open(id: string): Promise<Asked | null>
  /** Answers wait for this. */
  acknowledging(id: string, done: Promise<unknown>): void
}

export function createPendingQuestions(memory: ChatMemory, now: () => number): PendingQuestions {
  const nameOf = (id: string) => `asked:${id}`
  const underway = new Map<string, Promise<unknown>>()
  const stored = (id: string): Asked | null => {
    const text = memory.get(nameOf(id))
    return text === null ? null : (JSON.parse(text) as Asked)
  }
  return {
    remember: (id, asked) => memory.put(nameOf(id), JSON.stringify(asked)),
    forget(id) {
      const asked = stored(id)
      memory.put(nameOf(id), asked?.privately ? JSON.stringify({ ...asked, until: 0 }) : null)
    },
    isPrivate: id => stored(id)?.privately === true,
    async open(id) {
      await underway.get(id)
      const asked = stored(id)
      return asked && asked.until > now() ? asked : null
    },
    acknowledging(id, done) {
      underway.set(
        id,
        done.finally(() => underway.delete(id)),
      )
    },
  }
}
