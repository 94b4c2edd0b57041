// What people wrote, fit to be a name or to be shown back to them in one line.
import { excerpt } from '../base/scrub.ts'

/** Control characters, line ends, halves of characters, and what turns the direction of a text or takes no room. */
const unseen = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/u

export const isSeen = (text: string): boolean => !unseen.test(text)

/** At most 60 characters of it. */
export const quoted = (text: string): string =>
  excerpt(text.slice(0, 300).replace(new RegExp(`${unseen.source}+`, 'gu'), ' '), 60)
