// Files that come with a message: downloaded before the message is accepted, into the workspace.
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Api } from 'grammy'
import type { Message } from 'grammy/types'
import type { Attachment } from '../../base/event.ts'
import { safeName } from '../file-name.ts'
import { troubleOf } from './errors.ts'
import type { TelegramOptions } from './options.ts'

interface FileSeen {
  readonly id: string
  readonly name: string
  readonly bytes: number
  readonly type: string
}

/** The Bot API lets bots download files up to this size. */
const most = { each: 20 * 1024 * 1024, together: 100 * 1024 * 1024 }
const patienceMs = 60_000
const tooLarge = 'it is larger than the 20 MB that Telegram lets bots download'

export const folderOf = (message: string): string => `files/in/telegram.${message}`

export const hasFiles = (message: Message): boolean => filesOf(message).length > 0

/** All files of these messages, in order; a file that could not be downloaded says why. */
export async function fetchFiles(
  id: string,
  messages: readonly Message[],
  api: Api,
  options: TelegramOptions,
  workspace: string,
  signal: AbortSignal,
): Promise<readonly Attachment[]> {
  const got: Attachment[] = []
  const taken = new Set<string>()
  let room = most.together
  for (const one of messages.flatMap(filesOf)) {
    const name = freeName(safeName(one.name), taken)
    const path = `${folderOf(id)}/${name}`
    const missing =
      one.bytes > Math.min(most.each, room)
        ? tooLarge
        : await fetchOne(one, join(workspace, path), api, options, signal)
    room -= missing === null ? one.bytes : 0
    got.push({ name, path, bytes: one.bytes, type: one.type, ...(missing === null ? {} : { missing }) })
  }
  return got
}

/** For messages that were refused. */
export const dropFiles = (id: string, workspace: string): Promise<void> =>
  rm(join(workspace, folderOf(id)), { recursive: true, force: true })

/** Null: it is stored. */
async function fetchOne(
  { id, bytes }: FileSeen,
  path: string,
  api: Api,
  { api: root, botToken }: TelegramOptions,
  signal: AbortSignal,
): Promise<string | null> {
  // An edited message comes with the same files again.
  const there = await stat(path).catch(() => null)
  if (there !== null && there.size === bytes) return null
  // Safe names never begin with a dot, so no file can be mistaken for a partial download.
  const half = join(path, '..', `.${basename(path)}`)
  try {
    const { file_path: remote } = await api.getFile(id)
    if (remote === undefined || /(^|\/)\.\.(\/|$)|^\/|\?|#/.test(remote))
      return 'Telegram does not offer it for download'
    const answer = await fetch(`${root.replace(/\/+$/, '')}/file/bot${botToken}/${remote}`, {
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
    })
    if (!answer.ok || !answer.body) return `Telegram answered ${answer.status}`
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
    await pipeline(Readable.fromWeb(answer.body), atMost(most.each), createWriteStream(half, { mode: 0o600 }))
    await rename(half, path)
    return null
  } catch (error) {
    await rm(half, { force: true })
    if (error instanceof RangeError) return tooLarge
    const trouble = troubleOf(error)
    return trouble.type === 'refused' && /too big/i.test(trouble.description) ? tooLarge : 'it could not be downloaded'
  }
}

const atMost = (limit: number) =>
  async function* (chunks: AsyncIterable<Uint8Array>) {
    let had = 0
    for await (const chunk of chunks) {
      had += chunk.length
      if (had > limit) throw new RangeError('too large')
      yield chunk
    }
  }

/** Photos come in several sizes, the largest last. They and voice notes have no names. */
function filesOf(message: Message): readonly FileSeen[] {
  const { photo, document, voice, audio, video, video_note, animation, sticker } = message
  const largest = photo?.at(-1)
  const seen = (
    one: { file_id: string; file_size?: number; file_name?: string; mime_type?: string } | undefined,
    name: string,
    type: string,
  ): readonly FileSeen[] =>
    one
      ? [{ id: one.file_id, name: one.file_name ?? name, bytes: one.file_size ?? 0, type: one.mime_type ?? type }]
      : []
  return [
    ...seen(largest, `photo-${message.message_id}.jpg`, 'image/jpeg'),
    // Telegram sends an animation also as a document.
    ...(animation ? seen(animation, 'animation.mp4', 'video/mp4') : seen(document, 'file', 'application/octet-stream')),
    ...seen(voice, `voice-${message.message_id}.ogg`, 'audio/ogg'),
    ...seen(audio, 'audio.mp3', 'audio/mpeg'),
    ...seen(video, `video-${message.message_id}.mp4`, 'video/mp4'),
    ...seen(video_note, `video-note-${message.message_id}.mp4`, 'video/mp4'),
    ...seen(sticker, `sticker-${message.message_id}.webp`, 'image/webp'),
  ]
}

function freeName(name: string, taken: Set<string>): string {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  let free = name
  for (let n = 2; taken.has(free.toLowerCase()); n++) free = `${stem}-${n}${ending}`
  taken.add(free.toLowerCase())
  return free
}
