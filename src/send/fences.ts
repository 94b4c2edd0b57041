// Finds the fenced code blocks of a markdown text, and makes sure that each fence leaves room for its content.

export interface CodeBlock {
  /** Where the opening line begins. */
  readonly from: number
  /** Where the code begins and ends; an unclosed block ends at Infinity. */
  readonly body: number
  readonly bodyEnd: number
  /** After this position, the block contains only whitespace. */
  readonly visibleEnd: number
  /** Where the closing line ends. */
  readonly to: number
  /** The lines that continue and close the block in a message of its own. */
  readonly reopen: string
  readonly close: string
  /** A closing fence may be indented this far. */
  readonly closeIndent: number
}

export interface Page {
  readonly text: string
  readonly blocks: readonly CodeBlock[]
}

/** Inserted before text that a cut would turn into a fence (``` in the middle of a line). Invisible. */
export const GUARD = '\u200b'

/**
 * `roomFor` tells whether the two fence lines leave enough of a message for code. An info string that is too long becomes the
 * first line of the code; a marker that is too long is left out, and what it enclosed becomes ordinary text.
 */
export function layOut(text: string, roomFor: (fences: string) => boolean): Page {
  const out: string[] = []
  const blocks: CodeBlock[] = []
  let length = 0
  let visibleEnd = 0
  let listIndent = 0
  let open: Pick<CodeBlock, 'from' | 'body' | 'reopen' | 'close' | 'closeIndent'> | null = null
  const emit = (part: string) => {
    if (/\S/.test(part)) visibleEnd = length + part.trimEnd().length
    out.push(part)
    length += part.length
  }
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at) + 1 || text.length
    const whole = text.slice(at, next)
    const ending = /\r?\n$/.exec(whole)?.[0] ?? ''
    const line = whole.slice(0, whole.length - ending.length)
    at = next
    if (open) {
      if (closes(line, open)) {
        blocks.push({ ...open, bodyEnd: length, visibleEnd, to: length + line.length })
        open = null
      }
      emit(whole)
      continue
    }
    let rest = line
    let fence = opening(rest, listIndent)
    while (fence && !roomFor(`${fence.bare}\n\n${fence.bare}`)) {
      rest = fence.info
      fence = opening(rest, listIndent)
    }
    if (!fence) {
      emit(rest === '' && line !== '' ? '' : rest + ending)
      listIndent = indentAfter(line, listIndent)
      continue
    }
    const { lead, bare, info, closeIndent }: Fence = fence
    const from = length
    if (roomFor(`${rest}\n\n${bare}`)) {
      emit(rest + ending)
      open = { from, body: length, reopen: bare + languageOf(info), close: bare, closeIndent }
    } else {
      emit(`${lead}\n`)
      open = { from, body: length, reopen: bare, close: bare, closeIndent }
      const words = info.trim()
      if (words !== '' && !closes(words, open)) emit(words + ending)
    }
  }
  if (open) blocks.push({ ...open, bodyEnd: Number.POSITIVE_INFINITY, visibleEnd, to: Number.POSITIVE_INFINITY })
  return { text: out.join(''), blocks }
}

/** The block that contains this position, fence lines included. */
export function blockAround({ blocks }: Page, position: number): CodeBlock | null {
  let low = 0
  let high = blocks.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((blocks[middle]?.from ?? 0) <= position) low = middle + 1
    else high = middle
  }
  const block = blocks[low - 1]
  return block && position < block.to ? block : null
}

/** Whether part of a line would look like a fence if it were alone: a closing one inside code, an opening one elsewhere. */
export function posesAsFence(part: string, block: CodeBlock | null): boolean {
  return block ? closes(part, block) : opening(part, Number.POSITIVE_INFINITY) !== null
}

interface Fence {
  /** The line up to the info string. */
  readonly lead: string
  /** The marker alone, with the indentation of its line. */
  readonly bare: string
  readonly info: string
  readonly closeIndent: number
}

/** A fence may be indented up to three columns more than the text around it, also in a list item or on the bullet's line. */
function opening(line: string, listIndent: number): Fence | null {
  const found = /^( *)((?:[-*+]|\d{1,9}[.)]) {1,4})?(`{3,}|~{3,})/.exec(line)
  const [lead = '', spaces = '', bullet = '', marker = ''] = found ?? []
  if (marker === '' || spaces.length > listIndent + 3) return null
  const info = line.slice(lead.length)
  if (marker.startsWith('`') && info.includes('`')) return null
  const indent = spaces.length + bullet.length
  return { lead, bare: ' '.repeat(indent) + marker, info, closeIndent: (bullet ? indent : listIndent) + 3 }
}

/** A language that begins with a tilde would lengthen the marker. */
const languageOf = (info: string) => /^\s*([^\s~]\S*)/.exec(info)?.[1] ?? ''

function closes(line: string, { close, closeIndent }: Pick<CodeBlock, 'close' | 'closeIndent'>): boolean {
  const [, spaces = '', marker = ''] = /^( *)(`{3,}|~{3,})[ \t\r]*$/.exec(line) ?? []
  return marker.startsWith(close.trimStart()) && spaces.length <= closeIndent
}

/** The indentation of the content of the list item that a line belongs to. */
function indentAfter(line: string, before: number): number {
  const content = line.search(/\S/)
  if (content === -1) return before
  const item = /^ *(?:[-*+]|\d{1,9}[.)]) {1,4}(?=\S)/.exec(line)?.[0]
  return item && content <= before + 3 ? item.length : Math.min(before, content)
}
