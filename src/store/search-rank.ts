// Ranks the matching pieces and picks the part of each that is shown. Similar to BM25, but only over these few pieces:
// SQLite's own ranking reads every piece that contains one of the words before it can rank the first.
import { forPeople, type Word } from './search-query.ts'

export interface Found {
  readonly id: number
  readonly title: string
  readonly body: string
}

export interface Term {
  readonly word: Word
  /** How much a match of this word says; less for a common word. */
  readonly weight: number
}

const titleCounts = 4
const usualLength = 900
/** Repetitions of the same word say little more. */
const enough = 1.2
const shownTokens = 24

export function scoreOf({ title, body }: Found, terms: readonly Term[]): number {
  const [head, text] = [folded(title), folded(body)]
  const long = 0.25 + (0.75 * body.length) / usualLength
  return terms.reduce((sum, { word, weight }) => {
    const n = titleCounts * timesIn(head, word) + timesIn(text, word)
    return sum + (weight * n) / (n + enough * long)
  }, 0)
}

/** Around the first match, with all matches in bold. */
export function snippetOf(body: string, terms: readonly Term[]): string {
  const tokens = [...body.matchAll(tokenAt)].map(({ 0: text, index }) => ({
    at: index,
    end: index + text.length,
    text: folded(text),
  }))
  const bold = new Set<number>()
  const ends = new Set<number>()
  for (const { word } of terms)
    for (let i = 0; i < tokens.length; i++) {
      const wanted = word.tokens.map(folded)
      const isHere = wanted.every((token, n) =>
        isToken(tokens[i + n]?.text ?? '', token, word.begun && n === wanted.length - 1),
      )
      if (!isHere) continue
      for (let n = 0; n < wanted.length; n++) bold.add(i + n)
      ends.add(i + wanted.length - 1)
    }
  const first = Math.max(0, Math.min(...bold, tokens.length))
  const from =
    tokens.length <= shownTokens || first === tokens.length
      ? 0
      : Math.max(0, Math.min(first - 6, tokens.length - shownTokens))
  const to = Math.min(tokens.length, from + shownTokens)
  let text = from === 0 ? body.slice(0, tokens[0]?.at ?? body.length) : '…'
  for (let i = from; i < to; i++) {
    const { at, end } = tokens[i] as { at: number; end: number }
    if (i > from) text += body.slice(tokens[i - 1]?.end, at)
    text += (bold.has(i) && (!bold.has(i - 1) || ends.has(i - 1) || i === from) ? '**' : '') + body.slice(at, end)
    if (bold.has(i) && (ends.has(i) || !bold.has(i + 1) || i === to - 1)) text += '**'
  }
  text += to < tokens.length ? '…' : body.slice(tokens.at(-1)?.end ?? body.length)
  return forPeople(text)
}

const tokenAt = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
const isLetter = /[\p{L}\p{N}\p{Co}]/u

const isToken = (text: string, token: string, begun: boolean): boolean =>
  begun ? text.startsWith(token) : text === token

/** Without case and accents, as in the index. */
const folded = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is most of what there is, and needs no more.
  (/^[\x00-\x7f]*$/.test(text) ? text : text.normalize('NFD').replaceAll(/\p{M}/gu, '')).toLowerCase()

function timesIn(text: string, { tokens, begun }: Word): number {
  const wanted = tokens.map(folded).join('\u200b')
  let n = 0
  for (let at = text.indexOf(wanted); at >= 0 && n < 20; at = text.indexOf(wanted, at + wanted.length)) {
    const isWhole = begun || !isLetter.test(text[at + wanted.length] ?? ' ')
    if (isWhole && !isLetter.test(text[at - 1] ?? ' ')) n++
  }
  return n
}
