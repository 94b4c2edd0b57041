// "in 20 minutes" and "tomorrow at 9:00", at a given moment in a time zone.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromWallTime } from '../base/zone.ts'
import { datedFrom } from './from-now.ts'
import { readSchedule } from './schedule.ts'

const evening = Date.UTC(2026, 10, 16, 22, 30, 12)

test.each([
  ['in 20 minutes', 'at 2026-11-16 23:51'],
  ['In an hour', 'at 2026-11-17 00:31'],
  ['in 2 days', 'at 2026-11-18 23:31'],
  ['in 1 week', 'at 2026-11-23 23:31'],
  ['tomorrow at 9:00', 'at 2026-11-17 9:00'],
  ['at 9 am tomorrow', 'at 2026-11-17 9 am'],
  ['today  at noon', 'at 2026-11-16 noon'],
  ['tonight at 11 pm', 'at 2026-11-16 11 pm'],
])('%s, in Berlin, is %s', async (said, dated) => {
  expect(datedFrom(said, evening, 'Europe/Berlin')).toBe(dated)
  expect(await readSchedule(dated)).toMatchObject({ ok: true, when: { type: 'once' } })
})

test.each([
  'every day at 9:00',
  'tomorrow',
  'tonight at 9',
  'in a while',
  'in 99999 weeks',
  'at noon',
  '0 9 * * 1',
  '',
])('"%s" stays as it is', said => expect(datedFrom(said, evening, 'Europe/Berlin')).toBe(said))

test('a job "in N minutes" runs then: never earlier, and less than a minute later', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.constantFrom('UTC', 'Asia/Kolkata', 'Pacific/Auckland'),
      (now, count, zone) => {
        const [, year, month, day, hour, minute] = (
          /^at (\d+)-(\d+)-(\d+) (\d+):(\d+)$/.exec(datedFrom(`in ${count} minutes`, now, zone)) ?? []
        ).map(Number) as [number, number, number, number, number, number]
        const late = fromWallTime({ year, month, day, hour, minute }, zone) - (now + count * 60_000)
        // In a repeated hour, the first occurrence is meant.
        return (late >= 0 && late < 60_000) || (late < 0 && late >= -3_600_000 && zone === 'Pacific/Auckland')
      },
    ),
    { numRuns: 300 },
  )
})
