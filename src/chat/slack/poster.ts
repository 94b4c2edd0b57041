// Posts new messages and files: each exactly once, however often it is retried and whenever the process is killed.
import type { ChatMemory } from '../../base/chat.ts'
import { excerpt } from '../../base/scrub.ts'
import type { Clock } from '../../base/time.ts'
import { isAboutFormat, SlackError, troubleOf } from './errors.ts'
import { isSlacks } from './hosts.ts'
import type { MessageSeen, Self } from './message.ts'
import { type Content, eventType, metadataOf, nonceOf } from './render.ts'
import { isTimestamp, timestampAt } from './timestamp.ts'
import type { Web } from './web.ts'

export interface Target {
  readonly channel: string
  readonly thread: string | null
}

export interface OutgoingFile {
  readonly name: string
  readonly data: Uint8Array
}

export interface Poster {
  /** Resolves with the timestamp of the message. */
  create(target: Target, key: string, about: string | null, content: Content, signal?: AbortSignal): Promise<string>
  update(target: Target, ts: string, key: string, about: string | null, content: Content): Promise<void>
  /** The message that an earlier, unconfirmed attempt created; null: it does not exist. */
  find(target: Target, key: string): Promise<string | null>
  /** Uploads the files and shares them in one message. */
  share(
    target: Target,
    key: string,
    about: string | null,
    files: readonly OutgoingFile[],
    signal: AbortSignal,
  ): Promise<void>
  /** A stream has no metadata while it runs: our message without any, after the one it answers. */
  findStream(target: Target, about: string): Promise<string | null>
}

/** An attempt, noted before the request: the message can only be newer than `after`. */
interface Attempt {
  readonly after: string
  /** Known once Slack has confirmed it. */
  readonly ts?: string
  /** The ids of uploaded files. */
  readonly files?: readonly string[]
}

export interface PosterParts {
  readonly web: Web
  readonly memory: ChatMemory
  readonly clock: Clock
  readonly api: string
  self(): Self
}

/** Our post comes soon after the last message we knew, so the search stops after this many pages. */
const mostPages = 5
/** Our clock may differ from Slack's by this much. */
const clockErrorMs = 120_000

