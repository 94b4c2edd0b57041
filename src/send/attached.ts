// Files that the agent sends along: workspace files that its answer links to, and no others.
import { constants, realpathSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Download } from '../base/attachments.ts'
import type { FileScope } from '../base/chat.ts'
import { isPrivateFile } from '../base/config-files.ts'

export interface Attached {
  /** The path within the workspace of a file that may be sent, or null. */
  find(path: string, scope?: FileScope): string | null
  /** Null: it no longer exists, or may not be sent. */
  read(path: string, scope?: FileScope): Promise<Uint8Array | null>
  /** The same, for a page of the owner. */
  download(path: string): Promise<Download | null>
}

const mostBytes = 10 * 1024 * 1024

export function createAttached(workspace: string): Attached {
  /** Where a path really leads; null: it may not be sent. */
  const locate = (path: string, scope?: FileScope): string | null => {
    if (isAbsolute(path) || path.includes('\0') || isPrivateFile(path)) return null
    try {
      const root = realpathSync(workspace)
      const file = realpathSync(resolve(root, path))
      // A symbolic link may lead elsewhere in the workspace, but neither out of it nor to a private file.
      return mayLeave(relative(root, file), scope) && isSendable(statSync(file)) ? file : null
    } catch {
      return null // It does not exist.
    }
  }
  const find: Attached['find'] = (path, scope) => {
    const plain = plainPath(path)
    const own = scope && plainPath(join(scope.folder, path))
    return [plain, ...(own === undefined ? [] : [own])].find(one => locate(one, scope) !== null) ?? null
  }
  const read: Attached['read'] = async (path, scope) => {
    const file = locate(path, scope)
    return file === null ? null : readUnchanged(file).catch(() => null)
  }
  return {
    find,
    read,
    async download(path) {
      const bytes = await read(path)
      return bytes && { name: basename(path), bytes: bytes.length, content: () => once(bytes) }
    },
  }
}

const plainPath = (path: string) => join(path).split(sep).join('/')

/** `inside`: relative to the workspace, without links. */
function mayLeave(inside: string, scope?: FileScope): boolean {
  if (inside.startsWith('..') || isAbsolute(inside) || isPrivateFile(inside)) return false
  if (!scope) return true
  const path = inside.split(sep).join('/')
  return path.startsWith(`${scope.folder}/`) || scope.files.includes(path)
}

/** A file with a second name may be one that nobody meant to send: the other name may be outside the workspace, or private. */
const isSendable = (stats: Stats): boolean =>
  stats.isFile() && stats.nlink === 1 && stats.size > 0 && stats.size <= mostBytes

/**
 * Reads the file at this path, which had no links when it was checked. It is opened once and judged by its descriptor: somebody may have replaced
 * a folder by a link since, and may put it back at any time.
 */
async function readUnchanged(file: string): Promise<Uint8Array | null> {
  // If it has become a pipe, opening it without O_NONBLOCK would block until somebody writes.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const opened = await handle.stat()
    return isSendable(opened) && (await isAt(handle, opened, file)) ? await contentOf(handle, opened.size) : null
  } finally {
    await handle.close()
  }
}

const looks = 5

/** Whether the opened file is at this path. Linux knows. Elsewhere only the path can be looked at, so it is looked at again and again. */
async function isAt(handle: FileHandle, opened: Stats, file: string): Promise<boolean> {
  if (process.platform === 'linux') return (await readlink(`/proc/self/fd/${handle.fd}`)) === file
  for (let i = 0; i < looks; i++) {
    const { dev, ino } = await stat(file)
    if (dev !== opened.dev || ino !== opened.ino || (await realpath(file)) !== file) return false
  }
  return true
}

/** No more than its size when it was checked, in case it grows. */
async function contentOf(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

async function* once<T>(value: T) {
  yield value
}
