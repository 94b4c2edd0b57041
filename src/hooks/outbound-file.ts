// A file dropped into ipc/outbound: opened without following links, and parsed as a message.

import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { label } from '../base/scrub.ts'
import { errorCode, isObject } from '../base/unknown.ts'

/** Identifies a state of the file; it is the same file while none of these change. */
export interface Seen {
  readonly inode: bigint
  readonly size: bigint
  readonly changed: bigint
}

export interface Words {
  /** As written: `discord:123`. Null for the default channel. */
  readonly channel: string | null
  readonly text: string
  /** As written. */
  readonly files: readonly string[]
}

export type Dropped =
  /** `key` is the same for the same file with the same content, and different for the next file of that name. */
  | { readonly type: 'message'; readonly words: Words; readonly key: string }
  | { readonly type: 'refused'; readonly why: string }
  /** It may still be written. If nothing more comes, it is refused for this reason. */
  | { readonly type: 'unfinished'; readonly why: string }
  /** It disappeared or was replaced; the next pass will see. */
  | { readonly type: 'gone' }

const mostBytes = 1024 * 1024
const refused = (why: string) => ({ type: 'refused', why }) as const
const unfinished = (why: string) => ({ type: 'unfinished', why }) as const

/** Null if it does not exist. */
export async function seenAt(path: string): Promise<Seen | null> {
  try {
    return seenIn(await lstat(path, { bigint: true }))
  } catch {
    return null // It was removed in the meantime.
  }
}

const seenIn = ({ ino, size, mtimeNs }: BigIntStats): Seen => ({ inode: ino, size, changed: mtimeNs })

export const sameFile = (a: Seen, b: Seen): boolean =>
  a.inode === b.inode && a.size === b.size && a.changed === b.changed

export async function readDropped(path: string, name: string, seen: Seen): Promise<Dropped> {
  try {
    const stats = await lstat(path, { bigint: true })
    if (!sameFile(seenIn(stats), seen)) return { type: 'gone' }
    const why = objectionTo(stats, name)
    return why === null ? await readPlain(path, name, seen) : refused(why)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return { type: 'gone' }
    if (code === 'ELOOP') return refused(linked) // a link has replaced the file since the lstat
    return unfinished(`It cannot be read (${code ?? 'unknown error'}).`)
  }
}

const linked = 'It is a link. Drop the file itself.'

function objectionTo(stats: BigIntStats, name: string): string | null {
  if (/\p{Cc}/u.test(name)) return 'Its name has control characters.'
  if (stats.isSymbolicLink()) return linked
  if (stats.isDirectory()) return 'It is a folder. Drop single files.'
  if (!stats.isFile()) return 'It is not a file.'
  // The other name may belong to a file outside the workspace that nobody meant to send.
  if (stats.nlink > 1n) return 'It has more than one name (hard links). Drop a file of its own.'
  if (stats.size > BigInt(mostBytes)) return `It is larger than ${mostBytes} bytes. Name large files in "files".`
  if (!/\.(json|md)$/i.test(name)) return 'It is neither .json nor .md.'
  return null
}

async function readPlain(path: string, name: string, seen: Seen): Promise<Dropped> {
  // If it has become a pipe, opening it without O_NONBLOCK would block until somebody writes.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const before = await file.stat({ bigint: true })
    if (!sameFile(seenIn(before), seen)) return { type: 'gone' }
    const why = objectionTo(before, name)
    if (why !== null) return refused(why)
    const bytes = Buffer.alloc(Number(before.size))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    const after = await file.stat({ bigint: true })
    if (bytesRead !== bytes.length || !sameFile(seenIn(after), seen)) return { type: 'gone' }
    const text = asText(bytes)
    if (text === null) return unfinished('It is not UTF-8.')
    const words = name.toLowerCase().endsWith('.json') ? wordsInJson(text) : wordsInMarkdown(text)
    if ('type' in words) return words
    if (words.text.trim() === '' && words.files.length === 0) return unfinished('It has no text.')
    return { type: 'message', words, key: keyOf(name, bytes, seen) }
  } finally {
    await file.close()
  }
}

/** Includes the modification time: the same text under the same name on another day is another message. */
function keyOf(name: string, bytes: Buffer, { changed }: Seen): string {
  const hash = createHash('sha256').update(`${name}\0${changed}\0`).update(bytes).digest('hex').slice(0, 32)
  return `outbound:${label(name)}:${hash}`
}

function asText(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null // Not UTF-8.
  }
}

const fields = ['channel', 'text', 'files']
const jsonShape = 'Expected {"channel": "discord:123", "text": "…", "files": ["notes/report.pdf"]}.'

function wordsInJson(source: string): Words | Dropped {
  let json: unknown
  try {
    json = JSON.parse(source)
  } catch {
    return unfinished(`It is not JSON. ${jsonShape}`)
  }
  if (!isObject(json)) return refused(`It is not an object. ${jsonShape}`)
  // A misspelt "channel" would send it to the wrong people.
  const odd = Object.keys(json).find(key => !fields.includes(key))
  if (odd !== undefined) return refused(`It has an unknown field, "${label(odd)}". ${jsonShape}`)
  const { channel = null, text = '', files = [] } = json as Readonly<Record<string, unknown>>
  if (channel !== null && typeof channel !== 'string') return refused(`"channel" is not a string. ${jsonShape}`)
  if (typeof text !== 'string') return refused(`"text" is not a string. ${jsonShape}`)
  if (!Array.isArray(files) || !files.every(file => typeof file === 'string'))
    return refused(`"files" is not a list of strings. ${jsonShape}`)
  return { channel: filled(channel), text, files }
}

/** `Channel: …` in the first line, or front matter with `channel: …`; the rest is the text. */
function wordsInMarkdown(source: string): Words | Dropped {
  const [line, first] = /^\s*Channel:([^\n]*)/i.exec(source) ?? []
  if (line !== undefined && first !== undefined)
    return { channel: filled(first), text: source.slice(line.length).trim(), files: [] }
  const [matter, inside] = /^---[ \t]*\r?\n((?:[A-Za-z][\w-]*:[^\n]*\n)+)---[ \t]*(?:\r?\n|$)/.exec(source) ?? []
  if (matter === undefined || inside === undefined) return { channel: null, text: source.trim(), files: [] }
  const lines = inside.trim().split('\n')
  const odd = lines.find(line => !/^channel:/i.test(line))
  if (odd !== undefined || lines.length > 1) return refused('Its front matter may have one line, "channel: …".')
  return { channel: filled(inside.slice(inside.indexOf(':') + 1)), text: source.slice(matter.length).trim(), files: [] }
}

const filled = (channel: string | null): string | null => {
  const plain = channel?.trim().replace(/^(["'])(.*)\1$/, '$2') ?? ''
  return plain === '' ? null : plain
}
