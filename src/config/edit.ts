// Puts settings into config.json and .env, keeping all other lines and comments.
import { parseEnv } from 'node:util'
import { applyEdits, modify } from 'jsonc-parser'
import { type JsonValue, readJson } from './json.ts'
import { isJsonObject } from './sources.ts'

/** Throws an error with a plain message if the text cannot be parsed or the section is not an object. */
export function withSettings(text: string, settings: ReadonlyMap<string, JsonValue>): string {
  // The parser does not accept a byte order mark.
  const bom = text.startsWith('\ufeff') ? '\ufeff' : ''
  let edited = text.trim() === '' ? '{}\n' : text.slice(bom.length)
  for (const [key, value] of settings) edited = withSetting(edited, key, value)
  return bom + edited
}

function withSetting(text: string, key: string, value: JsonValue): string {
  const read = readJson(text)
  if (!read.ok) throw new Error(`config.json, line ${read.line}, column ${read.column}: ${read.why}`)
  if (!isJsonObject(read.value)) throw new Error('config.json must be an object: { … }')
  const [first = '', name] = key.split('.')
  const section = read.value[first] ?? null
  // The key may be written with its dot, as one key.
  if (name === undefined || Object.hasOwn(read.value, key))
    return put(text, [key], value, Object.hasOwn(read.value, key))
  if (section === null) return put(text, [first], { [name]: value }, false)
  if (!isJsonObject(section)) throw new Error(`${key} cannot be set in config.json automatically: set it by hand.`)
  return put(text, [first, name], value, Object.hasOwn(section, name))
}

/** An existing value is replaced in place; a new one becomes the first in its object, on lines of its own. */
function put(text: string, path: string[], value: JsonValue, isThere: boolean): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const layout = { formattingOptions: { insertSpaces: true, tabSize: 2, eol }, getInsertionIndex: () => 0 }
  return applyEdits(text, modify(text, path, value, isThere ? {} : layout))
}

/** Throws an error with a plain message if the result would read back differently or change another variable. */
export function withVariables(text: string, variables: ReadonlyMap<string, string>): string {
  let edited = text
  for (const [name, value] of variables) edited = withVariable(edited, name, value)
  const expected = { ...parseEnv(text), ...Object.fromEntries(variables) }
  const found = parseEnv(edited)
  const differs = Object.keys({ ...expected, ...found }).some(name => found[name] !== expected[name])
  if (differs) throw new Error(`.env cannot be edited safely: set ${[...variables.keys()].join(', ')} there by hand.`)
  return edited
}

function withVariable(text: string, name: string, value: string): string {
  const line = `${name}=${/^[\w./:@+-]*$/.test(value) ? value : inQuotes(name, value)}`
  const old = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, 'm')
  if (old.test(text)) return text.replace(old, () => line)
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${line}\n`
}

/** Nothing can be escaped between single quotes or backticks, so a quote character that is not in the value is used. */
function inQuotes(name: string, value: string): string {
  const quote = ["'", '`', '"'].find(one => !value.includes(one) && !(one === '"' && value.includes('\\')))
  if (quote === undefined || /[\r\n]/.test(value)) throw new Error(`the value of ${name} cannot be written to .env.`)
  return quote + value + quote
}
