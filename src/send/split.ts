// Splits a long markdown text into messages that fit the platform: code blocks stay closed, characters stay whole.
import { blockAround, type CodeBlock, GUARD, layOut, type Page, posesAsFence } from './fences.ts'

export interface SplitLimits {
  readonly length: number
  measure(markdown: string): number
}

/**
 * Text that fits is returned unchanged; blank text as an empty list. Otherwise each piece fits, none is blank, and together they are
 * the text, except that
 * - outside code, whitespace at a cut is left out; inside code, nothing but the newline at the cut (and blank lines that
 *   would be all that remains of a block);
 * - a block that is cut is closed and opened again with its marker and language; an unclosed one is closed;
 * - a single character larger than the limit is left out, and so are fences that leave no room for code.
 */
export function split(text: string, limits: SplitLimits): string[] {
  if (text.trim() === '') return []
  if (limits.measure(text) <= limits.length) return [text]
  const page = layOut(text, fences => limits.measure(fences) <= limits.length / 2)
  const fits = (at: number, cut: number) => limits.measure(render(page, at, cut)) <= limits.length
  const pieces: string[] = []
  let at = 0
  while (at < page.text.length) {
    at = nextContent(page, at, limits)
    if (at >= page.text.length) break
    const cut = chooseCut(page, at, limits.length, fits)
    if (cut > at) {
      const piece = render(page, at, cut)
      if (piece.trim() !== '') pieces.push(piece)
      at = cut
    } else {
      at = afterFirstCharacter(page, at)
    }
  }
  return pieces
}

/** The piece between two positions, with the fences it needs to stand alone. */
function render(page: Page, at: number, cut: number): string {
  const [begin, end] = [codeAt(page, at), codeAt(page, cut)]
  let body = page.text.slice(at, cut)
  const lastLine = body.lastIndexOf('\n') + 1
  if (isMidLine(page.text, cut) && posesAsFence(body.slice(lastLine), end)) {
    body = body.slice(0, lastLine) + GUARD + body.slice(lastLine)
  }
  if (!end) body = body.trimEnd()
  if (isMidLine(page.text, at) && posesAsFence(firstLine(body), begin)) body = GUARD + body
  const head = begin ? `${begin.reopen}\n` : ''
  const tail = end ? (body.endsWith('\n') ? '' : '\n') + end.close : ''
  return head + body + tail
}

function firstLine(text: string): string {
  const end = text.indexOf('\n')
  return end < 0 ? text : text.slice(0, end)
}

function codeAt(page: Page, position: number): CodeBlock | null {
  const block = blockAround(page, position)
  return block && position >= block.body ? block : null
}

function isMidLine(text: string, position: number): boolean {
  if (position === 0 || position >= text.length || text[position - 1] === '\n') return false
  return text[position] !== '\n' && !(text[position] === '\r' && text[position + 1] === '\n')
}

/** Where the next piece begins: after the rest of a block that has already been shown, and after blank lines. */
function nextContent(page: Page, after: number, limits: SplitLimits): number {
  const { text } = page
  const block = codeAt(page, after)
  if (block && after < block.visibleEnd) return after
  const at = Math.min(block?.to ?? after, text.length)
  const seen = at + text.slice(at).search(/\S|$/)
  // A space may carry a combining mark, and then it is not blank.
  const visible = clusterStart(text, at, seen)
  const newline = text.slice(at, visible).lastIndexOf('\n')
  const lineStart = newline >= 0 ? at + newline + 1 : isMidLine(text, at) ? visible : at
  // Indentation is kept, because lists and code depend on it, unless it would fill the piece.
  if (visible < text.length && limits.measure(text.slice(lineStart, visible)) <= limits.length / 2) return lineStart
  return visible
}

type Fits = (at: number, cut: number) => boolean

/** The best end of a piece that begins at `at`, or `at` itself if not even one character fits. */
function chooseCut(page: Page, at: number, length: number, fits: Fits): number {
  let max = farthestFit(page, at, length, fits)
  if (max === page.text.length) return max
  while (max > at) {
    const cut = bestCut(page, at, max)
    if (cut <= at) break
    if (fits(at, cut)) return cut
    // A measure need not grow evenly (closing a `**` may shorten the text), so the best cut may turn out too long.
    max = Math.min(cut - 1, at + Math.floor((max - at) * 0.9))
  }
  const one = afterFirstCharacter(page, at)
  return fits(at, one) ? one : at
}

