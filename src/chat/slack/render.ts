// Renders our texts for Slack: as blocks of Markdown, within its limits, and without notifying anybody.
import { createHash } from 'node:crypto'
import { buttonRows, stopButton } from '../../base/buttons.ts'
import type { Button } from '../../base/chat.ts'
import { excerpt } from '../../base/scrub.ts'
import { type Doing, endOf, shortened } from '../live-drafts.ts'
import { stopNoteText } from '../stop-notes.ts'

/**
 * Slack recommends at most 4000 characters for a message, accepts no more when one is edited, and counts its escapes. A block of
 * Markdown may have 12 000.
 */
export const limits = { length: 4000, measure: (text: string): number => escaped(text).length }

/** A message: blocks for people, and plain text for notifications and where blocks are refused. */
export interface Content {
  readonly text: string
  readonly blocks: readonly object[]
}

export const contentOf = (markdown: string): Content => ({
  text: escaped(markdown),
  blocks: markdown.trim() === '' ? [] : [{ type: 'markdown', text: harmless(markdown) }],
})

/** The three characters that mean something in plain text. Without them nobody can be mentioned. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** In Markdown an escape would be visible in code, so mentions of people, groups and channels are taken apart instead. */
export const harmless = (markdown: string): string => markdown.replace(/<(?=[!@#][^<>\n]*>)/g, '<\u2060')

/** The same for every attempt at a delivery; it is in the metadata of the message, where it can be found again. */
export const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 24)

export const eventType = 'aetheel_message'
export const metadataOf = (key: string, about: string | null) => ({
  event_type: eventType,
  event_payload: { key: nonceOf(key), about: about ?? '' },
})

/** The rows of buttons under a message of this conversation. */
export const actionsOf = (buttons: readonly Button[], conversation: string): readonly object[] =>
  buttonRows(buttons).map(row => ({
    type: 'actions',
    elements: row.map(({ id, label, style }) => ({
      ...{ type: 'button', action_id: id, value: conversation, text: { type: 'plain_text', text: label } },
      ...(style && { style }),
    })),
  }))

const statusRoom = 160
const draftRoom = 3000

/** Differs if the draft does: streams and messages show it differently, so it is rendered later. Blank: there is nothing to show. */
export const packed = ({ text, label, steps }: Doing): string =>
  text.trim() === '' && label === null ? '' : JSON.stringify({ text, label, steps })

export function statusOf({ label, steps }: Pick<Doing, 'label' | 'steps'>): string {
  if (label === null) return ''
  return `⚙ ${excerpt(label.replace(/\s+/g, ' '), statusRoom - 30)}${steps > 1 ? ` (step ${steps})` : ''}`
}

/** The end of the text so far, the current action, and the button that stops the turn. */
export function draftContent(doing: Doing, conversation: string): Content {
  const shown = cutTo(draftRoom, room => endOf(doing.text.trimEnd(), room))
  const status = statusOf(doing)
  const line = status === '' ? [] : [{ type: 'context', elements: [{ type: 'plain_text', text: status }] }]
  const { text, blocks } = contentOf(shown)
  return { text: text || escaped(status), blocks: [...blocks, ...line, ...actionsOf([stopButton], conversation)] }
}

/** Beside a stream, which cannot have the button. */
export const stopNoteContent = (conversation: string): Content => ({
  text: stopNoteText,
  blocks: [
    { type: 'context', elements: [{ type: 'plain_text', text: stopNoteText }] },
    ...actionsOf([stopButton], conversation),
  ],
})

/** Escapes make a text longer: then less of it is shown. */
function cutTo(most: number, cut: (room: number) => string): string {
  for (let room = most; ; room = Math.floor(room / 2)) {
    const text = cut(room)
    if (room < 100 || limits.measure(text) <= limits.length) return text
  }
}

/** The beginning of a text that is sent as a file. */
export function beginningOf(text: string): string {
  const beginning = cutTo(1500, room => shortened(text, room))
  return `${beginning}\n\n_The answer has ${text.length} characters; the file contains all of it._`
}
