// Schedules that count from now: "in 20 minutes", "tomorrow at 9:00". Only where somebody says so; a file knows no now.
import { wallTime } from '../base/zone.ts'

const minute = 60_000
const most = 10_000
const counted = /^in (an?|one|\d{1,5}) (minute|hour|day|week)s?$/
const named = /^(?:at (.+) )?(today|tomorrow|tonight)(?: at (.+))?$/

/** The same with the date of that moment, rounded up to a whole minute; anything else as it is. */
export function datedFrom(said: string, now: number, zone: string): string {
  const plain = said.trim().replace(/\s+/g, ' ').toLowerCase()
  const [, count = '', unit = ''] = counted.exec(plain) ?? []
  if (unit !== '') return after(/^\d/.test(count) ? Number(count) : 1, unit, now, zone) ?? said
  const [, before, day, behind] = named.exec(plain) ?? []
  const time = before ?? behind
  // "tonight at 9" could be meant as 21:00: the time must say so itself.
  if (day === undefined || time === undefined || (day === 'tonight' && !/^\d\d:\d\d$|pm$|p\.m\.$/.test(time)))
    return said
  return `at ${dateOf(now, zone, day === 'tomorrow' ? 1 : 0)} ${time}`
}

function after(count: number, unit: string, now: number, zone: string): string | null {
  if (count > most) return null
  const whole = Math.ceil(now / minute) * minute
  // A day from now is the same time on the clock, also where the clock is changed in between.
  const days = unit === 'week' ? count * 7 : unit === 'day' ? count : 0
  const moment = days > 0 ? whole : whole + count * (unit === 'hour' ? 60 : 1) * minute
  const { hour, minute: minutes } = wallTime(moment, zone)
  return `at ${dateOf(moment, zone, days)} ${two(hour)}:${two(minutes)}`
}

function dateOf(ms: number, zone: string, daysOn: number): string {
  const { year, month, day } = wallTime(ms, zone)
  return new Date(Date.UTC(year, month - 1, day + daysOn)).toISOString().slice(0, 10)
}

const two = (n: number) => String(n).padStart(2, '0')
