// Schedules relative to now: "in 20 minutes", "tomorrow at 9:00". Only for requests; a file has no notion of now.
import { twoDigits, wallTime } from '../base/zone.ts'

const minute = 60_000
const most = 10_000
const counted = /^in (an?|one|\d{1,5}) (minute|hour|day|week)s?$/
const named = /^(?:at (.+) )?(today|tomorrow|tonight)(?: at (.+))?$/

/** Converts them to an absolute date, rounded up to a whole minute. Returns anything else unchanged. */
export function datedFrom(text: string, now: number, zone: string): string {
  const plain = text.trim().replace(/\s+/g, ' ').toLowerCase()
  const [, count = '', unit = ''] = counted.exec(plain) ?? []
  if (unit !== '') return after(/^\d/.test(count) ? Number(count) : 1, unit, now, zone) ?? text
  const [, before, day, behind] = named.exec(plain) ?? []
  const time = before ?? behind
  // "tonight at 9" is ambiguous: the time itself must say that it is in the evening.
  if (day === undefined || time === undefined || (day === 'tonight' && !/^\d\d:\d\d$|pm$|p\.m\.$/.test(time)))
    return text
  return `at ${dateOf(now, zone, day === 'tomorrow' ? 1 : 0)} ${time}`
}

function after(count: number, unit: string, now: number, zone: string): string | null {
  if (count > most) return null
  const whole = Math.ceil(now / minute) * minute
  // A day from now is the same time of day, even if the clocks change in between.
  const days = unit === 'week' ? count * 7 : unit === 'day' ? count : 0
  const moment = days > 0 ? whole : whole + count * (unit === 'hour' ? 60 : 1) * minute
  const { hour, minute: minutes } = wallTime(moment, zone)
  return `at ${dateOf(moment, zone, days)} ${twoDigits(hour)}:${twoDigits(minutes)}`
}

function dateOf(ms: number, zone: string, daysOn: number): string {
  const { year, month, day } = wallTime(ms, zone)
  return new Date(Date.UTC(year, month - 1, day + daysOn)).toISOString().slice(0, 10)
}
