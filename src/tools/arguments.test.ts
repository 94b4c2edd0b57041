// Arguments: what a model may write, and the error it gets if they are wrong.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ToolField } from '../base/tools.ts'
import { checkArguments } from './arguments.ts'

const takes = {
  text: { type: 'string', about: 'what to say', required: true },
  count: { type: 'integer', about: 'how often' },
  loud: { type: 'boolean', about: 'or not' },
  files: { type: 'strings', about: 'paths' },
  state: { type: 'string', about: 'its state', oneOf: ['todo', 'done'] },
} satisfies Record<string, ToolField>

test('valid arguments are accepted, also when a model wrote numbers as text or filled in empty values', () => {
  const right = { text: 'x', count: 2, loud: true, files: ['a', 'b'], state: 'done' }
  expect(checkArguments(takes, right)).toEqual({ ok: true, args: right })
  expect(checkArguments(takes, { text: 'x', count: '2', loud: 'true', files: 'a', state: null })).toEqual({
    ok: true,
    args: { text: 'x', count: 2, loud: true, files: ['a'] },
  })
})

test('all invalid arguments are named, together with the valid ones', () => {
  const words = (given: unknown) => {
    const checked = checkArguments(takes, given)
    return checked.ok ? 'ok' : checked.why
  }
  expect(words({})).toBe('"text" is missing (what to say). It takes text, count?, loud?, files?, state?.')
  expect(words(undefined)).toMatch(/"text" is missing/)
  expect(words({ text: ' ', count: 1.5, loud: 1, files: [1], state: 'x', more: 1 })).toBe(
    '"text" must be a non-empty text; "count" must be a whole number; "loud" must be true or false; "files" must be a list of texts; "state" must be one of todo, done; it takes no "more". It takes text, count?, loud?, files?, state?.',
  )
  for (const given of [[], 'text', 7]) expect(words(given)).toBe('the arguments must be a JSON object.')
  expect(words({ text: 'x', ['__proto__']: 1, toString: 1 })).toMatch(/takes no "toString"/)
})

test('for any input, the parsed arguments have the types of the tool', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...Object.keys(takes), 'other'), fc.jsonValue()), given => {
      const checked = checkArguments(takes, given)
      if (!checked.ok) {
        expect(checked.why).toMatch(/It takes text/)
        return
      }
      const { text, count, loud, files, state } = checked.args
      expect(typeof text).toBe('string')
      expect(count === undefined || Number.isSafeInteger(count)).toBe(true)
      expect(['undefined', 'boolean']).toContain(typeof loud)
      expect(files === undefined || (Array.isArray(files) && files.every(one => typeof one === 'string'))).toBe(true)
      expect([undefined, 'todo', 'done']).toContain(state)
    }),
    { numRuns: 500 },
  )
})
