// The first start: creates the folder and missing files, and overwrites nothing.

import { lstat, mkdir, open, realpath, unlink } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { promptRoom } from '../base/files.ts'
import { errorCode } from '../base/unknown.ts'
import { type BootPlan, builtInPlan, readBootFile } from './boot-file.ts'
import { personaFiles } from './persona.ts'
import type { Found } from './sections.ts'

/** Reads the beginning of a file of the workspace. */
type Read = (file: string) => Found

export interface Bootstrapped {
  readonly loaded: readonly string[]
  readonly created: readonly string[]
}

/** Rejects with an explanation for the owner if the folder cannot be prepared. `warn` gets the smaller problems. */
export const bootstrap = async (
  dir: string,
  read: Read,
  warn: (file: string, why: string) => void,
): Promise<Bootstrapped> => {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch(error => {
    throw cannot(dir, error)
  })
  const plan = await planFor(dir, read, warn)
  const loaded: string[] = []
  const created: string[] = []
  for (const file of [...plan.required, ...plan.optional]) {
    const made = await ensure(dir, file, read, plan.contentOf(file))
    if (made.type === 'created') created.push(file)
    else if (made.type === 'loaded') loaded.push(file)
    else if (plan.required.includes(file)) throw new Error(`${file} in the workspace ${dir} ${made.why}.`)
    else warn(file, made.why)
  }
  for (const file of personaFiles) {
    if (loaded.includes(file) || created.includes(file)) continue
    if (read(file).type === 'text') loaded.push(file)
  }
  return { loaded, created }
}

type Made =
  | { readonly type: 'created' }
  | { readonly type: 'exists' }
  | { readonly type: 'failed'; readonly error: unknown }

/** Creates a file that does not exist; one that appeared in the meantime is left alone. */
export const createFile = async (path: string, content: string): Promise<Made> => {
  try {
    const handle = await open(path, 'wx', 0o600)
    try {
      await handle.writeFile(content)
    } catch (error) {
      // On a full disk an empty file would remain, and the next start would take it for the user's own.
      await unlink(path).catch(() => undefined)
      throw error
    } finally {
      await handle.close()
    }
    return { type: 'created' }
  } catch (error) {
    return codeOf(error) === 'EEXIST' ? { type: 'exists' } : { type: 'failed', error }
  }
}

/** What boot.md wants done on the first start. Null also if it is invalid, which the start has reported. */
export const bootInstructions = async (found: Found): Promise<string | null> => {
  if (found.type !== 'text' || found.excerpt.cutFrom !== null) return null
  const boot = await readBootFile(found.excerpt.text)
  return boot.ok ? boot.plan.instructions : null
}

const planFor = async (dir: string, read: Read, warn: (file: string, why: string) => void): Promise<BootPlan> => {
  const refused = (why: string): BootPlan => {
    warn('boot.md', `${why}; it is ignored and the built-in defaults are used`)
    return builtInPlan
  }
  const found = read('boot.md')
  if (found.type === 'missing') return builtInPlan
  if (found.type === 'unreadable') return refused(found.why)
  if (found.excerpt.cutFrom !== null) return refused(`is larger than ${promptRoom} bytes`)
  const boot = await readBootFile(found.excerpt.text)
  if (!boot.ok) return refused(boot.why)
  for (const file of [...boot.plan.required, ...boot.plan.optional]) {
    if (await leadsOut(dir, file))
      return refused(`names ${file}, which is a link that leads out of this folder or nowhere`)
  }
  return boot.plan
}

const leadsOut = async (dir: string, file: string): Promise<boolean> => {
  const path = join(dir, file)
  try {
    if (!(await lstat(path)).isSymbolicLink()) return false
  } catch {
    return false // missing, or reported when it is opened
  }
  try {
    const inside = relative(await realpath(dir), await realpath(path))
    return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
  } catch {
    return true // a dangling link
  }
}

type Ensured =
  | { readonly type: 'loaded' }
  | { readonly type: 'created' }
  | { readonly type: 'unreadable'; readonly why: string }

const ensure = async (dir: string, file: string, read: Read, content: string): Promise<Ensured> => {
  const path = join(dir, file)
  const found = read(file)
  if (found.type === 'text') return { type: 'loaded' }
  if (found.type === 'unreadable') return found
  const made = await createFile(path, content)
  if (made.type === 'created') return { type: 'created' }
  if (made.type === 'failed') throw cannot(dir, made.error)
  // It exists after all: somebody was faster, or it is a dangling link.
  const again = read(file)
  if (again.type === 'text') return { type: 'loaded' }
  return again.type === 'unreadable' ? again : { type: 'unreadable', why: 'is a dangling link; remove it' }
}

const cannot = (dir: string, cause: unknown): Error =>
  new Error(`The workspace ${dir} ${adviceFor(codeOf(cause))}`, { cause })

const adviceFor = (code: string): string => {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'is not writable. Give the user of the gateway permission (chown, chmod u+rwx), or choose another folder with CONFIG_DIR.'
    case 'EROFS':
      return 'is on a read-only file system. Mount it writable, or choose another folder with CONFIG_DIR.'
    case 'ENOSPC':
    case 'EDQUOT':
      return 'cannot be created: the disk or the quota is full. Free some space and start again.'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'is not a folder. Move the file with that name away, or choose another folder with CONFIG_DIR.'
    default:
      return `cannot be prepared (${code}). Check the folder, or choose another one with CONFIG_DIR.`
  }
}

const codeOf = (error: unknown): string => errorCode(error) ?? 'unknown error'