/** Doubles, then halves, so that the cost depends on the size of the piece and not of the text. */
function farthestFit(page: Page, at: number, length: number, fits: Fits): number {
  const { text } = page
  const good = (cut: number) => {
    const safe = outsideFenceLines(page, cut)
    return safe <= at || fits(at, safe)
  }
  let low = at
  let high = at + Math.max(1, Math.floor(length))
  while (high < text.length && good(high)) {
    low = high
    high = at + 2 * (high - at)
  }
  if (high >= text.length) {
    if (good(text.length)) return text.length
    high = text.length
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (good(middle)) low = middle
    else high = middle
  }
  return low
}

/** A cut never splits a fence line: it goes before the opening or before the closing fence. */
function outsideFenceLines(page: Page, cut: number): number {
  const block = blockAround(page, cut)
  if (!block || cut >= page.text.length) return cut
  return cut <= block.body && cut !== block.bodyEnd ? block.from : Math.min(cut, block.bodyEnd)
}

/** Looks in the second half of what fits, so that a good place does not make a needlessly short piece. */
function bestCut(page: Page, at: number, farthest: number): number {
  const max = outsideFenceLines(page, farthest)
  const min = at + ((max - at) >> 1)
  const good = lineCut(page, at, min, max) ?? wordCut(page, at, min, max)
  if (good !== null) return good
  const start = blockAround(page, at)?.from === at ? (blockAround(page, at)?.body ?? at) : at
  const whole = clusterStart(page.text, start, max)
  if (whole > start) return whole
  return isPair(page.text, max - 1) ? max - 1 : max
}

/** The best beginning of a line: after a blank line, beside a block, outside code, after a blank line in code, in code. */
function lineCut(page: Page, at: number, min: number, max: number): number | null {
  const window = page.text.slice(at, max)
  let best: number | null = null
  let bestRank = 5
  for (let end = window.lastIndexOf('\n'); at + end >= min && end > 0 && bestRank > 0; ) {
    const before = window.lastIndexOf('\n', end - 1)
    const rank = rankOfLine(page, at + end + 1, window.slice(before + 1, end).trim() === '')
    if (rank < bestRank) [best, bestRank] = [at + end + 1, rank]
    end = before
  }
  return best
}

function rankOfLine(page: Page, cut: number, afterBlank: boolean): number {
  const block = blockAround(page, cut)
  if (block && cut > block.from) {
    if (cut === block.bodyEnd) return 1
    return cut <= block.body ? 5 : afterBlank ? 3 : 4
  }
  if (afterBlank) return 0
  return block || blockAround(page, cut - 3) ? 1 : 2
}

/** The last end of a sentence, else the last gap between words. */
function wordCut(page: Page, at: number, min: number, max: number): number | null {
  const { text } = page
  let word: number | null = null
  for (let cut = max; cut > min; cut--) {
    const [before = '', after = ''] = [text[cut - 1], text[cut]]
    const inCode = codeAt(page, cut) !== null
    const gap = /\s/.test(before) || (!inCode && /\s/.test(after))
    const sentence = !inCode && ('。！？'.includes(before) || (gap && '.!?…'.includes(before)))
    if (!(sentence || (gap && word === null))) continue
    if (outsideFenceLines(page, cut) !== cut || clusterStart(text, at, cut) !== cut) continue
    if (sentence) return cut
    word = cut
  }
  return word
}

function afterFirstCharacter(page: Page, at: number): number {
  const block = blockAround(page, at)
  const first = block ? Math.max(at, block.body) : at
  return Math.min(page.text.length, first + (isPair(page.text, first) ? 2 : 1))
}

let graphemes: Intl.Segmenter | undefined

/** Where the user-perceived character at this position begins; looks no further back than `at`. */
function clusterStart(text: string, at: number, position: number): number {
  let from = position
  while (from > at && !isPlainBoundary(text, from)) from--
  if (from === position) return position
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  // Whether two characters belong together depends on the text before and on the next code point.
  const around = graphemes.segment(text.slice(from, position + 2)).containing(position - from)
  return around ? from + around.index : position
}

/** Two ASCII characters never belong together, except for CR LF. */
function isPlainBoundary(text: string, position: number): boolean {
  const [before, after] = [text.charCodeAt(position - 1), text.charCodeAt(position)]
  return before < 128 && after < 128 && !(before === 13 && after === 10)
}

function isPair(text: string, position: number): boolean {
  return (text.codePointAt(position) ?? 0) > 0xffff
}
