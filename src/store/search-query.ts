// Turns people's words into queries that SQLite's full-text search accepts, whatever they typed.

/** Scripts without spaces between words: there every character counts as a word. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu
/** Separates words for the index; invisible to people. */
const seam = '\u200b'

export const forIndex = (text: string): string => text.replaceAll(unspaced, `$&${seam}`)

export const forPeople = (text: string): string => text.replaceAll(seam, '').trim().split(/\s+/).join(' ')

export interface Word {
  /** As in the index; several in a row for scripts without spaces. */
  readonly tokens: readonly string[]
  /** It may be the beginning of a word. */
  readonly begun: boolean
}

/** Empty: it contains no word. The last one may be the beginning of a word. */
export function wordsOf(text: string): readonly Word[] {
  const found = (text.normalize('NFC').match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []).slice(0, 20)
  return found.map((word, i) => ({
    tokens: forIndex(word.slice(0, 100)).split(seam).filter(Boolean),
    begun: i === found.length - 1,
  }))
}

export const matchOf = ({ tokens, begun }: Word): string => `"${tokens.join(seam)}"${begun ? '*' : ''}`

/** A prefix of one or two letters would match too many words; if it is a word itself, that word is meant. */
export const isShort = ({ tokens, begun }: Word): boolean =>
  begun && tokens.length === 1 && (tokens[0]?.length ?? 0) < 3
