// Parsing JSON with comments, and the reported position of mistakes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson } from './json.ts'

const same = (text: string): unknown => {
  const read = readJson(text)
  return read.ok ? JSON.parse(JSON.stringify(read.value)) : read
}

test('plain JSON is parsed as by JSON.parse', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(4), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      expect(same(text)).toEqual(JSON.parse(text))
    }),
    { numRuns: 300 },
  )
})

test('any text gives a value or the position of a mistake, and never throws', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    ',',
    ':',
    '/',
    '*',
    '\n',
    ' ',
    '1',
    '-',
    'true',
    'x',
    'é',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), parts => {
      const text = parts.join('')
      const read = readJson(text)
      if (read.ok) return
      const line = text.split('\n')[read.line - 1]
      expect(line).toBeDefined()
      expect(read.column).toBeLessThanOrEqual((line ?? '').length + 1)
    }),
    { numRuns: 500 },
  )
})

test('comments and trailing commas are skipped, but not inside strings', () => {
  const text = `\ufeff// first
  { /* a
       b */ "url": "http://x/*y*/,]", // there
    "list": [1, 2,], "deep": { "quote": "a\\"// b", }, }
  // last`
  expect(same(text)).toEqual({ url: 'http://x/*y*/,]', list: [1, 2], deep: { quote: 'a"// b' } })
})

test.each([
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'expected "," or "}"'],
  ['{ "a": tru }', 1, 8, 'expected a value'],
  ['{ a: 1 }', 1, 3, 'expected a key in double quotes'],
  ['{ "a" 1 }', 1, 7, 'expected ":"'],
  ['{ "a": "b\n" }', 1, 8, 'no closing double quote'],
  ['{ "a": "\\x" }', 1, 8, 'invalid escape'],
  ['{ "a": 1, "a": 2 }', 1, 11, 'occurs twice'],
  ['[1 2]', 1, 4, 'expected "," or "]"'],
  ['[,]', 1, 2, 'expected a value'],
  ['{} {}', 1, 4, 'expected nothing after'],
  ['/* {', 1, 1, 'no end'],
  ['', 1, 1, 'expected a value'],
  ['{\n"a": ', 2, 6, 'expected a value'],
  ['[01]', 1, 3, 'expected "," or "]"'],
  ['[1.]', 1, 2, 'expected a value'],
  ['{ "a": 1 x }', 1, 10, 'expected "," or "}"'],
  ['{ "a": 1, ', 1, 11, 'expected a key'],
  ['{ "a": [1 ', 1, 11, 'expected "," or "]"'],
  ['{ "a": {} ', 1, 11, 'expected "," or "}"'],
])('%j is refused at line %i, column %i', (text, line, column, why) => {
  expect(readJson(text)).toEqual({ ok: false, line, column, why: expect.stringContaining(why) })
})

test('very deep nesting is refused instead of overflowing the stack', () => {
  expect(readJson('['.repeat(100_000))).toMatchObject({ ok: false, why: 'nested deeper than 100 levels' })
})

test('__proto__ is an ordinary key', () => {
  const read = readJson('{ "__proto__": { "port": 1 } }')
  expect(read.ok && Object.keys(read.value ?? {})).toEqual(['__proto__'])
  expect(Object.hasOwn(Object.prototype, 'port')).toBe(false)
})
