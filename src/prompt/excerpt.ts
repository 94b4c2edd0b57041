// Reads no more of a file than there is room for, and cuts text without breaking a line or a character.
import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Which part stays when there is too much: rules begin with what matters, memory ends with what is new. */
type Keep = 'start' | 'end'

export interface Excerpt {
  readonly file: string
  readonly text: string
  readonly keep: Keep
  /** Bytes of the whole, when the text is only a part of it. */
  readonly cutFrom: number | null
}

export type Found =
  | { readonly type: 'text'; readonly excerpt: Excerpt }
  | { readonly type: 'missing' }
  /** In words that say what to do. */
  | { readonly type: 'unreadable'; readonly why: string }

/** Bytes set aside for the note that stands in a cut text. */
const noteRoom = 200

/**
 * Never throws. Reads at most `limit` bytes, and the noted text is at most `limit` bytes. Synchronously: a few small files are read
 * for every turn, and the way through the thread pool takes three times as long as the reading.
 */
export const readExcerpt = (path: string, file: string, limit: number, keep: Keep): Found => {
  let handle: number | null = null
  try {
    // Without O_NONBLOCK a named pipe in the place of the file would hold the turn for ever.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(handle)
    if (stat.isDirectory())
      return { type: 'unreadable', why: 'is a folder; move it away and write a file of that name' }
    if (!stat.isFile()) return { type: 'unreadable', why: 'is not a regular file; replace it by one' }
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

/** The same of a text. */
export const excerptOf = (text: string, file: string, limit: number, keep: Keep): Found => {
  const bytes = Buffer.from(text)
  const over = bytes.length > limit
  const kept = over ? cut(bytes, limit - noteRoom, keep) : bytes
  return { type: 'text', excerpt: { file, text: tidy(kept), keep, cutFrom: over ? bytes.length : null } }
}

/** The text with a note, for the agent, on what is missing. */
export const noted = ({ file, text, keep, cutFrom }: Excerpt): string => {
  if (cutFrom === null) return text
  const note = `[Only the ${keep} of ${file} is given here: it has ${cutFrom} bytes. Read the file for the rest, and shorten it.]`
  return keep === 'start' ? `${text}\n\n${note}` : `${note}\n\n${text}`
}

/** Shares `limit` bytes out: the small stay whole, the largest are cut to the same size. */
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
    if (read === 0) break // it became shorter meanwhile
    done += read
  }
  return bytes.subarray(0, done)
}

const newline = 0x0a
const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** At most `room` bytes, at a line's border; inside a line only where that would cost more than half. */
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
  // A line that begins exactly at the border counts: its line end is the byte before.
  const line = bytes.indexOf(newline, start - 1) + 1
  if (line > 0 && line < start + room / 2) return bytes.subarray(line)
  while (start < bytes.length && continues(bytes[start])) start++
  return bytes.subarray(start)
}

/** Without byte order mark, blank borders, and the NULs that a power cut can leave and that no command line takes. */
const tidy = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll('\0', '')
    .replace(/^(?:[ \t\r]*\n)+/, '')
    .trimEnd()

const troubleOf = (error: unknown): Found => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { type: 'missing' }
    case 'EACCES':
    case 'EPERM':
      return { type: 'unreadable', why: 'may not be read; give the user of the gateway the permission (chmod u+r)' }
    case 'ELOOP':
      return { type: 'unreadable', why: 'is a link that leads in a circle; replace it by a file' }
    default:
      return { type: 'unreadable', why: `cannot be read (${code})` }
  }
}
