// Rows of text as they flow over the screen.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { widthOf } from '../terminal.ts'
import { fold } from './screen.ts'

test('rows break at spaces', () => {
  expect(fold('one two three four', 9)).toEqual({ rows: ['one two', 'three'], rest: 'four' })
})

test('a word longer than a row is cut', () => {
  expect(fold('abcdefghij', 4)).toEqual({ rows: ['abcd', 'efgh'], rest: 'ij' })
})

test('wide characters count for two cells', () => {
  expect(fold('日本語です', 4)).toEqual({ rows: ['日本', '語で'], rest: 'す' })
})

test('an indented line keeps its indent', () => {
  expect(fold('    call(argument)', 8)).toEqual({ rows: ['    call', '(argumen'], rest: 't)' })
})

test('text in pieces gives the same rows as the whole text', () => {
  const text = fc.array(fc.constantFrom('a', 'bcd', ' ', '  ', '\n', '日', 'efghijk'), { maxLength: 40 })
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 12 }), (parts, columns) => {
      const rows: string[] = []
      let rest = ''
      for (const part of parts) {
        const folded = fold(rest + part, columns)
        rows.push(...folded.rows)
        rest = folded.rest
      }
      expect({ rows, rest }).toEqual(fold(parts.join(''), columns))
    }),
    { numRuns: 500 },
  )
})

test('no row is wider than the screen', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.integer({ min: 2, max: 30 }), (text, columns) => {
      const { rows, rest } = fold(text, columns)
      for (const row of [...rows, rest]) expect(widthOf(row)).toBeLessThanOrEqual(columns)
    }),
    { numRuns: 200 },
  )
})
