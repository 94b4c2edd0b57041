// What is at a path, without following links. Paths are strings of bytes ("latin1"), since a file name need not be valid UTF-8.
import { hash as digest } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface Entry {
  /** `special`: a pipe, socket or device. */
  readonly kind: 'file' | 'folder' | 'link' | 'special'
  readonly mode: number
  readonly size: number
  /** Changes with every write. Of a folder only its mode counts, since its content has entries of its own. */
  readonly sign: string
  /** Milliseconds since the epoch. */
  readonly changedAt: number
  /** Of a link. */
  readonly target: string
}

/** A path as the file system wants it. */
export const onDisk = (path: string): Buffer => Buffer.from(path, 'latin1')
export const fromText = (path: string): string => Buffer.from(path).toString('latin1')
export const asText = (path: string): string => onDisk(path).toString('utf8')

/** Null: nothing is there, or it cannot be reached. */
export function examine(path: string): Entry | null {
  try {
    const stat = lstatSync(onDisk(path), { bigint: true, throwIfNoEntry: false })
    if (!stat) return null
    const mode = Number(stat.mode) & 0o7777
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'special'
    const target = kind === 'link' ? readlinkSync(onDisk(path), { encoding: 'latin1' }) : ''
    const { dev, ino, size, mtimeNs, ctimeNs } = stat
    const sign = kind === 'folder' ? `${mode}` : `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`
    return { kind, mode, size: Number(size), sign, changedAt: Number(ctimeNs / 1_000_000n), target }
  } catch {
    return null
  }
}

/** The paths in a folder; none if it cannot be read. */
export function pathsIn(folder: string): readonly string[] {
  try {
    return readdirSync(onDisk(folder), { encoding: 'latin1' }).map(name => `${folder === '/' ? '' : folder}/${name}`)
  } catch {
    return []
  }
}

/** Null: not a file of at most `most` bytes, or it cannot be read. */
export function contentOf(path: string, most: number): Buffer | null {
  try {
    // A pipe in its place would block for ever, and a link would lead elsewhere.
    const handle = openSync(onDisk(path), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const stat = fstatSync(handle)
      return stat.isFile() && stat.size <= most ? readFileSync(handle) : null
    } finally {
      closeSync(handle)
    }
  } catch {
    return null
  }
}

/** Identifies what is there: the same for the same content. */
export function hashOf({ kind, sign, target }: Entry, content: Uint8Array | null): string {
  if (kind === 'file') return content === null ? `file ${sign}` : digest('sha256', content)
  return kind === 'link' ? `link ${target}` : kind
}
