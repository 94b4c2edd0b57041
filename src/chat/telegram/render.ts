// How our texts look on Telegram: within its limits, with buttons, and the files that belong to them.
import type { InlineKeyboardMarkup } from 'grammy/types'
import { buttonRows } from '../../base/buttons.ts'
import type { Button, ChatLimits } from '../../base/chat.ts'
import { excerpt } from '../../base/scrub.ts'
import { type Doing, endOf, shortened } from '../live-drafts.ts'
import { renderMarkdown } from './markdown.ts'

/** Telegram counts UTF-16 units after the markup has become entities. That is never more than the markdown has. */
export const limits: Pick<ChatLimits, 'length' | 'measure'> = {
  length: 4096,
  measure: markdown => (markdown.length <= 4096 ? markdown.length : renderMarkdown(markdown).text.length),
}

/** Telegram shows all buttons alike, and cuts off labels that do not fit, so there are two in a row. */
export function keyboardOf(buttons: readonly Button[]): { readonly reply_markup?: InlineKeyboardMarkup } {
  if (buttons.length === 0) return {}
  const all = buttonRows(buttons)
    .flat()
    .map(({ id, label }) => ({ text: label, callback_data: id }))
  const rows = all.flatMap((_, at) => (at % 2 === 0 ? [all.slice(at, at + 2)] : []))
  return { reply_markup: { inline_keyboard: rows } }
}

const statusRoom = 160

/** The end of the text so far, and the current action. Blank: there is nothing to show. */
export function draftOf({ text, label, steps }: Doing): string {
  const shown = endOf(text.trimEnd(), limits.length - statusRoom)
  const others = steps > 1 ? ` (step ${steps})` : ''
  const line = label === null ? '' : `⚙ ${excerpt(label.replace(/\s+/g, ' '), statusRoom - 40)}${others}`
  return [shown, line].filter(part => part !== '').join('\n\n')
}

/** The beginning of a text that is sent as a file. */
export const beginningOf = (text: string): string =>
  `${shortened(text, 3000)}\n\nThe answer has ${text.length} characters; the file contains all of it.`

/** Telegram shows these as pictures, up to 10 MB; everything else is sent as a document. */
export const isPicture = (name: string, bytes: number): boolean =>
  /\.(png|jpe?g|webp)$/i.test(name) && bytes > 0 && bytes <= 10 * 1024 * 1024
