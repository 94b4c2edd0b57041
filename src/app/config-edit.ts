// Puts settings into config.json and .env as people have them: every other line, comment and blank stays.
import { parseEnv } from 'node:util'
import { type JsonValue, readJson } from './config-json.ts'

/** Throws, in plain words, where the text cannot be read or the place is taken by something else. */
export function withSettings(text: string, settings: ReadonlyMap<string, JsonValue>): string {
  let edited = text.trim() === '' ? '{}\n' : text
  for (const [key, value] of settings) edited = withSetting(edited, key, value)
  return edited
}

interface Span {
  readonly from: number
  readonly to: number
}

function withSetting(text: string, key: string, value: JsonValue): string {
  const spans = new Map<string, Span>()
  const read = readJson(text, (path, from, to) => spans.set(path, { from, to }))
  if (!read.ok) throw new Error(`config.json, line ${read.line}, column ${read.column}: ${read.why}`)
  const parts = key.split('.')
  for (let depth = parts.length; depth >= 0; depth--) {
    const span = spans.get(parts.slice(0, depth).join('.'))
    if (!span) continue
    const rest = parts.slice(depth)
    const there = text.slice(span.from, span.to)
    const margin = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', span.from) + 1))?.[0] ?? ''
    const written = entryIn(there, rest, value, margin, key)
    return text.slice(0, span.from) + written + text.slice(span.to)
  }
  throw new Error('config.json must be an object: { … }')
}

/** In front of what an object has: behind it there may be a comma, a comment, or neither. */
function entryIn(there: string, rest: readonly string[], value: JsonValue, margin: string, key: string): string {
  const [name] = rest
  if (name === undefined) return inOneLine(value)
  const inner = rest.slice(1).reduceRight((line, part) => `{ ${JSON.stringify(part)}: ${line} }`, inOneLine(value))
  const entry = `\n${margin}  ${JSON.stringify(name)}: ${inner}`
  if (there === 'null' || /^\{\s*\}$/.test(there)) return `{${entry}\n${margin}}`
  if (!there.startsWith('{')) throw new Error(`config.json has no place for ${key}: change it by hand.`)
  return `{${entry},${there.slice(1)}`
}

const inOneLine = (value: JsonValue): string =>
  Array.isArray(value) ? `[${value.map(one => JSON.stringify(one)).join(', ')}]` : JSON.stringify(value)

/** Throws, in plain words, where it would read back as something else, or change another variable. */
export function withVariables(text: string, variables: ReadonlyMap<string, string>): string {
  let edited = text
  for (const [name, value] of variables) edited = withVariable(edited, name, value)
  const expected = { ...parseEnv(text), ...Object.fromEntries(variables) }
  const found = parseEnv(edited)
  const differs = Object.keys({ ...expected, ...found }).some(name => found[name] !== expected[name])
  if (differs) throw new Error(`.env cannot be edited safely: put ${[...variables.keys()].join(', ')} in by hand.`)
  return edited
}

function withVariable(text: string, name: string, value: string): string {
  const line = `${name}=${/^[\w./:@+-]*$/.test(value) ? value : inQuotes(name, value)}`
  const old = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, 'm')
  if (old.test(text)) return text.replace(old, () => line)
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${line}\n`
}

/** Nothing is escaped between single quotes and backticks, so the one that is not in the value does. */
function inQuotes(name: string, value: string): string {
  const quote = ["'", '`', '"'].find(one => !value.includes(one) && !(one === '"' && value.includes('\\')))
  if (quote === undefined || /[\r\n]/.test(value)) throw new Error(`the value of ${name} cannot be written into .env.`)
  return quote + value + quote
}
