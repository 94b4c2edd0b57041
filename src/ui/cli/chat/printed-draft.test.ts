// Printing an answer that grows.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growingText } from './printed-draft.ts'

const printed = (drafts: readonly string[], final: string): string => {
  const growing = growingText()
  return drafts.map(draft => growing.grow(draft)).join('') + growing.finish(final)
}

test('drafts that continue each other print each word once', () => {
  expect(printed(['He', 'Hello', 'Hello wor'], 'Hello world')).toBe('Hello world\n')
})

test('when a draft is rewritten, the changed line is printed again on a new line', () => {
  expect(printed(['First line\nsecond lime'], 'First line\nsecond lemon')).toBe(
    'First line\nsecond lime\nsecond lemon\n',
  )
})

test('when a draft shrinks, nothing is printed until it grows past the printed text', () => {
  const growing = growingText()
  expect([growing.grow('abc …'), growing.grow('abc'), growing.grow('abc …')]).toEqual(['abc …', '', ''])
  expect(growing.finish('abc')).toBe('\nabc\n')
})

test('a final that only lacks trailing space is not printed twice', () => {
  expect(printed(['done.\n\n'], 'done.')).toBe('done.\n\n')
})

test('a final that changes the last line prints its last line again', () => {
  expect(printed(['one\ntwo'], 'one\n')).toBe('one\ntwo\none\n')
})

test('half an emoji is not printed before its other half', () => {
  const growing = growingText()
  expect([growing.grow('ok \ud83d'), growing.grow('ok \ud83d\ude00')]).toEqual(['ok ', '😀'])
})

test('it knows the line that is open', () => {
  const growing = growingText()
  const seen = [growing.openLine()]
  for (const draft of ['a', 'a\n', 'a\nbc']) {
    growing.grow(draft)
    seen.push(growing.openLine())
  }
  expect(seen).toEqual(['', 'a', '', 'bc'])
})

test('cut anywhere into growing drafts, a text is printed exactly once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(200)), (text, cuts) => {
      const drafts = cuts.toSorted((a, b) => a - b).map(cut => text.slice(0, cut))
      // More newlines than the text has would mean that a line was printed twice.
      expect(printed(drafts, text)).toBe(text.endsWith('\n') ? text : `${text}\n`)
    }),
    { numRuns: 300 },
  )
})

test('whatever the drafts were, the last printed lines are the last lines of the final', () => {
  const words = fc.array(fc.constantFrom('a', 'b', 'ab', ' ', '\n'), { maxLength: 12 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(fc.array(words), words, (drafts, final) => {
      const paper = printed(drafts, final).trimEnd()
      const lastLine = final.trimEnd().split('\n').at(-1) ?? ''
      expect(paper.endsWith(lastLine)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
