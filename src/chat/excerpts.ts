// Parts of a markdown text that stand alone, for drafts and for the beginning of a text that is sent as a file.
import { type Fence, fenceAfter } from '../base/fence.ts'

/** Links to workspace files do not work in a chat; the files are attached instead. */
export function withoutFileLinks(text: string, files: readonly string[]): string {
  if (files.length === 0) return text
  return text.replace(/!?\[([^[\]\n]*)\]\(([^()\n]+)\)/g, (link, label: string, between: string) => {
    const path = files.find(file => isSamePath(file, between.trim().replace(/^<|>$/g, '')))
    return path === undefined ? link : label.trim() || (path.split('/').at(-1) ?? path)
  })
}

function isSamePath(file: string, target: string): boolean {
  const given = target.replace(/^\.\//, '')
  // A guest's agent names files by their path in the guest's folder, guests/NAME/.
  const isNamed = (path: string) =>
    path === file || (file.startsWith('guests/') && file.split('/').slice(2).join('/') === path)
  try {
    return isNamed(given) || isNamed(decodeURIComponent(given))
  } catch {
    return false // A stray % is no encoding.
  }
}

/** The end of a text, with its code block opened again. */
export function endOf(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const from = text.length - room + 80
  const line = text.indexOf('\n', from)
  const cut = line >= 0 && line < from + room / 2 ? line + 1 : from
  const open = openFence(text.slice(0, cut))
  const tail = text.slice(/[\uDC00-\uDFFF]/.test(text.charAt(cut)) ? cut + 1 : cut)
  return closed(`…\n${open === null ? '' : `${open.line.slice(0, 30)}\n`}${tail}`)
}

/** The beginning of a text, with its code block closed. */
export function shortened(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const piece = whole(text.slice(0, room - 10))
  const at = ['\n\n', '\n', ' '].map(gap => piece.lastIndexOf(gap)).find(found => found > room / 2)
  return `${closed(piece.slice(0, at ?? piece.length).trimEnd())}\n…`
}

/** Drops half a surrogate pair at the end. */
const whole = (text: string): string => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text)

const closing = '\n```'

function closed(text: string): string {
  const open = openFence(text)
  return open === null ? text : `${text}\n${open.marks}`
}

/** The code block that is open at the end of the text. */
const openFence = (text: string): Fence | null =>
  text.split('\n').reduce<Fence | null>((open, line) => fenceAfter(line, open), null)
