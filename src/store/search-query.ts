// People's words as a query that SQLite's full text search takes, whatever they wrote.

/** Scripts that put no spaces between words: there every character counts as one. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu
/** Separates words for the index, and nobody sees it. */
const seam = '\u200b'

export const forIndex = (text: string): string => text.replaceAll(unspaced, `$&${seam}`)

export const forPeople = (text: string): string => text.replaceAll(seam, '').replaceAll(/\s+/g, ' ').trim()

export interface Query {
  /** Every word; the last may be the beginning of one. */
  readonly all: string
  readonly any: string
}

/** Null: there is no word in it. */
export function queryOf(words: string): Query | null {
  const found = (words.normalize('NFC').match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []).slice(0, 20)
  if (found.length === 0) return null
  const quoted = found.map((word, i) => `"${forIndex(word.slice(0, 100))}"${i === found.length - 1 ? '*' : ''}`)
  return { all: quoted.join(' AND '), any: quoted.join(' OR ') }
}
