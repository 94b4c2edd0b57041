// Renders our texts for Discord: within its limits, without pinging anybody, and with a nonce.

import { createHash } from 'node:crypto'
import { excerpt } from '../../base/scrub.ts'
import { endOf, shortened } from '../excerpts.ts'
import type { Doing } from '../live-drafts.ts'

/** Discord counts code points. There are never fewer UTF-16 units, so a text that fits by them fits. */
export const limits = { length: 2000, measure: (text: string): number => text.length }

/** Model output must never ping anybody; only the person who is answered gets a notification. */
export const allowedMentions = { parse: [], replied_user: true }

/** The same for every attempt at a delivery, so that Discord accepts it once. At most 25 characters. */
export const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 24)

export const stopId = 'stop'
/** The row with the Stop button of a draft. */
export const stopButton = [{ type: 1, components: [{ type: 2, style: 2, label: 'Stop', custom_id: stopId }] }]

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

const oneLine = (text: string, most: number): string => excerpt(text.replace(/\s+/g, ' '), most)
