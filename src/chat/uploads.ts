// Files that people attach in WebChat: streamed into the workspace, next to those from Discord, and cleaned up later.

import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type AttachmentsAdmin, mostAttachmentBytes, type Uploaded, type UploadStore } from '../base/attachments.ts'
import type { Attachment } from '../base/event.ts'
import type { Clock } from '../base/time.ts'
import { errorCode } from '../base/unknown.ts'
import { safeName } from './file-name.ts'

export interface UploadParts {
  readonly workspace: string
  readonly clock: Clock
  newId(): string
  readonly store: UploadStore
}

export interface Uploads extends Pick<AttachmentsAdmin, 'take' | 'uploaded'> {
  /** The files of a message, which belong to that event from now on. Null: some do not exist. */
  attach(conversation: string, ids: readonly string[], eventKey: string): Promise<readonly Attachment[] | null>
  /** Removes files that were never sent, and files whose event is no longer stored. */
  tidy(): Promise<void>
}

/** A message that is still being written must not lose its files. */
const unsentMs = 24 * 3_600_000
const incoming = 'files/in'
const prefix = 'web-'

export function createUploads({ workspace, clock, newId, store }: UploadParts): Uploads {
  const folderOf = (id: string) => `${incoming}/${prefix}${id}`
  const pathOf = ({ id, name }: Pick<Uploaded, 'id' | 'name'>) => `${folderOf(id)}/${name}`
  const remove = (id: string) => rm(join(workspace, folderOf(id)), { recursive: true, force: true })

  return {
    async take({ conversation, name: given, type, body }) {
      const id = newId()
      const name = safeName(given)
      const folder = join(workspace, folderOf(id))
      // Safe names never begin with a dot.
      const half = join(folder, '.half')
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const bytes = await writeBytes(half, body)
        if (bytes === null) {
          await remove(id)
          return 'too-large'
        }
        await rename(half, join(folder, name))
        const upload = { id, name, bytes, type }
        await store.add(conversation, upload)
        return upload
      } catch (error) {
        await remove(id)
        if (errorCode(error) === 'ENOSPC') return 'no-room'
        throw error
      }
    },

    async uploaded(conversation, id) {
      const upload = store.find(conversation, id)
      if (!upload) return null
      const path = join(workspace, pathOf(upload))
      const found = await lstat(path).catch(() => null)
      if (!found?.isFile()) return null
      return { name: upload.name, bytes: found.size, content: () => contentOf(path) }
    },

    async attach(conversation, ids, eventKey) {
      const found: Attachment[] = []
      for (const id of new Set(ids)) {
        const upload = store.find(conversation, id)
        const path = upload && pathOf(upload)
        const there = path && (await stat(join(workspace, path)).catch(() => null))
        if (!upload || !path || !there) return null
        found.push({ ...upload, path })
      }
      await store.claim(ids, eventKey)
      return found
    },

    async tidy() {
      const cutoff = clock.now() - unsentMs
      for (const id of store.forgotten(cutoff)) {
        await remove(id)
        await store.remove(id)
      }
      // There is no row for an upload that was interrupted.
      for (const name of await readdir(join(workspace, incoming)).catch(() => [])) {
        const id = name.slice(prefix.length)
        if (!name.startsWith(prefix) || store.knows(id)) continue
        const found = await stat(join(workspace, incoming, name)).catch(() => null)
        if (found && found.mtimeMs < cutoff) await remove(id)
      }
    },
  }
}

/** The number of bytes; null: too many. */
async function writeBytes(path: string, body: AsyncIterable<Uint8Array>): Promise<number | null> {
  const file = await open(path, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > mostAttachmentBytes) return null
      await writeAll(file, chunk)
    }
    // After a power cut, an accepted message must not find an empty file.
    await file.datasync()
    return bytes
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten
}

/** Opened on demand: a caller that only needs the size leaves no file open. */
async function* contentOf(path: string): AsyncGenerator<Uint8Array> {
  // The path may lead to something else by now, such as a link made by an agent, or a pipe that would block for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  yield* file.createReadStream()
}
