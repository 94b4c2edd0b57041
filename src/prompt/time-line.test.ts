// The time as the agent is told it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wallTime } from '../base/zone.ts'
import { timeLine } from './time-line.ts'

const inZone = (zone: string) => (ms: number) => wallTime(ms, zone)

test('the time is told as the wall of the owner shows it, with the weekday and how far it is from UTC', () => {
  const noon = Date.UTC(2026, 10, 16, 12, 5, 59)
  expect(timeLine(noon, inZone('UTC'))).toBe('[Gateway: it is Mon 2026-11-16 12:05 UTC+00:00.]')
  expect(timeLine(noon, inZone('Europe/Berlin'))).toBe('[Gateway: it is Mon 2026-11-16 13:05 UTC+01:00.]')
  expect(timeLine(noon, inZone('Asia/Kathmandu'))).toBe('[Gateway: it is Mon 2026-11-16 17:50 UTC+05:45.]')
  expect(timeLine(noon, inZone('America/St_Johns'))).toBe('[Gateway: it is Mon 2026-11-16 08:35 UTC-03:30.]')
  expect(timeLine(noon, inZone('Pacific/Kiritimati'))).toBe('[Gateway: it is Tue 2026-11-17 02:05 UTC+14:00.]')
})

test('what is told is that very minute, in any zone and on both sides of a clock change', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(2001, 0), max: Date.UTC(2090, 0) }),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'),
      (ms, zone) => {
        const [, date, time, offset] = /it is \w{3} (\S+) (\S+) UTC(\S+)\.\]$/.exec(timeLine(ms, inZone(zone))) ?? []
        expect(Date.parse(`${date}T${time}:00${offset}`)).toBe(Math.floor(ms / 60_000) * 60_000)
      },
    ),
    { numRuns: 300 },
  )
})
