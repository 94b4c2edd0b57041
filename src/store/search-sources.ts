// Which files of the workspace are searched. Links are not followed: they may lead outside.

import { closeSync, constants, type Dirent, lstatSync, openSync, readFileSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { SourceKind } from './search-texts.ts'

export interface SourceFile {
  /** Relative to the workspace, with `/`. */
  readonly path: string
  readonly kind: SourceKind
  readonly bytes: number
  readonly at: number
  /** Changes when the file does. */
  readonly signature: string
}

export interface Walked {
  readonly files: readonly SourceFile[]
  /** Folders; the workspace itself is ''. */
  readonly folders: readonly string[]
  /** Folders that could not be read; '' means that nothing could be read at all. */
  readonly unseen: readonly string[]
  /** False: there are more files than are searched. */
  readonly whole: boolean
}

/** These are in the prompt anyway; search is for everything else. */
const always = new Set(
  ['identity', 'soul', 'agents', 'user', 'tools', 'heartbeat', 'boot', 'claude', 'persona'].map(name => `${name}.md`),
)
/** `files` and `guests` contain what other people sent and made, which is not memory. */
const otherFolders = new Set(['skills', 'messages', 'ipc', 'files', 'guests'])
const mostFiles = 200_000
/** Small files are checked and read synchronously: that takes microseconds, and going through the thread pool ten times as long. */
const small = 64 * 1024
const atOnce = 100

export function kindOf(path: string): SourceKind | null {
  if (path === 'memory.md') return 'memory'
  if (path === 'brain.json') return 'brain'
  const parts = path.split('/')
  if (
    !/\.md$/i.test(path) ||
    parts.slice(0, -1).some((part, i) => !isSearched(part, i)) ||
    parts.at(-1)?.startsWith('.')
  )
    return null
  if (parts.length === 1) return always.has(path.toLowerCase()) ? null : 'note'
  return parts[0] === 'conversations' ? 'conversation' : 'note'
}

const isSearched = (folder: string, depth: number): boolean =>
  !folder.startsWith('.') && folder !== 'node_modules' && !(depth === 0 && otherFolders.has(folder))

/** `from`: only that folder and everything below it. */
export async function walk(dir: string, from = ''): Promise<Walked> {
  const paths: string[] = []
  const folders: string[] = []
  const unseen: string[] = []
  const waiting = [from]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (paths.length >= mostFiles) {
      unseen.push(folder)
      continue
    }
    const found = await readdir(join(dir, folder), { withFileTypes: true }).catch((): Dirent[] | null => null)
    if (!found) {
      unseen.push(folder)
      continue
    }
    folders.push(folder)
    const depth = folder === '' ? 0 : folder.split('/').length
    for (const entry of found) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && depth < 20 && isSearched(entry.name, depth)) waiting.push(path)
      else if (entry.isFile() && kindOf(path)) paths.push(path)
    }
  }
  const files: SourceFile[] = []
  for (const [i, path] of paths.entries()) {
    const file = lookAt(dir, path)
    if (file && file !== 'folder') files.push(file)
    if (i % atOnce === 0) await setImmediate()
  }
  return { files, folders, unseen, whole: paths.length < mostFiles }
}

/** Null: it does not exist, or is not searched. */
export function lookAt(dir: string, path: string): SourceFile | 'folder' | null {
  const found = statOf(join(dir, path))
  if (found?.isDirectory()) return path.split('/').every(isSearched) ? 'folder' : null
  const kind = kindOf(path)
  if (!kind || !found?.isFile()) return null
  return { path, kind, bytes: found.size, at: found.mtimeMs, signature: `${found.mtimeMs}:${found.size}` }
}

function statOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // A folder on the way cannot be read: treated as missing.
    return undefined
  }
}

/** Null: it was deleted meanwhile, or cannot be read. */
export async function readSource(dir: string, { path, bytes }: SourceFile): Promise<string | null> {
  try {
    return await (bytes <= small ? readNow : readLarge)(join(dir, path))
  } catch {
    return null
  }
}

/** A link or a pipe may have replaced the file. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

function readNow(path: string): string {
  const file = openSync(path, flags)
  try {
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

async function readLarge(path: string): Promise<string> {
  const file = await open(path, flags)
  try {
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