export function createPoster({ web, memory, clock, api, self }: PosterParts): Poster {
  const nameOf = (nonce: string) => `post:${nonce}`
  const recall = (nonce: string): Attempt | null => JSON.parse(memory.get(nameOf(nonce)) ?? 'null') as Attempt | null
  const note = (nonce: string, attempt: Attempt | null) =>
    memory.put(nameOf(nonce), attempt === null ? null : JSON.stringify(attempt))
  const isOurs = ({ user, bot_id }: MessageSeen) =>
    user === self().id || (bot_id !== undefined && bot_id === self().bot)

  /** Everything it answers is older, and so is what was posted two minutes ago. */
  const startOf = (about: string | null): string => {
    const ts = about?.split(':').at(-1) ?? ''
    return isTimestamp(ts) ? ts : timestampAt(clock.now() - clockErrorMs)
  }

  /** Null also if the bot may not read the channel: then the message is posted again. */
  async function search({ channel, thread }: Target, after: string, isIt: (one: MessageSeen) => boolean) {
    const method = thread === null ? 'conversations.history' : 'conversations.replies'
    const args = {
      channel,
      oldest: after,
      limit: 200,
      include_all_metadata: true,
      ...(thread === null ? {} : { ts: thread }),
    }
    let cursor: string | undefined
    try {
      for (let page = 0; page < mostPages; page++) {
        const found = await web.call<History>(method, { ...args, cursor })
        const it = found.messages.find(one => isOurs(one) && isIt(one))
        if (it) return it.ts
        cursor = found.response_metadata?.next_cursor || undefined
        if (cursor === undefined) break
      }
      return null
    } catch (error) {
      if (troubleOf(error).type === 'refused') return null
      throw error
    }
  }

  const hasKey = (nonce: string) => (one: MessageSeen) =>
    one.metadata?.event_type === eventType && one.metadata.event_payload.key === nonce

  async function find(target: Target, key: string): Promise<string | null> {
    const nonce = nonceOf(key)
    const earlier = recall(nonce)
    if (earlier === null) return null
    const ts = earlier.ts ?? (await search(target, earlier.after, hasKey(nonce)))
    if (ts !== null) note(nonce, { ...earlier, ts })
    return ts
  }

  async function upload({ name, data }: OutgoingFile, signal: AbortSignal): Promise<string> {
    const slot = { filename: name, length: data.length }
    const { upload_url, file_id } = await web.call<UploadSlot>('files.getUploadURLExternal', slot, signal)
    if (!isSlacks(upload_url, api)) throw new SlackError('its upload address is not on Slack', 400)
    const headers = { 'content-type': 'application/octet-stream' }
    const answer = await web.request(upload_url, { method: 'POST', headers, body: data, signal })
    await answer.text()
    if (!answer.ok) throw new SlackError('upload_failed', answer.status)
    return file_id
  }

  return {
    find,
    findStream: (target, about) =>
      search(target, startOf(about), ({ metadata, files }) => metadata === undefined && files === undefined),

    async create(target, key, about, content, signal) {
      const nonce = nonceOf(key)
      const isRetry = recall(nonce) !== null
      const there = isRetry ? await find(target, key) : null
      if (there !== null) return there
      if (!isRetry) note(nonce, { after: startOf(about) })
      const { channel, thread: thread_ts } = target
      const metadata = metadataOf(key, about)
      // Links are shown as they are: previews of what a model wrote would fetch addresses in our name.
      const quiet = { unfurl_links: false, unfurl_media: false }
      const args = { channel, thread_ts, metadata, ...quiet }
      try {
        const { ts } = await orPlain(content, shown =>
          web.call<{ ts: string }>('chat.postMessage', { ...args, ...shown }, signal),
        )
        note(nonce, { after: ts, ts })
        return ts
      } catch (error) {
        const trouble = troubleOf(error)
        const isCertain = trouble.type !== 'passing' || trouble.certain
        if (!isRetry && isCertain) note(nonce, null)
        throw error
      }
    },

    async update({ channel }, ts, key, about, content) {
      const metadata = metadataOf(key, about)
      await orPlain(content, shown => web.call('chat.update', { channel, ts, metadata, blocks: [], ...shown }))
    },

    async share(target, key, about, files, signal) {
      const nonce = nonceOf(`${key}#files`)
      const earlier = recall(nonce)
      if (earlier?.ts !== undefined) return
      const ids = earlier?.files
      const there = ids
        ? await search(target, earlier.after, one => one.files?.some(({ id }) => ids.includes(id)) ?? false)
        : null
      if (there !== null) return note(nonce, { after: there, ts: there })
      const after = startOf(about)
      const uploaded: { id: string; title: string }[] = []
      for (const file of files) uploaded.push({ id: await upload(file, signal), title: file.name })
      note(nonce, { after, files: uploaded.map(({ id }) => id) })
      const place = { channel_id: target.channel, thread_ts: target.thread }
      await web.call('files.completeUploadExternal', { files: uploaded, ...place }, signal)
      note(nonce, { after, ts: 'shared' })
    },
  }
}

interface UploadSlot {
  readonly upload_url: string
  readonly file_id: string
}
interface History {
  readonly messages: readonly MessageSeen[]
  readonly response_metadata?: { readonly next_cursor?: string }
}

/** Blocks, or plain text with the buttons if Slack refuses them. */
async function orPlain<T>({ text, blocks }: Content, send: (shown: object) => Promise<T>): Promise<T> {
  try {
    return await send({ text, blocks })
  } catch (error) {
    if (!isAboutFormat(error)) throw error
    const buttons = blocks.filter(block => 'type' in block && block.type === 'actions')
    if (buttons.length === 0) return send({ text, mrkdwn: false })
    const plain = { type: 'section', text: { type: 'plain_text', text: excerpt(text, 3000) } }
    return send({ text, blocks: [plain, ...buttons] })
  }
}
