// Entries of a markdown file that people write: a heading, then `Key: value` lines. Jobs, hooks and webhooks are written so.

export interface Entry {
  readonly name: string
  /** By key in lower case. A value goes on over the following lines until the next key or heading, unless its key is `single`. */
  readonly fields: ReadonlyMap<string, string>
  /** What belongs to no key. */
  readonly text: string
  /** Where its heading stands, counted from 1. */
  readonly line: number
}

export interface EntryShape {
  /** The `## Heading` under which the entries stand as `### name`; null: they are the `## name` headings of the file. */
  readonly section: string | null
  /** In lower case; a line with any other word and a colon belongs to the value before it. */
  readonly keys: readonly string[]
  /** Those of the keys whose value ends with its line. */
  readonly single?: readonly string[]
}

/** In the order of the file. Two of one name are both there: whoever reads them decides. */
export function readEntries(markdown: string, shape: EntryShape): readonly Entry[] {
  const lines = linesOf(markdown)
  return spansOf(lines, shape).map(({ name, start, end }) => ({
    name,
    line: start + 1,
    ...fieldsOf(lines.slice(start + 1, end), shape),
  }))
}

/** The same text with the entries of that name taken out, or with `written` (see `printEntry`) in place of the first of them, else at the end. */
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

/** The same text with one `single` field of the first entry of that name set, right below the heading if it is new, or taken out (null). */
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

/** As `readEntries` reads it back, whatever the values hold. The name is one line. A value is read back trimmed. */
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
  /** Lines from `start`, its heading, up to, not including, `end`. */
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

/** By hand where a pattern would go back and forth over a long row of blanks. */
function headingOf(line: string): { level: number; title: string } | null {
  const [all = '', signs = ''] = /^\uFEFF? {0,3}(#{1,6})(?=\s|$)/.exec(line) ?? []
  if (signs === '') return null
  const title = line.slice(all.length).trim()
  let end = title.length
  while (title[end - 1] === '#') end--
  const closed = end === 0 || /\s/.test(title[end - 1] ?? '')
  return { level: signs.length, title: closed ? title.slice(0, end).trim() : title }
}

/** Tells line by line whether it belongs to a code fence or a comment, in which nothing is a heading or a key. */
function blocks(): {
  (line: string): boolean
  /** What would end the block that is open; null: none is. */
  closing(): string | null
} {
  let fence: string | null = null
  let comment = false
  const opaque = (line: string): boolean => {
    if (comment) {
      comment = !line.includes('-->')
      return true
    }
    const [, marks, rest = ''] = /^ {0,3}(`{3,}|~{3,})([^\n]*)/.exec(line) ?? []
    if (fence !== null) {
      if (marks?.startsWith(fence) && rest.trim() === '') fence = null
      return true
    }
    if (marks !== undefined && !(marks.startsWith('`') && rest.includes('`'))) fence = marks
    else if (/^ {0,3}<!--/.test(line)) comment = !line.includes('-->')
    else return false
    return true
  }
  return Object.assign(opaque, { closing: () => (comment ? '-->' : fence) })
}

function fieldsOf(body: readonly string[], shape: EntryShape): Pick<Entry, 'fields' | 'text'> {
  const values = new Map<string, string[]>()
  const text: string[] = []
  let open = text
  const opaque = blocks()
  for (const line of body) {
    const inside = opaque(line)
    const found = inside ? null : keyOf(line, shape.keys)
    // The first value of a key counts; a second is part of the text it stands in.
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
  // A block that the value does not end would swallow what follows in the file: then none may begin.
  const closed = whole.closing() === null
  const opaque = blocks()
  return `${key}:\n${lines.map(line => `${closed && opaque(line) ? line : guarded(line, shape)}\n`).join('')}`
}

/** A backslash before what would be read as a heading, a key or the beginning of a block; `unguarded` takes it away. */
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

/** With a blank line between, and not inside of a block that nobody closed. */
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
