// Entries of a markdown file that people write: a heading, then `Key: value` lines. Used for jobs, hooks and webhooks.
import { type Fence, fenceAfter } from './fence.ts'

export interface Entry {
  readonly name: string
  /** By key in lower case. A value continues over the following lines until the next key or heading, unless its key is `single`. */
  readonly fields: ReadonlyMap<string, string>
  /** Text that belongs to no key. */
  readonly text: string
  /** The line of its heading, counted from 1. */
  readonly line: number
}

export interface EntryShape {
  /** The `## Heading` that contains the entries as `### name`; null: the entries are the `## name` headings of the file. */
  readonly section: string | null
  /** In lower case. A line with any other word and a colon belongs to the value before it. */
  readonly keys: readonly string[]
  /** The keys whose value ends with its line. */
  readonly single?: readonly string[]
}

/** In file order. Two entries with the same name are both returned: the caller decides. */
export function readEntries(markdown: string, shape: EntryShape): readonly Entry[] {
  const lines = linesOf(markdown)
  return spansOf(lines, shape).map(({ name, start, end }) => ({
    name,
    line: start + 1,
    ...fieldsOf(lines.slice(start + 1, end), shape),
  }))
}

/**
 * Returns the text without the entries of that name, or with `written` (see `printEntry`) in place of the first of them, or at the end
 * if there is none.
 */
export function withEntry(markdown: string, shape: EntryShape, name: string, written: string | null): string {
  const lines = linesOf(markdown)
  const spans = spansOf(lines, shape)
  const same = spans.filter(span => sameName(span.name, name))
  const [first] = same
  const end = lineEndOf(lines)
  const ours = written?.replaceAll('\n', end)
  if (!first) return ours === undefined ? markdown : appended(lines, shape, ours)
  const before = lines.slice(0, first.start).join('')
  const after = same.map((span, at) => lines.slice(span.end, same[at + 1]?.start).join('')).join('')
  return `${before}${ours ?? ''}${ours === undefined || after === '' ? '' : end}${after}`
}

/**
 * Returns the text with one `single` field of the first entry of that name set (right below the heading if it is new) or removed
 * (null).
 */
export function withField(
  markdown: string,
  shape: EntryShape,
  name: string,
  key: string,
  value: string | null,
): string {
  const lines = linesOf(markdown)
  const span = spansOf(lines, shape).find(span => sameName(span.name, name))
  if (!span) return markdown
  const body = lines.slice(span.start + 1, span.end)
  const opaque = blocks()
  const found = body.findIndex(line => !opaque(line) && keyOf(line, shape.keys)?.key === key.toLowerCase())
  const at = span.start + 1 + (found === -1 ? 0 : found)
  const before = lines.slice(0, at).join('')
  const after = lines.slice(found === -1 ? at : at + 1).join('')
  if (value === null) return found === -1 ? markdown : before + after
  const end = lineEndOf(lines)
  return `${ended(before, end)}${key}: ${value}${end}${after}`
}

/** `readEntries` reads it back unchanged, whatever the values contain. The name is one line. Values are trimmed. */
export function printEntry(shape: EntryShape, name: string, fields: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(fields).flatMap(([key, value]) =>
    value === null ? [] : [printField(shape, key, value)],
  )
  return `${'#'.repeat(depthOf(shape))} ${name}\n${given.join('')}`
}

export const sameName = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase()

const depthOf = ({ section }: EntryShape) => (section === null ? 2 : 3)

interface Span {
  readonly name: string
  /** The lines from `start` (the heading) up to but not including `end`. */
  readonly start: number
  readonly end: number
}

function spansOf(lines: readonly string[], shape: EntryShape): readonly Span[] {
  const { section } = shape
  const depth = depthOf(shape)
  const spans: Span[] = []
  let inside = section === null
  let open: { name: string; start: number } | null = null
  const close = (end: number) => {
    if (open) spans.push({ ...open, end })
    open = null
  }
  for (const { level, title, at } of headingsOf(lines)) {
    if (level > depth) continue
    close(at)
    if (level === depth && inside) open = { name: title, start: at }
    if (level < depth && section !== null) inside = level === 2 && sameName(title, section)
  }
  close(lines.length)
  return spans
}

function* headingsOf(lines: readonly string[]): Generator<{ level: number; title: string; at: number }> {
  const opaque = blocks()
  for (const [at, line] of lines.entries()) {
    const heading = opaque(line) ? null : headingOf(line)
    if (heading) yield { ...heading, at }
  }
}

