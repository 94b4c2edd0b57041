// Line differences: laws of merging, and what is shown.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import { lineDiff, merge, unified } from './merge.ts'

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', '', '- x', '\r', 'ü'), { maxLength: 12 })
  .chain(lines => fc.constantFrom(lines.join('\n'), `${lines.join('\n')}\n`))

const applied = (before: string, hunks: ReturnType<typeof lineDiff>) => {
  const lines = before.split('\n')
  for (const { from, to, lines: added } of hunks.toReversed()) lines.splice(from, to - from, ...added)
  return lines.join('\n')
}

test('applying a diff to the old text gives the new text', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(applied(before, lineDiff(before, after))).toBe(after)
    }),
    { numRuns: 1000 },
  )
})

test('a diff is minimal', () => {
  const longest = (a: readonly string[], b: readonly string[]): number => {
    const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
    const at = (i: number, j: number) => table[i]?.[j] ?? 0
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        (table[i] as number[])[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    return at(0, 0)
  }
  fc.assert(
    fc.property(text, text, (before, after) => {
      const removed = lineDiff(before, after).reduce((sum, { from, to }) => sum + to - from, 0)
      const lines = before.split('\n')
      expect(lines.length - removed).toBe(longest(lines, after.split('\n')))
    }),
    { numRuns: 500 },
  )
})

test('an unchanged side takes the other side, and the same change on both sides is applied once', () => {
  fc.assert(
    fc.property(text, text, (base, x) => {
      expect(merge(base, base, x)).toEqual({ ok: true, text: x })
      expect(merge(base, x, base)).toEqual({ ok: true, text: x })
      expect(merge(base, x, x)).toEqual({ ok: true, text: x })
    }),
    { numRuns: 1000 },
  )
})

test('taking a line back after other changes removes exactly that line', () => {
  const start = Array.from({ length: 5 }, (_, n) => `line ${n}`)
  const place = fc.nat({ max: 1000 })
  const edit = fc.oneof(fc.record({ add: place }), fc.record({ remove: place }))
  fc.assert(
    fc.property(place, fc.array(edit, { maxLength: 12 }), (at, edits) => {
      const after = [...start]
      after.splice(at % (after.length + 1), 0, 'the one')
      const current = [...after]
      for (const [n, one] of edits.entries()) {
        if ('add' in one) current.splice(one.add % (current.length + 1), 0, `added ${n}`)
        else {
          const found = one.remove % current.length
          if (current[found] !== 'the one') current.splice(found, 1)
        }
      }
      const undone = merge(after.join('\n'), current.join('\n'), start.join('\n'))
      expect(undone).toEqual({ ok: true, text: current.filter(line => line !== 'the one').join('\n') })
    }),
    { numRuns: 1000 },
  )
})

test('lines that both sides append are all kept, and none twice', () => {
  expect(merge('a\n', 'a\nmine\n', 'a\ntheirs\n')).toEqual({ ok: true, text: 'a\nmine\ntheirs\n' })
  expect(merge('a\n', 'a\n1\n', 'a\n1\n2\n')).toEqual({ ok: true, text: 'a\n1\n2\n' })
  expect(merge('a', 'a\nmine', 'a\ntheirs')).toEqual({ ok: true, text: 'a\nmine\ntheirs' })
})

test('two different changes to the same line conflict', () => {
  expect(merge('a\nb\nc\n', 'a\nx\nc\n', 'a\ny\nc\n')).toEqual({ ok: false })
  expect(merge('a\nb\nc\n', 'a\nx\nc\n', 'a\nc\n')).toEqual({ ok: false })
  expect(merge('a\nb\nc\nd\n', 'a\nd\n', 'a\nb\nnew\nc\nd\n')).toEqual({ ok: false })
})

test('a change is shown as diff -u shows it', () => {
  const old = Array.from({ length: 20 }, (_, n) => `${n + 1}\n`).join('')
  const now = old.replace('2\n', 'two\n').replace('19\n', '').replace('20\n', '20\nend')
  expect(unified(old, now)).toBe(
    [
      '@@ -1,5 +1,5 @@',
      ...[' 1', '-2', '+two', ' 3', ' 4', ' 5'],
      '@@ -16,5 +16,5 @@',
      ...[' 16', ' 17', ' 18', '-19', ' 20', '+end', '\\ No newline at end of file'],
    ].join('\n'),
  )
  expect(unified('', 'a\n')).toBe('@@ -0,0 +1 @@\n+a')
  expect(unified('a\n', '')).toBe('@@ -1 +0,0 @@\n-a')
  expect(unified('a\n', 'a\n')).toBe('')
})

test('texts with nothing in common cost linear time', async () => {
  const many = (word: string, lines: number) => Array.from({ length: lines }, (_, n) => `${word}${n}`).join('\n')
  const look = (lines: number) => expect(lineDiff(many('a', lines), many('b', lines))).toHaveLength(1)
  expect(await worseThanLinear(look, 60_000)).toBeNull()
})
