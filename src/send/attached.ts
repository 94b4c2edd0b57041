// Files that the agent sends along: workspace files that its answer links to, and no others.
import { realpathSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Download } from '../base/attachments.ts'
import { isPrivateFile } from '../base/config-files.ts'

export interface Attached {
  linkedIn(text: string): readonly string[]
  /** Whether a path within the workspace may be sent. */
  maySend(path: string): boolean
  /** Null: it no longer exists, or may not be sent. */
  read(path: string): Promise<Uint8Array | null>
  /** The same, for a page. */
  download(path: string): Promise<Download | null>
}

const most = { files: 10, bytes: 10 * 1024 * 1024 }

export function createAttached(workspace: string): Attached {
  /** The real path; null: it may not be sent. */
  const find = (path: string): string | null => {
    if (isAbsolute(path) || isPrivateFile(path)) return null
    try {
      const root = realpathSync(workspace)
      const file = realpathSync(resolve(root, path))
      const inside = relative(root, file)
      // A symbolic link may lead elsewhere in the workspace, but neither out of it nor to a private file.
      if (inside.startsWith('..') || isAbsolute(inside) || isPrivateFile(inside)) return null
      const { size } = statSync(file)
      return statSync(file).isFile() && size > 0 && size <= most.bytes ? file : null
    } catch {
      return null // It does not exist.
    }
  }
  const read = async (path: string): Promise<Uint8Array | null> => {
    const file = find(path)
    return file === null ? null : readFile(file).catch(() => null)
  }
  return {
    read,
    async download(path) {
      const bytes = path.includes('\0') ? null : await read(path)
      return bytes && { name: basename(path), bytes: bytes.length, content: () => once(bytes) }
    },
    linkedIn(text) {
      const found = new Set<string>()
      for (const target of targetsIn(text)) {
        if (found.size >= most.files) break
        if (find(target) !== null) found.add(target)
      }
      return [...found]
    },
    maySend: path => find(path) !== null,
  }
}

async function* once<T>(value: T) {
  yield value
}

/** The targets of markdown links and images that can only be paths. Linear, because an answer may contain anything. */
function targetsIn(text: string): readonly string[] {
  return [...text.matchAll(/\]\(([^()\n]+)\)/g)].flatMap(([, between = '']) => {
    const target = between.trim().replace(/^<|>$/g, '')
    if (/^[a-z][a-z\d+.-]*:|^[/\\#?~]|[<>]/i.test(target)) return []
    const plain = decoded(target).replace(/^(?:\.\/)+/, '')
    return plain === '' || plain.includes('\0') ? [] : [join(plain).split(sep).join('/')]
  })
}

function decoded(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target // A stray % is no encoding.
  }
}
