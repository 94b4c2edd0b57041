// The word by which an agent that was woken by time says that there is nothing to say. It never reaches a chat.

/** As models write it: escaped, spaced, in any case. */
const word = 'HEARTBEAT[\\s_\\\\*-]{0,3}OK'
const longest = 20
const atStart = new RegExp(`^${word}(?![\\p{L}\\p{N}])`, 'iu')
const atEnd = new RegExp(`(?<![\\p{L}\\p{N}])${word}$`, 'iu')
/** Some say it before and after. */
const rounds = 3

/** The text without the word at its beginning and end, in whatever markdown or punctuation it comes; null: nothing is left to say. */
export function withoutSilence(text: string): string | null {
  let rest = text
  for (let round = 0; round < rounds; round++) rest = withoutTrailing(withoutLeading(rest))
  return /[\p{L}\p{N}]/u.test(rest) ? rest.trim() : null
}

function withoutLeading(text: string): string {
  const first = text.search(/[\p{L}\p{N}]/u)
  const [found] = (first < 0 ? null : atStart.exec(text.slice(first, first + longest))) ?? []
  return found === undefined ? text : text.slice(first + found.length).replace(/^[*_`~"'”’.!:;,)\]}>]+/u, '')
}

function withoutTrailing(text: string): string {
  const end = text.search(/[\p{L}\p{N}][^\p{L}\p{N}]*$/u)
  const head = text.slice(0, end + 1)
  const [found] = (end < 0 ? null : atEnd.exec(head.slice(-longest))) ?? []
  if (found === undefined) return text
  const before = head.slice(0, -found.length).trimEnd()
  // What opened around the word: a fence, a quote, emphasis.
  return before.slice(0, 1 + lastOutside(before, '*_`~"\'“‘([{<> \n-'))
}

function lastOutside(text: string, marks: string): number {
  let at = text.length - 1
  while (at >= 0 && marks.includes(text[at] ?? '')) at--
  return at
}
