// Which files of the workspace are searched. Links are not followed: what they lead to may lie outside.
import { constants, type Dirent } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
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
const atOnce = 32

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
  for (let i = 0; i < paths.length; i += atOnce) {
    const found = await Promise.all(paths.slice(i, i + atOnce).map(path => lookAt(dir, path)))
    for (const file of found) if (file && file !== 'folder') files.push(file)
  }
  return { files, folders, unseen }
}

/** Null: it is not there, or nothing that is searched. */
export async function lookAt(dir: string, path: string): Promise<SourceFile | 'folder' | null> {
  const found = await lstat(join(dir, path)).catch(() => null)
  if (found?.isDirectory()) return path.split('/').every(isSearched) ? 'folder' : null
  const kind = kindOf(path)
  if (!kind || !found?.isFile()) return null
  return { path, kind, bytes: found.size, at: found.mtimeMs, signature: `${found.mtimeMs}:${found.size}` }
}

/** Null: it went meanwhile, or cannot be read. */
export async function readSource(dir: string, { path }: SourceFile): Promise<string | null> {
  try {
    const file = await open(join(dir, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}
