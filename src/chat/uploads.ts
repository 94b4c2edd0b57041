// Files that people attach in WebChat: streamed into the workspace, where those of Discord go too, and tidied up.
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type AttachmentsDesk, mostAttachmentBytes, type UploadBook, type Uploaded } from '../base/attachments.ts'
import type { Attachment } from '../base/event.ts'
import type { Clock } from '../base/time.ts'
import { safeName } from './file-name.ts'

export interface UploadParts {
  readonly workspace: string
  readonly clock: Clock
  newId(): string
  readonly book: UploadBook
}

export interface Uploads extends Pick<AttachmentsDesk, 'take' | 'uploaded'> {
  /** What a message brings along; from now on it belongs to that event. Null: some of it is not there (any more). */
  attach(conversation: string, ids: readonly string[], eventKey: string): Promise<readonly Attachment[] | null>
  /** Removes what was never sent, and what belongs to nothing that is kept. */
  tidy(): Promise<void>
}

/** A message that is still being written must not lose its files. */
const unsentMs = 24 * 3_600_000
const incoming = 'files/in'
const prefix = 'web-'

export function openUploads({ workspace, clock, newId, book }: UploadParts): Uploads {
  const folderOf = (id: string) => `${incoming}/${prefix}${id}`
  const pathOf = ({ id, name }: Pick<Uploaded, 'id' | 'name'>) => `${folderOf(id)}/${name}`
  const remove = (id: string) => rm(join(workspace, folderOf(id)), { recursive: true, force: true })

  return {
    async take({ conversation, name: given, type, body }) {
      const id = newId()
      const name = safeName(given)
      const folder = join(workspace, folderOf(id))
      // No name of ours begins with a dot.
      const half = join(folder, '.half')
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const bytes = await store(half, body)
        if (bytes === null) {
          await remove(id)
          return 'too-large'
        }
        await rename(half, join(folder, name))
        const upload = { id, name, bytes, type }
        await book.add(conversation, upload)
        return upload
      } catch (error) {
        await remove(id)
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return 'no-room'
        throw error
      }
    },

    async uploaded(conversation, id) {
      const upload = book.find(conversation, id)
      if (!upload) return null
      const path = join(workspace, pathOf(upload))
      const found = await lstat(path).catch(() => null)
      if (!found?.isFile()) return null
      return { name: upload.name, bytes: found.size, content: () => contentOf(path) }
    },

    async attach(conversation, ids, eventKey) {
      const found: Attachment[] = []
      for (const id of new Set(ids)) {
        const upload = book.find(conversation, id)
        const path = upload && pathOf(upload)
        const there = path && (await stat(join(workspace, path)).catch(() => null))
        if (!upload || !path || !there) return null
        found.push({ ...upload, path })
      }
      await book.claim(ids, eventKey)
      return found
    },

    async tidy() {
      const cutoff = clock.now() - unsentMs
      for (const id of book.forgotten(cutoff)) {
        await remove(id)
        await book.remove(id)
      }
      // Of one that was cut off while it came nobody knows.
      for (const name of await readdir(join(workspace, incoming)).catch(() => [])) {
        const id = name.slice(prefix.length)
        if (!name.startsWith(prefix) || book.knows(id)) continue
        const found = await stat(join(workspace, incoming, name)).catch(() => null)
        if (found && found.mtimeMs < cutoff) await remove(id)
      }
    },
  }
}

/** How many bytes; null: too many. */
async function store(path: string, body: AsyncIterable<Uint8Array>): Promise<number | null> {
  const file = await open(path, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > mostAttachmentBytes) return null
      await writeAll(file, chunk)
    }
    // A message that was accepted is not to find it empty after a power cut.
    await file.datasync()
    return bytes
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten
}

/** Opened when it is asked for: who wants no more than its size leaves nothing open. */
async function* contentOf(path: string): AsyncGenerator<Uint8Array> {
  // Something else may stand in its place by now, such as a link that an agent made, or a pipe that would hold us for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  yield* file.createReadStream()
}
