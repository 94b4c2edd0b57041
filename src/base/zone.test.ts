// Local times, also around clock changes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromWallTime, wallTime, writtenTime } from './zone.ts'

const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata')
const minutes = fc.integer({ min: 0, max: 60_000_000 }).map(minute => minute * 60_000)

test('conversion round-trips, except in the hour that occurs twice, where the first is meant', () => {
  fc.assert(
    fc.property(minutes, zones, (ms, zone) => {
      const back = fromWallTime(wallTime(ms, zone), zone)
      expect(wallTime(back, zone)).toEqual(wallTime(ms, zone))
      expect([0, 30 * 60_000, 60 * 60_000]).toContain(ms - back)
    }),
    { numRuns: 300 },
  )
})

test('a time that is skipped in spring counts as the one after it, and one that occurs twice as the first', () => {
  const at = (month: number, day: number, hour: number, minute: number) =>
    fromWallTime({ year: 2026, month, day, hour, minute }, 'Europe/Berlin')
  expect(at(3, 29, 2, 30)).toBe(Date.UTC(2026, 2, 29, 1, 30))
  expect(at(10, 25, 2, 30)).toBe(Date.UTC(2026, 9, 25, 0, 30))
  expect(at(11, 15, 9, 0)).toBe(Date.UTC(2026, 10, 15, 8, 0))
})

test('a time is written with its weekday and its zone, on both sides of a clock change', () => {
  expect(writtenTime(Date.UTC(2026, 10, 17, 8, 5), 'Europe/Berlin')).toBe('Tue 2026-11-17 09:05 CET')
  expect(writtenTime(Date.UTC(2026, 6, 1, 22, 5), 'Europe/Berlin')).toBe('Thu 2026-07-02 00:05 CEST')
  expect(writtenTime(Date.UTC(2026, 0, 1), 'America/New_York')).toBe('Wed 2025-12-31 19:00 GMT-5')
})
