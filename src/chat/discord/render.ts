// Renders our texts for Discord: within its limits, without pinging anybody, and with a nonce.

import { createHash } from 'node:crypto'
import { type Fence, fenceAfter } from '../../base/fence.ts'
import { excerpt } from '../../base/scrub.ts'

/** Discord counts code points. There are never fewer UTF-16 units, so a text that fits by them fits. */
export const limits = { length: 2000, measure: (text: string): number => text.length }

/** Model output must never ping anybody; only the person who is answered gets a notification. */
export const allowedMentions = { parse: [], replied_user: true }

/** The same for every attempt at a delivery, so that Discord accepts it once. At most 25 characters. */
export const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 24)

export const stopId = 'stop'
/** The row with the Stop button of a draft. */
export const stopButton = [{ type: 1, components: [{ type: 2, style: 2, label: 'Stop', custom_id: stopId }] }]

export interface Doing {
  readonly text: string
  /** What the agent is doing; null: only writing. */
  readonly label: string | null
  readonly steps: number
}

const statusRoom = 160

/** The end of the text so far, and the current action. Blank: there is nothing to show. */
export function draftOf({ text, label, steps }: Doing): string {
  const shown = endOf(text.trimEnd(), limits.length - statusRoom)
  const others = steps > 1 ? ` (step ${steps})` : ''
  const line = label === null ? '' : `-# ⚙ ${oneLine(label, statusRoom - 30)}${others}`
  return [shown, line].filter(part => part !== '').join('\n')
}

/** The beginning of a text that is sent as a file. */
export function beginningOf(text: string, room = 1500): string {
  return `${shortened(text, room)}\n\n-# The answer has ${text.length} characters; the file contains all of it.`
}

/** Links to workspace files do not work on Discord; the files are attached instead. */
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

const oneLine = (text: string, most: number): string => excerpt(text.replace(/\s+/g, ' '), most)

function endOf(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const from = text.length - room + 80
  const line = text.indexOf('\n', from)
  const cut = line >= 0 && line < from + room / 2 ? line + 1 : from
  const open = openFence(text.slice(0, cut))
  const tail = text.slice(/[\uDC00-\uDFFF]/.test(text.charAt(cut)) ? cut + 1 : cut)
  return closed(`…\n${open === null ? '' : `${open.line.slice(0, 30)}\n`}${tail}`)
}

function shortened(text: string, room: number): string {
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
