// Splits texts into pieces small enough to show: an item of the memory, a fact, a message, a section of a note.
import { type Fence, fenceAfter } from '../base/fence.ts'
import { readFact } from './record-files.ts'

export type SourceKind = 'memory' | 'brain' | 'note' | 'conversation'

export interface Piece {
  readonly title: string
  readonly body: string
  /** Milliseconds since the epoch, if the text itself tells. */
  readonly at: number | null
  /** `2026-11-16 14:03` in local time, if the text tells only that. */
  readonly wall: string | null
}

const room = 2000
/** The limit for one heading. A title can consist of two. */
const headingRoom = 200

/** Null: it cannot be parsed now, and the indexed content stays. */
export function piecesOf(kind: SourceKind, path: string, text: string): readonly Piece[] | null {
  switch (kind) {
    case 'memory':
      return blocksOf(text, true).flatMap(({ heading, body }) => cut({ title: heading || 'Memory', body }))
    case 'brain':
      return factsOf(text)
    case 'note':
      return sectionsOf(text, nameOf(path))
    case 'conversation':
      return saidIn(text, path)
    default:
      return kind satisfies never
  }
}

function factsOf(text: string): readonly Piece[] | null {
  try {
    const raw = JSON.parse(text) as unknown[] | { readonly items?: readonly unknown[] }
    const list = Array.isArray(raw) ? raw : (raw.items ?? [])
    return list.flatMap(one => {
      const fact = readFact({ id: '', ...(one as object) })
      if (!fact) return []
      const { content, type, category, tags, updatedAt, createdAt } = fact
      const body = tags.length === 0 ? content : `${content} (${tags.join(', ')})`
      return cut({ title: category || type, body, at: Date.parse(updatedAt || createdAt) || null })
    })
  } catch {
    // Being written, or broken: createRecords reports that.
    return null
  }
}

/** One section per heading; a long one is split between its paragraphs. */
function sectionsOf(text: string, name: string): readonly Piece[] {
  const blocks = blocksOf(text, false)
  const first = blocks[0]?.heading || name
  const pieces: Piece[] = []
  let open = { title: first, body: '' }
  const close = () => {
    if (open.body !== '' || open.title !== first) pieces.push(...cut(open))
  }
  for (const { heading, body } of blocks) {
    const title = heading === '' || heading === first ? first : `${first}: ${heading}`
    if (title !== open.title || open.body.length + body.length > room) {
      close()
      open = { title, body: '' }
    }
    open = { title, body: open.body === '' ? body : `${open.body}\n${body}` }
  }
  close()
  return pieces.length > 0 ? pieces : cut({ title: first, body: '' })
}

/** As src/store/archive-lines.ts writes it: `**Ada** 14:03`, followed by the text. */
function saidIn(text: string, path: string): readonly Piece[] {
  const [, day = null] = /(\d{4}-\d\d-\d\d)\.md$/.exec(path) ?? []
  const pieces: Piece[] = []
  const [, ...said] = `\n${text}`.split(/^(?=\*\*.+\*\* \d\d:\d\d)/m)
  for (const one of said) {
    const [, who = '', time = '', body = ''] = /^\*\*(.+?)\*\* (\d\d:\d\d).*\n([\s\S]*)$/.exec(one) ?? []
    const wall = day && `${day} ${time}`
    pieces.push(...cut({ title: wall ? `${who}, ${wall}` : who, body: body.trim(), wall }))
  }
  return pieces.length > 0 ? pieces : sectionsOf(text, nameOf(path))
}

interface Block {
  readonly heading: string
  readonly body: string
}

/** Paragraphs (with `items` also list items) with the heading above them. A fence is not split; a bare heading is a block too. */
function blocksOf(text: string, items: boolean): readonly Block[] {
  const blocks: Block[] = []
  let heading = ''
  let lines: string[] = []
  let fence: Fence | null = null
  let bare = false
  const close = () => {
    const body = lines.join('\n').trim()
    if (body !== '') blocks.push({ heading, body })
    bare &&= body === ''
    lines = []
  }
  const leave = () => {
    close()
    if (bare) blocks.push({ heading, body: '' })
    bare = false
  }
  for (const line of text.split(/\r?\n/)) {
    const before = fence
    fence = fenceAfter(line, before)
    const isCode = before !== null || fence !== null
    const [, title] = (!isCode && /^#{1,6}[ \t]+(.*?)[ \t]*#*$/.exec(line)) || []
    if (title !== undefined) {
      leave()
      heading = title.slice(0, headingRoom)
      bare = true
      continue
    }
    if (!isCode) {
      if (line.trim() === '') close()
      else if (items && /^(?:[-*+]|\d+[.)])[ \t]/.test(line)) close()
    }
    lines.push(line)
  }
  leave()
  return blocks
}

function cut({ title, body, at = null, wall = null }: Partial<Piece> & Pick<Piece, 'title' | 'body'>): Piece[] {
  const pieces: Piece[] = []
  let rest = body
  do {
    const space = rest.length > room ? Math.max(rest.lastIndexOf('\n', room), rest.lastIndexOf(' ', room)) : -1
    const end = rest.length <= room ? rest.length : space > room / 2 ? space : room
    pieces.push({ title: title.slice(0, 2 * headingRoom + 2), body: rest.slice(0, end), at, wall })
    rest = rest.slice(end).trimStart()
  } while (rest !== '')
  return pieces
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/i, '')
