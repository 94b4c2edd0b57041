// No missed message is lost, and none comes twice.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { missed, missedSince, pageSize } from './catch-up.ts'
import { compareIds, idAt, madeAt } from './message.ts'

const ids = fc.uniqueArray(fc.bigInt({ min: 1n, max: 10n ** 19n }).map(String), { maxLength: 350, size: 'max' })

test('each message after the last seen one comes once, oldest first, however the pages are ordered', async () => {
  await fc.assert(
    fc.asyncProperty(ids, fc.bigInt({ min: 0n, max: 10n ** 19n }).map(String), fc.nat(), async (all, after, seed) => {
      const sorted = all.toSorted(compareIds)
      const page = async (from: string) => {
        const next = sorted.filter(id => compareIds(id, from) > 0).slice(0, pageSize)
        const turned = next.length === 0 ? 0 : seed % next.length
        return [...next.slice(turned), ...next.slice(0, turned)].reverse().map(id => ({ id }))
      }
      const got: string[] = []
      for await (const { id } of missed(page, after)) got.push(id)
      expect(got).toEqual(sorted.filter(id => compareIds(id, after) > 0))
    }),
    { numRuns: 100 },
  )
})

test('a server that repeats the same page does not cause an endless loop', async () => {
  const same = Array.from({ length: pageSize }, (_, i) => ({ id: String(i + 1) }))
  const got: string[] = []
  for await (const { id } of missed(async () => same, '0')) got.push(id)
  expect(got).toHaveLength(pageSize)
})

test('catching up starts after the last seen message, within the maximum age, and not at all if nothing is new', () => {
  const now = 1_800_000_000_000
  const hour = 3_600_000
  const at = (hours: number) => idAt(now - hours * hour)
  const base = { seen: null, horizon: null, newest: null, now, maxAgeMs: 24 * hour }
  expect(missedSince(base)).toBe(null)
  expect(missedSince({ ...base, horizon: at(2) })).toBe(at(2))
  expect(missedSince({ ...base, horizon: at(2), seen: at(5) })).toBe(at(5))
  expect(missedSince({ ...base, seen: at(100) })).toBe(at(24))
  expect(missedSince({ ...base, seen: at(5), newest: at(5) })).toBe(null)
  expect(missedSince({ ...base, seen: at(5), newest: at(1) })).toBe(at(5))
})

test('ids tell when they were made and compare as numbers', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_420_070_400_000, max: 4_000_000_000_000 }), ms => {
      expect(madeAt(idAt(ms))).toBe(ms)
    }),
  )
  expect(compareIds('99', '100')).toBeLessThan(0)
})
