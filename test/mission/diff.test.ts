// The line diff of the editor, against properties and against the gateway's own diff.
import { resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { merge, unified as unifiedHere } from '../../src/store/merge.ts'

interface Hunk {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}
/** JavaScript for the browser, without types. */
const { lineDiff, applied, merged, unified } = (await import(resolve('web/mission/diff.js'))) as {
  lineDiff(before: string, after: string): readonly Hunk[]
  applied(text: string, hunks: readonly Hunk[]): string
  merged(base: string, mine: string, theirs: string): string | null
  unified(before: string, after: string): string
}

const line = fc.constantFrom('', 'a', 'b', 'c', '- tea', '- milk', '# Memory', 'ä\r', '+x', '@@')
const text = fc.array(line, { maxLength: 14 }).map(lines => lines.join('\n'))
const any = fc.oneof(text, fc.string({ maxLength: 60 }))

test('the diff applied to the old text gives the new text', () => {
  fc.assert(
    fc.property(any, any, (before, after) => {
      const hunks = lineDiff(before, after)
      expect(applied(before, hunks)).toBe(after)
      expect(hunks.length === 0).toBe(before === after)
      for (const [place, { from, to }] of hunks.entries()) {
        expect(to).toBeGreaterThanOrEqual(from)
        expect(from).toBeGreaterThanOrEqual(place === 0 ? 0 : hunks[place - 1]!.to + 1)
      }
    }),
    { numRuns: 1000 },
  )
})

test('one changed line is one small hunk, and the unified diff shows it with its context', () => {
  const before = `${[1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => `line ${n}\n`).join('')}`
  expect(lineDiff(before, before.replace('line 5', 'line five'))).toEqual([{ from: 4, to: 5, lines: ['line five'] }])
  expect(unified(before, before.replace('line 5', 'line five'))).toBe(
    '@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+line five\n line 6\n line 7\n line 8',
  )
})

test('texts with nothing in common are replaced, however long', () => {
  const lines = (word: string) => Array.from({ length: 5000 }, (_, n) => `${word} ${n}`).join('\n')
  const [before, after] = [`same\n${lines('old')}\nend`, `same\n${lines('new')}\nend`]
  const hunks = lineDiff(before, after)
  expect(hunks).toHaveLength(1)
  expect(applied(before, hunks)).toBe(after)
})

test('changes of both sides are merged as the gateway would merge them', () => {
  fc.assert(
    fc.property(text, text, text, (base, mine, theirs) => {
      const both = merge(base, mine, theirs)
      expect(merged(base, mine, theirs)).toBe(both.ok ? both.text : null)
      expect(merged(base, mine, base)).toBe(mine)
      expect(merged(base, base, theirs)).toBe(theirs)
      expect(unified(base, mine)).toBe(unifiedHere(base, mine))
    }),
    { numRuns: 500 },
  )
  expect(merged('# Memory\n', '# Memory\n- mine\n', '# Memory\n- theirs\n')).toBe('# Memory\n- mine\n- theirs\n')
  expect(merged('one\n', 'two\n', 'three\n')).toBe(null)
})
