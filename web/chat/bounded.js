// How much of a text is drawn as Markdown. Beyond it, text stays text: too many links freeze the page, and too deep a nesting empties it.

const most = { depth: 20, links: 2000, marks: 50_000 }
/** Code has neither, but what looks like code here may turn out to be none. */
const shareOfCode = 0.1

/** Where links may begin. */
const link = /\]\(|\]\[|\]:|:\/\/|www\.|@|</gi
/** Characters that open or close something within a line. */
const mark = /[[\]*_~`|!]/g
const opening = /^(?:[ \t]{0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]))+/

/**
 * Splits at the first line that goes too far.
 * @param {string} text
 * @returns {{ rich: string, plain: string }}
 */
export const bounded = text => {
  const left = { ...most }
  /** The line that opened a block of code; null: none is open. */
  let fence = null
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? text.length : end)
    const weight = fence === null ? 1 : shareOfCode
    left.links -= weight * countOf(line, link)
    left.marks -= weight * countOf(line, mark)
    fence = fenceAfter(fence, line)
    if (left.links < 0 || left.marks < 0 || (fence === null && depthOf(line) > most.depth))
      return { rich: text.slice(0, from), plain: text.slice(from) }
    from += line.length + 1
  }
  return { rich: text, plain: '' }
}

const fenceAfter = (fence, line) => {
  const [, marks, info] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
  if (marks === undefined) return fence
  if (fence === null) return marks[0] === '`' && info.includes('`') ? null : marks
  return marks[0] === fence[0] && marks.length >= fence.length && info.trim() === '' ? null : fence
}

const countOf = (line, what) => {
  let count = 0
  for (const _ of line.matchAll(what)) count += 1
  return count
}

/** Quotations and lists, opened on this line or continued by its indentation. */
const depthOf = line => {
  // Longer than any depth that is drawn.
  const start = line.slice(0, 400)
  const indent = /^[ \t]*/.exec(start)[0].replaceAll('\t', '    ').length
  const opened = opening.exec(start.trimStart())?.[0].match(/>|[-*+][ \t]|\d[.)]/g)?.length ?? 0
  return opened + (opened > 0 ? Math.floor(indent / 2) : 0)
}
