// Entries of a markdown file that people write: a heading, then `Key: value` lines. Jobs, hooks and webhooks are written so.

export interface Entry {
  readonly name: string
  /** By key in lower case. A value goes on over the following lines until the next key or heading. */
  readonly fields: ReadonlyMap<string, string>
  /** What stands between the heading and the first key. */
  readonly text: string
  /** Where its heading stands, counted from 1. */
  readonly line: number
}

export interface EntryShape {
  /** The `## Heading` under which the entries stand as `### name`; null: they are the `## name` headings of the file. */
  readonly section: string | null
  /** In lower case; a line with any other word and a colon belongs to the value before it. */
  readonly keys: readonly string[]
}

/** In the order of the file. Two of one name are both there: whoever reads them decides. */
export function readEntries(markdown: string, shape: EntryShape): readonly Entry[] {
  return spansOf(markdown, shape).map(({ name, line, body }) => ({ name, line, ...fieldsOf(body, shape.keys) }))
}

/** The same text with the entries of that name taken out, or with `written` (see `printEntry`) in place of the first of them, else at the end. */
export function withEntry(markdown: string, shape: EntryShape, name: string, written: string | null): string {
  const lines = linesOf(markdown)
  const spans = spansOf(markdown, shape)
  const same = spans.filter(span => sameName(span.name, name))
  const [first] = same
  if (!first) return written === null ? markdown : appended(markdown, shape, written)
  const kept: string[] = []
  let at = 0
  for (const span of same) {
    kept.push(...lines.slice(at, span.start))
    if (span === first && written !== null) kept.push(...spaced(written, span.end < lines.length))
    at = span.end
  }
  kept.push(...lines.slice(at))
  return kept.join('')
}

/** As `readEntries` reads it back. */
export function printEntry(shape: EntryShape, name: string, fields: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(fields).flatMap(([key, value]) => (value === null ? [] : [`${key}: ${value}\n`]))
  return `${shape.section === null ? '##' : '###'} ${name}\n${given.join('')}`
}

export const sameName = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase()

interface Span {
  readonly name: string
  readonly line: number
  /** Lines from `start` up to, not including, `end`. */
  readonly start: number
  readonly end: number
  readonly body: readonly string[]
}

function spansOf(markdown: string, { section }: EntryShape): readonly Span[] {
  const lines = linesOf(markdown)
  const depth = section === null ? 2 : 3
  const spans: Span[] = []
  let inside = section === null
  let open: { name: string; start: number } | null = null
  const close = (end: number) => {
    if (open) spans.push({ ...open, line: open.start + 1, end, body: lines.slice(open.start + 1, end) })
    open = null
  }
  for (const { level, title, at } of headingsOf(lines)) {
    if (level > depth) continue
    close(at)
    if (level < depth) inside = section !== null && level === 2 && sameName(title, section)
    else if (inside) open = { name: title, start: at }
    if (section === null && level === 1) inside = true
  }
  close(lines.length)
  return spans
}

/** Headings outside of code fences. */
function* headingsOf(lines: readonly string[]): Generator<{ level: number; title: string; at: number }> {
  let fence: string | null = null
  for (const [at, line] of lines.entries()) {
    const [, marks] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
    if (fence !== null) {
      if (marks?.startsWith(fence) && /^ {0,3}[`~]+\s*$/.test(line)) fence = null
      continue
    }
    if (marks !== undefined) fence = marks
    const [, signs, title] = /^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?\n?$/.exec(line) ?? []
    if (signs !== undefined && title !== undefined) yield { level: signs.length, title: title.trim(), at }
  }
}

function fieldsOf(body: readonly string[], keys: readonly string[]): Pick<Entry, 'fields' | 'text'> {
  const fields = new Map<string, string>()
  let key = ''
  let text = ''
  for (const line of body) {
    const [, word = '', rest = ''] = /^\s*(?:[-*]\s+)?\**([A-Za-z][A-Za-z-]*)\**:\**[ \t]*([\s\S]*)$/.exec(line) ?? []
    const named = word.toLowerCase()
    // The first value of a key counts; a second is part of the text it stands in.
    if (keys.includes(named) && !fields.has(named)) {
      key = named
      fields.set(key, rest)
    } else if (key === '') text += line
    else fields.set(key, `${fields.get(key) ?? ''}${line}`)
  }
  return { fields: new Map([...fields].map(([name, value]) => [name, value.trim()])), text: text.trim() }
}

function appended(markdown: string, shape: EntryShape, written: string): string {
  const { section } = shape
  if (section === null) return joined(markdown, written)
  const lines = linesOf(markdown)
  const headings = [...headingsOf(lines)]
  const own = headings.find(({ level, title }) => level === 2 && sameName(title, section))
  if (!own) return joined(markdown, `## ${section}\n\n${written}`)
  const next = headings.find(({ level, at }) => at > own.at && level <= 2)
  if (!next) return joined(markdown, written)
  const before = lines.slice(0, next.at).join('')
  return `${joined(before, written)}\n${lines.slice(next.at).join('')}`
}

const joined = (before: string, after: string): string =>
  before.trim() === '' ? after : `${before.replace(/\s*$/, '')}\n\n${after}`

const spaced = (written: string, more: boolean): readonly string[] => [more ? `${written}\n` : written]

const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
