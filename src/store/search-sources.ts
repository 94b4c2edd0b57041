// Which files of the workspace are searched. Links are not followed: what they lead to may lie outside.
import { closeSync, constants, type Dirent, lstatSync, openSync, readFileSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
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
  /** Folders, the workspace itself as ''. */
  readonly folders: readonly string[]
  /** Folders that could not be looked into; '' means that nothing was seen at all. */
  readonly unseen: readonly string[]
}

/** The prompt has these anyway; search is for what it does not have. */
const always = new Set(
  ['identity', 'soul', 'agents', 'user', 'tools', 'heartbeat', 'boot', 'claude', 'persona'].map(name => `${name}.md`),
)
/** `files` are what people sent: what they say there is not what anybody remembered. */
const otherFolders = new Set(['skills', 'messages', 'ipc', 'files'])
const mostFiles = 50_000
/** Small files are looked at and read at once: that takes microseconds, and a round through other threads ten times as long. */
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

export async function walk(dir: string): Promise<Walked> {
  const paths: string[] = []
  const folders: string[] = []
  const unseen: string[] = []
  const waiting = ['']
  for (let folder = waiting.pop(); folder !== undefined && paths.length < mostFiles; folder = waiting.pop()) {
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
    if (i % atOnce === 0) await new Promise(resolve => setImmediate(resolve))
  }
  return { files, folders, unseen }
}

/** Null: it is not there, or nothing that is searched. */
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
    // A folder on the way to it cannot be looked into: for us it is not there.
    return undefined
  }
}

/** Null: it went meanwhile, or cannot be read. */
export async function readSource(dir: string, { path, bytes }: SourceFile): Promise<string | null> {
  try {
    return await (bytes <= small ? readNow : readLarge)(join(dir, path))
  } catch {
    return null
  }
}

/** A link or a pipe may have taken the place of the file. */
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
