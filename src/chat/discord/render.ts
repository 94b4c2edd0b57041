// How a text of ours looks on Discord: within its limits, without pinging anybody, and told apart by a nonce.
import { createHash } from 'node:crypto'

/** Discord counts code points; UTF-16 units are never fewer, so what fits by them fits. */
export const limits = { length: 2000, measure: (text: string): number => text.length }

/** What a model writes must never ping anybody; only whoever is answered hears of it. */
export const allowedMentions = { parse: [], replied_user: true }

/** The same for every try at the same letter, so that Discord takes it once. At most 25 characters are allowed. */
export const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 24)

export const stopId = 'stop'
/** A row with the one button that a draft has. */
export const stopButton = [{ type: 1, components: [{ type: 2, style: 2, label: 'Stop', custom_id: stopId }] }]

export interface Doing {
  readonly text: string
  /** What the agent is busy with; null: nothing but speaking. */
  readonly label: string | null
  readonly steps: number
}

const statusRoom = 160

/** The end of what was said so far, which is where the news is, and what is being done. Blank: there is nothing to show. */
export function draftOf({ text, label, steps }: Doing): string {
  const shown = endOf(text.trimEnd(), limits.length - statusRoom)
  const others = steps > 1 ? ` (step ${steps})` : ''
  const line = label === null ? '' : `-# ⚙ ${oneLine(label, statusRoom - 30)}${others}`
  return [shown, line].filter(part => part !== '').join('\n')
}

/** The beginning of a text that goes along as a file. */
export function beginningOf(text: string, room = 1500): string {
  return `${shortened(text, room)}\n\n-# The answer has ${text.length} characters; all of it is in the file.`
}

/** A link to a file of the workspace leads nowhere on Discord; the file stands below instead. */
export function withoutFileLinks(text: string, files: readonly string[]): string {
  if (files.length === 0) return text
  return text.replace(/!?\[([^[\]\n]*)\]\(([^()\n]+)\)/g, (link, label: string, between: string) => {
    const path = files.find(file => isSamePath(file, between.trim().replace(/^<|>$/g, '')))
    return path === undefined ? link : label.trim() || (path.split('/').at(-1) ?? path)
  })
}

function isSamePath(file: string, target: string): boolean {
  const given = target.replace(/^\.\//, '')
  try {
    return given === file || decodeURIComponent(given) === file
  } catch {
    return false // A stray % is no encoding.
  }
}

const oneLine = (text: string, most: number): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${whole(line.slice(0, most - 1))}…`
}

function endOf(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const from = text.length - room + 80
  const line = text.indexOf('\n', from)
  const cut = line >= 0 && line < from + room / 2 ? line + 1 : from
  const open = openFence(text.slice(0, cut))
  const tail = text.slice(/[\uDC00-\uDFFF]/.test(text.charAt(cut)) ? cut + 1 : cut)
  return closed(`…\n${open === null ? '' : `${open.slice(0, 30)}\n`}${tail}`)
}

function shortened(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const piece = whole(text.slice(0, room - 10))
  const at = ['\n\n', '\n', ' '].map(gap => piece.lastIndexOf(gap)).find(found => found > room / 2)
  return `${closed(piece.slice(0, at ?? piece.length).trimEnd())}\n…`
}

/** Without half of a surrogate pair at its end. */
const whole = (text: string): string => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text)

const closing = '\n```'

function closed(text: string): string {
  const open = openFence(text)
  return open === null ? text : `${text}\n${/^\s*(`{3,}|~{3,})/.exec(open)?.[1] ?? '```'}`
}

/** The line that opened the code block in which the text ends. */
function openFence(text: string): string | null {
  let open: { readonly line: string; readonly mark: string } | null = null
  for (const line of text.split('\n')) {
    const [, mark = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (mark === '') continue
    if (open === null) open = mark[0] === '`' && rest.includes('`') ? null : { line, mark }
    else if (mark[0] === open.mark[0] && mark.length >= open.mark.length && rest.trim() === '') open = null
  }
  return open?.line ?? null
}
