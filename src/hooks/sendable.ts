// Checks the files attached to a dropped message: only files of the workspace, no hidden ones.
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { isPrivateFile } from '../base/config-files.ts'
import { label } from '../base/scrub.ts'

const most = { files: 10, bytes: 10 * 1024 * 1024 }

/** Their normalized paths, or why they cannot be sent. */
export async function sendable(
  workspace: string,
  files: readonly string[],
): Promise<{ readonly files: readonly string[] } | { readonly why: string }> {
  if (files.length > most.files) return { why: `It has more than ${most.files} files.` }
  const plain: string[] = []
  for (const file of files) {
    const why = await objectionTo(workspace, file)
    if (why !== null) return { why: `The file "${label(file, 100)}" cannot be sent: ${why}` }
    plain.push(join(file).split(sep).join('/'))
  }
  return { files: [...new Set(plain)] }
}

async function objectionTo(workspace: string, file: string): Promise<string | null> {
  if (file === '' || file.includes('\0') || isAbsolute(file) || file.includes('\\') || file.split('/').includes('..'))
    return 'name it by its path inside the workspace.'
  if (isPrivateFile(join(file))) return hidden
  try {
    const root = await realpath(workspace)
    const target = await realpath(join(root, file))
    const inside = relative(root, target)
    if (inside.startsWith('..') || isAbsolute(inside)) return 'it is outside the workspace.'
    if (isPrivateFile(inside)) return hidden
    const stats = await stat(target)
    if (!stats.isFile()) return 'it is not a file.'
    if (stats.nlink > 1) return 'it has more than one name (hard links).'
    if (stats.size === 0) return 'it is empty.'
    return stats.size > most.bytes ? `it is larger than ${most.bytes} bytes.` : null
  } catch {
    return 'it does not exist.'
  }
}

const hidden = 'hidden files and the configuration are never sent.'
