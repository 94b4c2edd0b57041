// Sequence numbers: no unhandled event is skipped.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openProgress } from './connection.ts'

test('progress never passes an unhandled event, and ends at the last one', () => {
  const order = fc.integer({ min: 1, max: 30 }).chain(n =>
    fc.tuple(
      fc.constant(n),
      fc.shuffledSubarray(
        Array.from({ length: n }, (_, i) => i + 1),
        { minLength: n },
      ),
    ),
  )
  fc.assert(
    fc.property(order, ([n, ends]) => {
      const progress = openProgress(0)
      for (let number = 1; number <= n; number++) progress.began(number)
      const open = new Set(ends)
      for (const number of ends) {
        expect(progress.reached()).toBe(Math.min(...open) - 1)
        progress.ended(number)
        open.delete(number)
      }
      expect(progress.reached()).toBe(n)
    }),
    { numRuns: 200 },
  )
})
