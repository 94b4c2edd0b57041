// Reads no more of a file than there is room for, and cuts text without breaking a line or a character.

import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { errorCode } from '../base/error-text.ts'

/** Which part to keep if there is too much: rules start with what matters, memory ends with what is new. */
type Keep = 'start' | 'end'

export interface Excerpt {
  readonly file: string
  readonly text: string
  readonly keep: Keep
  /** The size of the whole file in bytes, if the text is only a part of it. */
  readonly cutFrom: number | null
}

export type Found =
  | { readonly type: 'text'; readonly excerpt: Excerpt }
  | { readonly type: 'missing' }
  /** `why` says what to do. */
  | { readonly type: 'unreadable'; readonly why: string }

/** Bytes reserved for the note in a cut text. */
const noteRoom = 200

/**
 * Throws only if there are no file descriptors left: then nothing is known about the file, and the turn must wait.
 * Reads at most `limit` bytes, and the noted text has at most `limit` bytes. Synchronous: a few small files are read for every
 * turn, and the thread pool would take three times as long as the reading.
 */
export const readExcerpt = (path: string, file: string, limit: number, keep: Keep): Found => {
  let handle: number | null = null
  try {
    // Without O_NONBLOCK, a named pipe in place of the file would block the turn for ever.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(handle)
    if (stat.isDirectory())
      return { type: 'unreadable', why: 'is a folder; move it away and create a file with that name' }
    if (!stat.isFile()) return { type: 'unreadable', why: 'is not a regular file; replace it with one' }
    const over = stat.size > limit
    const whole = readAt(handle, over && keep === 'end' ? stat.size - limit : 0, Math.min(stat.size, limit))
    const bytes = over ? cut(whole, limit - noteRoom, keep) : whole
    if (!isUtf8(bytes)) return { type: 'unreadable', why: 'is not UTF-8 text; save it as UTF-8' }
    return { type: 'text', excerpt: { file, text: tidy(bytes), keep, cutFrom: over ? stat.size : null } }
  } catch (error) {
    return troubleOf(error)
  } finally {
    if (handle !== null) closeSync(handle)
  }
}

/** The same for a text. */
export const excerptOf = (text: string, file: string, limit: number, keep: Keep): Found => {
  const bytes = Buffer.from(text)
  const over = bytes.length > limit
  const kept = over ? cut(bytes, limit - noteRoom, keep) : bytes
  return { type: 'text', excerpt: { file, text: tidy(kept), keep, cutFrom: over ? bytes.length : null } }
}

/** The text with a note for the agent about the missing part. */
export const noted = ({ file, text, keep, cutFrom }: Excerpt): string => {
  if (cutFrom === null) return text
  const note = `[Only the ${keep} of ${file} is shown here: it has ${cutFrom} bytes. Read the file for the rest, and shorten it.]`
  return keep === 'start' ? `${text}\n\n${note}` : `${note}\n\n${text}`
}

/** Distributes `limit` bytes: small texts stay whole, the largest are cut to the same size. */
export const shareRoom = (excerpts: readonly Excerpt[], limit: number): readonly Excerpt[] => {
  const sizes = excerpts.map(excerpt => Buffer.byteLength(noted(excerpt)))
  if (sizes.reduce((sum, size) => sum + size, 0) <= limit) return excerpts
  let rest = limit
  let share = 0
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    share = Math.floor(rest / (sizes.length - index))
    if (size > share) break
    rest -= size
  }
  return excerpts.map((excerpt, index) => {
    if ((sizes[index] ?? 0) <= share) return excerpt
    const bytes = Buffer.from(excerpt.text)
    return {
      ...excerpt,
      text: tidy(cut(bytes, share - noteRoom, excerpt.keep)),
      cutFrom: excerpt.cutFrom ?? bytes.length,
    }
  })
}

const readAt = (handle: number, from: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const read = readSync(handle, bytes, done, length - done, from + done)
    if (read === 0) break // it became shorter in the meantime
    done += read
  }
  return bytes.subarray(0, done)
}

const newline = 0x0a
const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** At most `room` bytes, cut between lines; inside a line only if more than half would be lost. */
const cut = (bytes: Buffer, room: number, keep: Keep): Buffer => {
  if (bytes.length <= room) return bytes
  if (keep === 'start') {
    const line = bytes.lastIndexOf(newline, room)
    if (line > room / 2) return bytes.subarray(0, line)
    let end = room
    while (end > 0 && continues(bytes[end])) end--
    return bytes.subarray(0, end)
  }
  let start = bytes.length - room
  // A line that begins exactly at the cut counts: its newline is the byte before.
  const line = bytes.indexOf(newline, start - 1) + 1
  if (line > 0 && line < start + room / 2) return bytes.subarray(line)
  while (start < bytes.length && continues(bytes[start])) start++
  return bytes.subarray(start)
}

/** Without byte order mark, blank lines at the ends, and NULs, which a power cut can leave and no command line accepts. */
const tidy = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll('\0', '')
    .replace(/^(?:[ \t\r]*\n)+/, '')
    .trimEnd()

const troubleOf = (error: unknown): Found => {
  const code = errorCode(error) ?? 'unknown error'
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { type: 'missing' }
    case 'EACCES':
    case 'EPERM':
      return { type: 'unreadable', why: 'is not readable; give the user of the gateway permission (chmod u+r)' }
    case 'ELOOP':
      return { type: 'unreadable', why: 'is a circular link; replace it with a file' }
    case 'EMFILE':
    case 'ENFILE':
      throw error
    default:
      return { type: 'unreadable', why: `cannot be read (${code})` }
  }
}
