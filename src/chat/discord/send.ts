// Letters and drafts on their way to Discord: into a new message, or into one of ours that stands there already.
import type { API } from '@discordjs/core'
import type { RawFile } from '@discordjs/rest'
import type { Outgoing, Posted } from '../../base/chat.ts'
import type { Place } from '../../base/event.ts'
import type { Answers, Asked, AskedBook } from './answers.ts'
import type { Drafts } from './drafts.ts'
import { allowedMentions, beginningOf, limits, nonceOf, stopButton, withoutFileLinks } from './render.ts'
import { isId } from './snowflake.ts'
import type { Threads } from './threads.ts'
import { codes, postedOf, type Trouble, troubleOf } from './trouble.ts'

export interface SendingParts {
  readonly api: API
  readonly answers: Answers
  readonly asked: AskedBook
  readonly threads: Threads
  ourId(): string | null
  /** A file of the workspace; null: it is not there any more, or may not be sent. */
  readFile(path: string): Promise<Uint8Array | null>
  /** Has left: were we killed now, it would not be sent again. */
  sent(letterKey: string): void
  refusedToken(): void
}

export interface Sending {
  post(place: Place, message: Outgoing, drafts: Drafts, signal: AbortSignal): Promise<Posted>
  writeDraft(place: Place, about: string, key: string, content: string): Promise<void>
}

interface Body {
  readonly content: string
  readonly files: RawFile[]
}

/** A text that is too long for a message. Of the files, only this one is given a type. */
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
const onlyForThem = 64
const rememberedArrivals = 1000

export function openSending(parts: SendingParts): Sending {
  const { api, answers, asked, threads } = parts
  /** Nothing is tried with a token that was refused: who asks ten thousand times is shut out. */
  let dead: Trouble | null = null
  /** Messages that are known to be another letter, though it may have the same words. */
  const arrivals = new Set<string>()

  const reference = (about: string | null, channel: string) =>
    about === null || about === channel || !isId(about)
      ? {}
      : { message_reference: { message_id: about, fail_if_not_exists: false } }

  /** A new message; under the same key it comes into being once. */
  async function create(
    channel: string,
    about: string | null,
    key: string,
    body: Body,
    { extra = {}, stop = {} }: { readonly extra?: object; readonly stop?: Stop } = {},
  ) {
    const message = { ...body, ...extra, allowed_mentions: allowed(), nonce: nonceOf(key), enforce_nonce: true }
    try {
      return await api.channels.createMessage(channel, { ...message, ...reference(about, channel) }, stop)
    } catch (error) {
      const trouble = troubleOf(error)
      // Without the permission to read what was said before there are no replies.
      if (trouble.type !== 'refused' || trouble.code !== codes.noReply) throw error
      return api.channels.createMessage(channel, message, stop)
    }
  }

  /** Whatever stood there goes; a second time changes nothing. */
  const replaced = ({ content, files }: Body) => ({
    ...{ content, files, components: [], allowed_mentions: allowed() },
    attachments: files.map((file, id) => ({ id: String(id), filename: file.name })),
  })

  /** False: it is gone, or was never there. */
  async function replace(channel: string, id: string, body: Body, stop: Stop): Promise<boolean> {
    return unlessGone(api.channels.editMessage(channel, id, replaced(body), stop))
  }

  async function answerCommand({ app, token }: Asked, body: Body, stop: Stop): Promise<boolean> {
    return unlessGone(api.interactions.editReply(app, token, replaced(body), undefined, stop))
  }

  /** Somebody whom the place belongs to hears it there; later than that, the channel does. */
  async function deliver(place: Place, message: Outgoing, body: Body, signal: AbortSignal): Promise<string> {
    const { about, key, kind } = message
    // Files may take minutes, which a stop does not wait for; words are let through.
    const stop = body.files.length > 0 ? { signal } : {}
    const command = about === null ? null : await asked.open(about)
    const claim = kind === 'final' && about !== null ? answers.claim(about, key) : { first: false, draft: null }
    if (command && claim.first && (await answerCommand(command, body, stop))) return about ?? ''
    if (command?.privately) {
      const { app, token } = command
      const onlyThem = { allowed_mentions: allowed(), flags: onlyForThem }
      return (await api.interactions.followUp(app, token, { ...body, ...onlyThem })).id
    }
    const channel = await threads.channelOf(place.conversation)
    if (claim.draft !== null && (await replace(channel, claim.draft, body, stop))) return claim.draft
    const before = message.again ? await arrived(channel, about, body.content) : null
    if (before !== null) return before
    const replyTo = kind === 'notice' || claim.first ? about : null
    return (await create(channel, replyTo, key, body, { stop })).id
  }

  /** Discord forgets a nonce after minutes; after a longer absence only looking tells whether a letter had arrived. */
  async function arrived(channel: string, about: string | null, content: string): Promise<string | null> {
    try {
      const after = about !== null && isId(about) ? { after: about } : {}
      const found = await api.channels.getMessages(channel, { limit: 100, ...after })
      const isIt = ({ id, author, content: there }: (typeof found)[number]) =>
        author.id === parts.ourId() && there === content.trim() && !arrivals.has(id)
      const ours = found.find(isIt)
      return ours?.id ?? null
    } catch (error) {
      // Who may not read what was said sends it with its nonce, as ever.
      if (troubleOf(error).type === 'refused') return null
      throw error
    }
  }

  return {
    async post(place, message, drafts, signal) {
      if (dead) return postedOf(dead)
      try {
        if (message.kind === 'final' && message.about !== null) await drafts.finish(message.about)
        signal.throwIfAborted()
        const body = await bodyOf(message, parts.readFile)
        const id = await withoutFilesIfTooLarge(body, fitting => deliver(place, message, fitting, signal))
        if (arrivals.size >= rememberedArrivals) arrivals.delete(arrivals.values().next().value ?? '')
        arrivals.add(id)
        parts.sent(message.key)
        return { type: 'posted', ref: { place, id } }
      } catch (error) {
        const trouble = troubleOf(error)
        if (trouble.type === 'token') {
          dead = trouble
          parts.refusedToken()
        }
        return postedOf(trouble)
      }
    },

    async writeDraft(place, about, key, content) {
      if (dead) return
      const command = await asked.open(about)
      const shown = { content, components: stopButton, allowed_mentions: allowed() }
      const there = answers.draftOf(about)
      if (command) {
        // Known by its id: when the command cannot be answered any more, it is a message of ours like any other.
        const edited = api.interactions.editReply(command.app, command.token, shown)
        const known = edited.then(({ id }) => id === there || answers.drafted(about, id))
        if (await unlessGone(known)) return
      }
      const channel = await threads.channelOf(place.conversation)
      if (there !== null && (await unlessGone(api.channels.editMessage(channel, there, shown)))) return
      const { id } = await create(channel, about, key, { content, files: [] }, { extra: { components: stopButton } })
      answers.drafted(about, id)
    },
  }
}

