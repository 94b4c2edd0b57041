// What we say fits, mentions nobody, and has the same key each time.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beginningOf, contentOf, draftContent, harmless, limits, nonceOf, statusOf } from './render.ts'

const doing = (text: string, label: string | null = null) => ({ text, label, steps: 2 })
const textsIn = (blocks: readonly object[]) => JSON.stringify(blocks)

test('nobody is mentioned, in plain text or in blocks', () => {
  const { text, blocks } = contentOf('hi <!channel>, <@U123|x> in <#C1>; `a < b` and <b>')
  expect(text).not.toMatch(/<[!@#]/)
  expect(textsIn(blocks)).not.toMatch(/<[!@#]/)
  expect(textsIn(blocks)).toContain('`a < b` and <b>')
  expect(harmless('a <3 b')).toBe('a <3 b')
})

test('drafts and beginnings fit into a message, whatever they contain', () => {
  const texts = fc.oneof(
    fc.string({ maxLength: 9000 }),
    fc.string({ unit: fc.constantFrom('<', '&', 'x', '\n'), maxLength: 9000 }),
  )
  fc.assert(
    fc.property(texts, text => {
      expect(draftContent(doing(text, 'Reading a file'), 'C1').text.length).toBeLessThanOrEqual(limits.length)
      expect(limits.measure(beginningOf(text))).toBeLessThanOrEqual(limits.length)
    }),
    { numRuns: 100 },
  )
})

test('a draft has what is being done, and a button that says which turn it stops', () => {
  const { blocks } = draftContent(doing('so far', 'Reading\na file'), 'C1:1.000001')
  expect(blocks.map(block => (block as { type: string }).type)).toEqual(['markdown', 'context', 'actions'])
  expect(textsIn(blocks)).toContain('⚙ Reading a file (step 2)')
  expect(textsIn(blocks)).toContain('"value":"C1:1.000001"')
  expect(statusOf({ label: null, steps: 1 })).toBe('')
})

test('the key is short, the same each time, and another for another delivery', () => {
  expect(nonceOf('a')).toBe(nonceOf('a'))
  expect(nonceOf('a')).not.toBe(nonceOf('b'))
  expect(nonceOf('a')).toHaveLength(24)
})
