// Guessing the name that was meant.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nearest, slips } from './spelling.ts'

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '_'), maxLength: 8 })

/** The textbook definition, slow and plain. */
function slipsPlainly(from: string, to: string): number {
  if (from === '' || to === '') return from.length + to.length
  const [a, b] = [from.slice(0, -1), to.slice(0, -1)]
  const swap = from.length > 1 && to.length > 1 && from.at(-1) === to.at(-2) && from.at(-2) === to.at(-1)
  return Math.min(
    slipsPlainly(a, to) + 1,
    slipsPlainly(from, b) + 1,
    slipsPlainly(a, b) + (from.at(-1) === to.at(-1) ? 0 : 1),
    swap ? slipsPlainly(from.slice(0, -2), to.slice(0, -2)) + 1 : Infinity,
  )
}

test('the bounded distance agrees with the full distance', () => {
  const short = word.map(text => text.slice(0, 6))
  fc.assert(
    fc.property(short, short, fc.nat(4), (from, to, limit) => {
      const count = slipsPlainly(from, to)
      expect(slips(from, to, limit)).toBe(count <= limit ? count : Infinity)
    }),
    { numRuns: 300 },
  )
})

test('the closest name within the limit is found, whatever its case', () => {
  const known = ['AGENT_BACKEND', 'HTTP_PORT', 'HTTP_HOST', 'BUSY']
  expect(nearest('AGENT_BACKND', known, 2)).toBe('AGENT_BACKEND')
  expect(nearest('HTPT_PORT', known, 1)).toBe('HTTP_PORT')
  expect(nearest('http_hosts', known, 2)).toBe('HTTP_HOST')
  expect(nearest('HTTP_PROXY', known, 2)).toBeNull()
  expect(nearest('HOME', known, 2)).toBeNull()
})