/** A copy of its own: the library wants to be able to change it. */
const allowed = () => ({ parse: [...allowedMentions.parse], replied_user: allowedMentions.replied_user })

const gone: readonly number[] = [
  codes.unknownMessage,
  codes.unknownWebhook,
  codes.unknownInteraction,
  codes.badWebhookToken,
]

async function unlessGone(doing: Promise<unknown>): Promise<boolean> {
  try {
    await doing
    return true
  } catch (error) {
    const trouble = troubleOf(error)
    if (trouble.type === 'refused' && gone.includes(trouble.code)) return false
    throw error
  }
}

/** Without what goes along, but never without the answer itself. */
async function withoutFilesIfTooLarge(body: Body, send: (body: Body) => Promise<string>): Promise<string> {
  try {
    return await send(body)
  } catch (error) {
    const trouble = troubleOf(error)
    const tooLarge = trouble.type === 'refused' && trouble.code === codes.tooLarge
    const kept = body.files.filter(isAnswer)
    if (!tooLarge || kept.length === body.files.length) throw error
    const left = body.files.filter(file => !isAnswer(file)).map(({ name }) => name)
    return send({ content: withNote(body.content, left), files: kept })
  }
}

/** The text and its files; a text that is too long for a message becomes a file itself. */
async function bodyOf({ text, files: paths = [] }: Outgoing, readFile: SendingParts['readFile']): Promise<Body> {
  const isLong = limits.measure(text) > limits.length
  const files: RawFile[] = isLong ? [answerFile(text)] : []
  const missing: string[] = []
  let room = most.together - (isLong ? Buffer.byteLength(text) : 0)
  for (const path of paths) {
    const name = path.split('/').at(-1) ?? path
    const data = files.length < most.files ? await readFile(path) : null
    if (data === null || data.length > room) missing.push(name)
    else {
      files.push({ name, data })
      room -= data.length
    }
  }
  const content = isLong ? beginningOf(text) : withoutFileLinks(text, paths)
  return { content: withNote(content, missing), files }
}

function withNote(content: string, missing: readonly string[]): string {
  if (missing.length === 0) return content
  const noted = `${content}\n-# Not sent: ${missing.join(', ')}`
  return limits.measure(noted) <= limits.length ? noted : content
}
