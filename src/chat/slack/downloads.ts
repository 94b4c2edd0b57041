// Files that come with a message: downloaded into the workspace with our token.
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Attachment } from '../../base/event.ts'
import { safeName } from '../file-name.ts'
import { isSlacks } from './hosts.ts'
import type { FileSeen } from './message.ts'
import type { Web } from './web.ts'

export interface DownloadParts {
  readonly web: Web
  readonly workspace: string
  readonly api: string
}

const most = { each: 25 * 1024 * 1024, together: 100 * 1024 * 1024 }
const patienceMs = 60_000

const folderOf = (message: string): string => `files/in/slack-${message.replace(/[^\w.-]/g, '-')}`

/** All of them, in order; a file that could not be downloaded says why. */
export async function downloadFiles(
  message: string,
  seen: readonly FileSeen[],
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<readonly Attachment[]> {
  const got: Attachment[] = []
  let room = most.together
  for (const [at, one] of seen.entries()) {
    const name = safeName(one.name || one.id)
    // Two files may have the same name.
    const free = got.some(other => other.name.toLowerCase() === name.toLowerCase()) ? `${at + 1}-${name}` : name
    const path = `${folderOf(message)}/${free}`
    const bytes = one.size ?? 0
    const limit = Math.min(most.each, room)
    const missing = bytes > limit ? tooLarge : await download(one, join(parts.workspace, path), parts, limit, signal)
    room -= missing === null ? bytes : 0
    const about = { name: free, path, bytes, type: one.mimetype ?? 'application/octet-stream' }
    got.push(missing === null ? about : { ...about, missing })
  }
  return got
}

/** For messages that were refused or taken back. */
export const dropFiles = (message: string, workspace: string): Promise<void> =>
  rm(join(workspace, folderOf(message)), { recursive: true, force: true })

const tooLarge = 'it is too large'

/** Null: it is stored. */
async function download(
  file: FileSeen,
  path: string,
  { web, api }: DownloadParts,
  limit: number,
  signal: AbortSignal,
): Promise<string | null> {
  const { mode = 'hosted', size } = file
  const url = file.url_private_download ?? file.url_private
  if (mode === 'tombstone' || mode === 'hidden_by_limit') return 'it was deleted'
  if (mode === 'external' || url === undefined) return 'it is not stored in Slack'
  if (!isSlacks(url, api)) return 'its URL is on a host that I do not download from'
  // An edited message comes with the same files again.
  const there = await stat(path).catch(() => null)
  if (there && there.size === size) return null
  // Safe names never begin with a dot, so no file can be mistaken for a partial download.
  const half = join(path, '..', `.${basename(path)}`)
  try {
    const answer = await web.request(url, {
      headers: { authorization: `Bearer ${web.token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
    })
    const isPage = (answer.headers.get('content-type') ?? '').startsWith('text/html') && file.mimetype !== 'text/html'
    if (!answer.ok || isPage) {
      answer.body.resume()
      // Without the permission Slack answers with a page for signing in.
      return isPage || answer.status < 400
        ? 'the app lacks the permission files:read'
        : `Slack answered ${answer.status}`
    }
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
    await pipeline(answer.body, atMost(limit), createWriteStream(half, { mode: 0o600 }))
    await rename(half, path)
    return null
  } catch (error) {
    await rm(half, { force: true })
    return error instanceof RangeError ? tooLarge : 'it could not be downloaded'
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
