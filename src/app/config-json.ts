// Reads JSON as people write it: comments and trailing commas allowed, a mistake told with its line and column.

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

export type JsonRead =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly why: string }

/** Where a value stands in the text, by its path with dots; the whole by an empty one. */
export type Seen = (path: string, from: number, to: number) => void

/** The words of a mistake never quote the text: it may hold secrets. */
export function readJson(text: string, seen: Seen = () => undefined): JsonRead {
  const cursor: Cursor = { text, at: text.startsWith('\ufeff') ? 1 : 0, path: [], seen }
  try {
    const value = readValue(cursor, 0)
    skipBlanks(cursor)
    if (cursor.at < text.length) throw new JsonMistake('expected nothing more after the end', cursor.at)
    return { ok: true, value }
  } catch (error) {
    if (!(error instanceof JsonMistake)) throw error
    const before = text.slice(0, error.at).split('\n')
    return { ok: false, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, why: error.message }
  }
}

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface Cursor {
  readonly text: string
  at: number
  readonly path: string[]
  readonly seen: Seen
}

class JsonMistake extends Error {
  readonly at: number
  constructor(why: string, at: number) {
    super(why)
    this.at = at
  }
}

// Far more than any configuration needs, far less than what would overflow the stack.
const deepest = 100

function readValue(cursor: Cursor, depth: number, name?: string): JsonValue {
  skipBlanks(cursor)
  if (depth > deepest) throw new JsonMistake(`nested deeper than ${deepest} levels`, cursor.at)
  if (name !== undefined) cursor.path.push(name)
  const from = cursor.at
  const value = readAny(cursor, depth)
  cursor.seen(cursor.path.join('.'), from, cursor.at)
  if (name !== undefined) cursor.path.pop()
  return value
}

function readAny(cursor: Cursor, depth: number): JsonValue {
  switch (cursor.text[cursor.at]) {
    case '{':
      return readObject(cursor, depth)
    case '[':
      return readArray(cursor, depth)
    case '"':
      return readString(cursor)
    default:
      return readWord(cursor)
  }
}

function readObject(cursor: Cursor, depth: number): JsonObject {
  // Without a prototype, so that a key such as `__proto__` is a key like any other.
  const object: Record<string, JsonValue> = Object.create(null)
  cursor.at += 1
  for (;;) {
    skipBlanks(cursor)
    if (take(cursor, '}')) return object
    const start = cursor.at
    if (cursor.text[start] !== '"') throw new JsonMistake('expected a key in double quotes or "}"', start)
    const key = readString(cursor)
    if (key in object) throw new JsonMistake('this key stands here for the second time', start)
    skipBlanks(cursor)
    if (!take(cursor, ':')) throw new JsonMistake('expected ":" after the key', cursor.at)
    object[key] = readValue(cursor, depth + 1, key)
    skipBlanks(cursor)
    if (!take(cursor, ',') && cursor.text[cursor.at] !== '}') throw new JsonMistake('expected "," or "}"', cursor.at)
  }
}

function readArray(cursor: Cursor, depth: number): JsonValue[] {
  const array: JsonValue[] = []
  cursor.at += 1
  for (;;) {
    skipBlanks(cursor)
    if (take(cursor, ']')) return array
    array.push(readValue(cursor, depth + 1, '[]'))
    skipBlanks(cursor)
    if (!take(cursor, ',') && cursor.text[cursor.at] !== ']') throw new JsonMistake('expected "," or "]"', cursor.at)
  }
}

function readString(cursor: Cursor): string {
  const { text, at: start } = cursor
  let end = start + 1
  while (end < text.length && text[end] !== '"' && text[end] !== '\n') end += text[end] === '\\' ? 2 : 1
  if (text[end] !== '"') throw new JsonMistake('this text has no closing double quote', start)
  cursor.at = end + 1
  try {
    return String(JSON.parse(text.slice(start, end + 1)))
  } catch {
    throw new JsonMistake('this text has a wrong escape or a control character', start)
  }
}

function readWord(cursor: Cursor): JsonValue {
  const word = /[-+.\w]*/y
  word.lastIndex = cursor.at
  const found = word.exec(cursor.text)?.[0] ?? ''
  try {
    const value: string | number | boolean | null = JSON.parse(found)
    cursor.at += found.length
    return value
  } catch {
    throw new JsonMistake('expected a value: text in double quotes, a number, true, false, null, [ or {', cursor.at)
  }
}

function take(cursor: Cursor, sign: string): boolean {
  if (cursor.text[cursor.at] !== sign) return false
  cursor.at += 1
  return true
}

function skipBlanks(cursor: Cursor): void {
  const { text } = cursor
  for (;;) {
    const sign = text[cursor.at]
    if (sign === ' ' || sign === '\t' || sign === '\n' || sign === '\r') cursor.at += 1
    else if (text.startsWith('//', cursor.at)) {
      const end = text.indexOf('\n', cursor.at)
      cursor.at = end < 0 ? text.length : end
    } else if (text.startsWith('/*', cursor.at)) {
      const end = text.indexOf('*/', cursor.at + 2)
      if (end < 0) throw new JsonMistake('this comment has no end', cursor.at)
      cursor.at = end + 2
    } else return
  }
}