/** Written without a regular expression, which would backtrack over a long run of blanks. */
function headingOf(line: string): { level: number; title: string } | null {
  const [all = '', signs = ''] = /^\uFEFF? {0,3}(#{1,6})(?=\s|$)/.exec(line) ?? []
  if (signs === '') return null
  const title = line.slice(all.length).trim()
  let end = title.length
  while (title[end - 1] === '#') end--
  const closed = end === 0 || /\s/.test(title[end - 1] ?? '')
  return { level: signs.length, title: closed ? title.slice(0, end).trim() : title }
}

/** Tells for each line whether it is part of a code fence or a comment, where nothing is a heading or a key. */
function blocks(): {
  (line: string): boolean
  /** The line that would end the open block; null: no block is open. */
  closing(): string | null
} {
  let fence: Fence | null = null
  let comment = false
  const opaque = (line: string): boolean => {
    if (comment) {
      comment = !line.includes('-->')
      return true
    }
    const before = fence
    fence = fenceAfter(line, before)
    if (before !== null || fence !== null) return true
    if (!/^ {0,3}<!--/.test(line)) return false
    comment = !line.includes('-->')
    return true
  }
  return Object.assign(opaque, { closing: () => (comment ? '-->' : (fence?.marks ?? null)) })
}

function fieldsOf(body: readonly string[], shape: EntryShape): Pick<Entry, 'fields' | 'text'> {
  const values = new Map<string, string[]>()
  const text: string[] = []
  let open = text
  const opaque = blocks()
  for (const line of body) {
    const inside = opaque(line)
    const found = inside ? null : keyOf(line, shape.keys)
    // The first value of a key is used; a second one is part of the text around it.
    if (!found || values.has(found.key)) {
      open.push(inside ? line : unguarded(line, shape))
      continue
    }
    const value = [found.rest]
    values.set(found.key, value)
    open = shape.single?.includes(found.key) ? text : value
  }
  const whole = (parts: readonly string[]) => parts.join('').replaceAll('\r\n', '\n').trim()
  return { fields: new Map([...values].map(([key, parts]) => [key, whole(parts)])), text: whole(text) }
}

function keyOf(line: string, keys: readonly string[]): { key: string; rest: string } | null {
  const [, word, rest = ''] = /^\s*(?:[-*]\s+)?\**([A-Za-z][A-Za-z-]*)\**:\**[ \t]*([\s\S]*)$/.exec(line) ?? []
  const key = word?.toLowerCase()
  return key !== undefined && keys.includes(key) ? { key, rest } : null
}

function printField(shape: EntryShape, key: string, value: string): string {
  if (!value.includes('\n')) return `${key}: ${value}\n`
  const lines = value.split(/\r?\n/)
  const whole = blocks()
  for (const line of lines) whole(line)
  // A block that the value does not close would swallow the rest of the file, so in that case no block may start.
  const closed = whole.closing() === null
  const opaque = blocks()
  return `${key}:\n${lines.map(line => `${closed && opaque(line) ? line : guarded(line, shape)}\n`).join('')}`
}

/** Puts a backslash before anything that would be read as a heading, a key or the start of a block; `unguarded` removes it. */
const guarded = (line: string, shape: EntryShape) => (speaks(line, shape) ? line.replace(/^\s*/, '$&\\') : line)
const unguarded = (line: string, shape: EntryShape) =>
  /^\s*\\/.test(line) && speaks(line, shape) ? line.replace('\\', '') : line

function speaks(line: string, { keys }: EntryShape): boolean {
  const bare = line.replace(/^\s*\\*/, '')
  return /^(?:#{1,6}(?:\s|$)|`{3}|~{3}|<!--)/.test(bare) || keyOf(bare, keys) !== null
}

function appended(lines: readonly string[], shape: EntryShape, written: string): string {
  const end = lineEndOf(lines)
  const { section } = shape
  if (section === null) return joined(lines, written, end)
  const headings = [...headingsOf(lines)]
  const own = headings.find(({ level, title }) => level === 2 && sameName(title, section))
  if (!own) return joined(lines, `## ${section}${end}${end}${written}`, end)
  const next = headings.find(({ level, at }) => at > own.at && level <= 2)
  if (!next) return joined(lines, written, end)
  return `${joined(lines.slice(0, next.at), written, end)}${end}${lines.slice(next.at).join('')}`
}

/** Separated by a blank line, and not inside a block that was never closed. */
function joined(lines: readonly string[], after: string, end: string): string {
  const opaque = blocks()
  for (const line of lines) opaque(line)
  const closing = opaque.closing()
  const before = ended(lines.join(''), end) + (closing === null ? '' : `${closing}${end}`)
  return `${before}${before === '' || /\n\r?\n$/.test(before.slice(-3)) ? '' : end}${after}`
}

const ended = (text: string, end: string) => (text === '' || text.endsWith('\n') ? text : `${text}${end}`)

const lineEndOf = ([first = '']: readonly string[]) => (first.endsWith('\r\n') ? '\r\n' : '\n')

const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
