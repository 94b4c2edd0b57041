// Files that come with a message: downloaded immediately, because their URLs expire, into the workspace.
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Attachment } from '../../base/event.ts'
import { safeName } from '../file-name.ts'
import { isDiscord, isIn } from './hosts.ts'

export interface AttachmentSeen {
  readonly id: string
  readonly filename: string
  readonly url: string
  readonly size: number
  readonly content_type?: string
}

export interface FetchParts {
  readonly workspace: string
  /** Files may come from this host, from next to it, or from Discord's file hosts; from nowhere else. */
  readonly api: string
}

const most = { each: 25 * 1024 * 1024, together: 100 * 1024 * 1024 }
const patienceMs = 60_000

export const folderOf = (message: string): string => `files/in/${message}`

/** All of them, in order; a file that could not be downloaded says why. */
export async function fetchAttachments(
  message: string,
  seen: readonly AttachmentSeen[],
  { workspace, api }: FetchParts,
  signal: AbortSignal,
): Promise<readonly Attachment[]> {
  const taken = new Set<string>()
  let room = most.together
  const got: Attachment[] = []
  for (const one of seen) {
    const name = freeName(safeName(one.filename), taken)
    const path = `${folderOf(message)}/${name}`
    const about = { name, path, bytes: one.size, type: one.content_type ?? 'application/octet-stream' }
    const limit = Math.min(most.each, room)
    const missing = one.size > limit ? tooLarge : await fetchOne(one, join(workspace, path), api, limit, signal)
    room -= missing === null ? one.size : 0
    got.push(missing === null ? about : { ...about, missing })
  }
  return got
}

/** For messages that were refused. */
export const dropAttachments = (message: string, workspace: string): Promise<void> =>
  rm(join(workspace, folderOf(message)), { recursive: true, force: true })

const tooLarge = 'it is too large'

/** Null: it is stored. */
async function fetchOne(
  { url, size }: AttachmentSeen,
  path: string,
  api: string,
  limit: number,
  signal: AbortSignal,
): Promise<string | null> {
  // An edited message comes with the same files again.
  const there = await stat(path).catch(() => null)
  if (there?.size === size) return null
  if (!isAllowed(url, api)) return 'its URL is on a host that I do not download from'
  // Safe names never begin with a dot, so no file can be mistaken for a partial download.
  const half = join(path, '..', `.${basename(path)}`)
  try {
    const answer = await fetch(url, {
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
    })
    if (!answer.ok || !answer.body) return `Discord answered ${answer.status}`
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
    await pipeline(Readable.fromWeb(answer.body), atMost(limit), createWriteStream(half, { mode: 0o600 }))
    await rename(half, path)
    return null
  } catch (error) {
    await rm(half, { force: true })
    return error instanceof RangeError ? tooLarge : 'it could not be downloaded'
  }
}

/** Downloads reach the agent, so a URL must not lead into the local network. */
export function isAllowed(url: string, api: string): boolean {
  const file = URL.parse(url)
  const home = URL.parse(api)
  if (!file || !home) return false
  if (file.origin === home.origin) return true
  const safe = file.protocol === 'https:'
  // A compatible server may serve files on another port, but never over HTTP if the API uses HTTPS.
  if (file.hostname === home.hostname && !isDiscord(home.hostname))
    return safe || (file.protocol === 'http:' && home.protocol === 'http:')
  const usualPort = file.port === '' || file.port === home.port
  return safe && usualPort && domainsOf(home.hostname).some(one => isIn(file.hostname, one))
}

function domainsOf(api: string): readonly string[] {
  if (isDiscord(api)) return ['discordapp.com', 'discordapp.net', 'discord.com']
  const labels = api.split('.')
  if (isIP(api) !== 0 || labels.length < 2) return []
  return [labels.length === 2 ? api : labels.slice(1).join('.')]
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

function freeName(name: string, taken: Set<string>): string {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  let free = name
  for (let n = 2; taken.has(free.toLowerCase()); n++) free = `${stem}-${n}${ending}`
  taken.add(free.toLowerCase())
  return free
}
