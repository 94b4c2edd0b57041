// Appends to archive files so that a kill at any moment neither loses nor duplicates messages.

import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isMissing } from '../base/unknown.ts'

/** What will be appended to a file, stored before it is written: after a crash it tells how much was written. */
export interface Intent {
  /** Relative to the workspace. */
  readonly path: string
  /** The size of the file before. */
  readonly size: number
  readonly pieces: readonly string[]
}

const rotated = 5
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants

/** The size of the file, and whether its last line is unfinished. Anything at the path that is not a file is moved aside. */
export async function endOf(path: string, aside: string): Promise<{ readonly size: number; readonly open: boolean }> {
  const found = await lstat(path).catch(missing)
  if (found && !found.isFile()) await rename(path, `${path}.${aside}`)
  if (!found?.isFile() || found.size === 0) return { size: 0, open: false }
  const file = await open(path, O_RDONLY | O_NOFOLLOW)
  try {
    return { size: found.size, open: (await bytesAt(file, found.size - 1, 1)).toString() !== '\n' }
  } finally {
    await file.close()
  }
}

/** Writes the part of the intent that is not in the file yet. On disk once it resolves. */
export async function fulfil(dir: string, { path: name, size, pieces }: Intent): Promise<void> {
  const path = join(dir, name)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  try {
    const whole = Buffer.from(pieces.join(''))
    const { size: now } = await file.stat()
    const grown = await bytesAt(file, size, Math.min(whole.length, Math.max(0, now - size)))
    if (whole.subarray(0, grown.length).equals(grown)) await file.appendFile(whole.subarray(grown.length))
    else await file.appendFile(await unwritten(file, now, whole.length, pieces))
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Somebody else may have written to the file too, so every piece is looked for in the whole last part of the file. */
async function unwritten(file: FileHandle, size: number, length: number, pieces: readonly string[]): Promise<string> {
  const from = Math.max(0, size - 2 * length - 65_536)
  let tail = (await bytesAt(file, from, size - from)).toString()
  const lacking: string[] = []
  for (const piece of pieces) {
    const at = tail.indexOf(piece)
    if (at < 0) lacking.push(piece)
    else tail = tail.slice(0, at) + tail.slice(at + piece.length)
  }
  return lacking.length === 0 ? '' : `${tail === '' || tail.endsWith('\n') ? '' : '\n'}${lacking.join('')}`
}

/** `x.jsonl` becomes `x.1.jsonl`, that becomes `x.2.jsonl`; the fifth is deleted. If interrupted, it continues from the gap. */
export async function rotate(path: string): Promise<void> {
  const name = (n: number) => (n === 0 ? path : path.replace(/\.jsonl$/, `.${n}.jsonl`))
  let gap = 1
  while (gap < rotated && (await lstat(name(gap)).catch(missing))) gap++
  for (let n = gap; n > 0; n--) await rename(name(n - 1), name(n))
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let have = 0
  while (have < length) {
    const { bytesRead } = await file.read(bytes, have, length - have, position + have)
    if (bytesRead === 0) break
    have += bytesRead
  }
  return bytes.subarray(0, have)
}

function missing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}
