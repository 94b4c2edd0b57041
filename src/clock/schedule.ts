// Parses and prints schedules in words. Strict: anything unclear is refused with examples, and nothing is guessed.

import type { When } from '../base/jobs.ts'
import { twoDigits } from '../base/zone.ts'
import { quoted } from './fields.ts'

export type ScheduleRead = { readonly ok: true; readonly when: When } | { readonly ok: false; readonly why: string }

export const shortestSeconds = 60
const longestSeconds = 366 * 86_400
const longestText = 200

/** In seconds, largest first. */
const units = new Map([
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
])
const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const
const nicknames = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
])
interface PartOfTheDay {
  /** From this hour up to but not including `to`; 30 means 6:00 on the next day. */
  readonly from: number
  readonly to: number
  readonly example: string
}
const partsOfTheDay: ReadonlyMap<string, PartOfTheDay> = new Map([
  ['morning', { from: 0, to: 12, example: '9:00 AM' }],
  ['afternoon', { from: 12, to: 18, example: '3:00 PM' }],
  ['evening', { from: 15, to: 24, example: '6:00 PM' }],
  ['night', { from: 18, to: 30, example: '11:00 PM' }],
])

const time = String.raw`(\d{1,2}(?::\d{2})?(?: ?(?:am|pm|a\.m\.|p\.m\.))?|noon|midnight)`
const timed = new RegExp(String.raw`^every (.+?) ?(?:\(${time}\)| at ${time})$`)
const dated = new RegExp(String.raw`^(?:at |on )?(\d{4}-\d{2}-\d{2})(?: at | |t)${time}$`)

/** Asynchronous because croner is loaded with the first cron expression. */
export async function readSchedule(text: string): Promise<ScheduleRead> {
  const trimmed = text
    .slice(0, longestText + 1)
    .trim()
    .replace(/\s+/g, ' ')
  if (trimmed.length > longestText) return notUnderstood(trimmed)
  const plain = trimmed.toLowerCase().replace(/[.:]$/, found => (/[ap]\.m\.$/i.test(trimmed) ? found : ''))
  if (plain.startsWith('@')) return readNickname(plain)
  if (/^[\d*][^ ]*(?: [^ ]+){3,}$/.test(trimmed)) return readExpression(trimmed)
  return (
    readEvery(plain) ??
    readHourly(plain) ??
    readTimed(plain) ??
    readOnce(plain) ??
    withoutTime(plain) ??
    notUnderstood(trimmed)
  )
}

/** Text that `readSchedule` parses back to the same schedule. A cron expression without such a text is shown as it is. */
export function wordsFor(when: When): string {
  switch (when.type) {
    case 'every':
      return `every ${lengthOf(when.seconds)}`
    case 'cron':
      return wordsForExpression(when.expression) ?? when.expression
    case 'once':
      return `at ${when.at}`
    default:
      return when satisfies never
  }
}

/** A duration in its largest whole unit: `30 minutes`, `hour`. */
function lengthOf(seconds: number): string {
  for (const [unit, length] of units) {
    if (seconds % length === 0) return seconds === length ? unit : `${seconds / length} ${unit}s`
  }
  return `${seconds} seconds`
}

export function readInterval(seconds: number): ScheduleRead {
  if (seconds < shortestSeconds) {
    return no(`${seconds} seconds are too short: the minimum interval is ${shortestSeconds} seconds.`)
  }
  if (seconds > longestSeconds) return no('That interval is longer than a year: the maximum is 366 days.')
  return yes({ type: 'every', seconds })
}

function readEvery(plain: string): ScheduleRead | null {
  const [, count, many = '', one = ''] = /^every (?:(\d{1,12}) ([a-z]+?)s?|([a-z]+))$/.exec(plain) ?? []
  const length = units.get(count === undefined ? one : many)
  return length === undefined ? null : readInterval(Number(count ?? 1) * length)
}

function readHourly(plain: string): ScheduleRead | null {
  const [, minute] = /^every hour at :(\d{2})$/.exec(plain) ?? []
  if (minute === undefined) return null
  return Number(minute) < 60 ? cron(`${Number(minute)} * * * *`) : no(`An hour has no minute ${minute}.`)
}

function readTimed(plain: string): ScheduleRead | null {
  const [, what = '', inBrackets, after] = timed.exec(plain) ?? []
  const clock = inBrackets ?? after
  if (clock === undefined) return null
  const at = readClock(clock)
  if (!at) return no(`There is no time "${clock}". Write it like "9:00 AM", "6:30 PM" or "18:30".`)
  const part = partsOfTheDay.get(what)
  if (part) return readPartOfTheDay(what, part, clock, at)
  const start = `${at.minute} ${at.hour}`
  if (what === 'day') return cron(`${start} * * *`)
  if (what === 'weekday') return cron(`${start} * * 1-5`)
  if (what === 'weekend') return cron(`${start} * * 0,6`)
  return readDays(what, start) ?? readMonthly(what, start)
}

interface Clock {
  readonly hour: number
  readonly minute: number
}

function readPartOfTheDay(name: string, { from, to, example }: PartOfTheDay, clock: string, at: Clock): ScheduleRead {
  const fits = (at.hour >= from && at.hour < to) || at.hour + 24 < to
  if (fits) return cron(`${at.minute} ${at.hour} * * *`)
  return no(
    `"${clock}" is ${digits(at)}, which is not in the ${name}. Write "every ${name} (${example})" or "every day at ${digits(at)}".`,
  )
}

function readDays(what: string, start: string): ScheduleRead | null {
  const named = what
    .split(/, and |, | and /)
    .map(word => days.findIndex(day => word === day || word === day.slice(0, 3)))
  if (named.includes(-1)) return null
  return cron(`${start} * * ${[...new Set(named)].sort((a, b) => a - b).join(',')}`)
}

function readMonthly(what: string, start: string): ScheduleRead | null {
  if (what === 'month on the last day') return cron(`${start} L * *`)
  const [, digits] = /^month on the (\d{1,2})(?:st|nd|rd|th)$/.exec(what) ?? []
  if (digits === undefined) return null
  const day = Number(digits)
  if (day >= 1 && day <= 28) return cron(`${start} ${day} * *`)
  if (day < 1 || day > 31) return no(`No month has a day ${day}.`)
  return no(
    `Not every month has a ${ordinal(day)}. Write "every month on the last day at 9:00" or a day from the 1st to the 28th.`,
  )
}

function readOnce(plain: string): ScheduleRead | null {
  const [, date, clock] = dated.exec(plain) ?? []
  if (date === undefined || clock === undefined) return null
  const at = readClock(clock)
  const day = new Date(`${date}T00:00:00Z`)
  if (!at || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== date || day.getUTCFullYear() < 2000) {
    return no(`There is no "${date} ${clock}". Write it like "at 2026-11-17 09:00".`)
  }
  return yes({ type: 'once', at: `${date} ${digits(at)}` })
}

function readClock(text: string): Clock | null {
  if (text === 'noon') return { hour: 12, minute: 0 }
  if (text === 'midnight') return { hour: 0, minute: 0 }
  const [, hours = '', minutes = '0', half] = /^(\d{1,2})(?::(\d{2}))?(?: ?([ap])\.?m\.?)?$/.exec(text) ?? []
  const hour = Number(hours)
  const minute = Number(minutes)
  if (hours === '' || minute > 59 || hour > 23) return null
  if (half === undefined) return { hour, minute }
  if (hour < 1 || hour > 12) return null
  return { hour: (hour % 12) + (half === 'p' ? 12 : 0), minute }
}

function withoutTime(plain: string): ScheduleRead | null {
  const [, what = ''] = /^every (.+)$/.exec(plain) ?? []
  const part = partsOfTheDay.get(what)
  if (part) return no(`"every ${what}" has no time. Write it like "every ${what} (${part.example})".`)
  if (what === 'month') return no('"every month" has no day. Write it like "every month on the 1st at 9:00".')
  const when = what === 'weekday' || what === 'weekend' ? cron('') : (readDays(what, '') ?? readMonthly(what, ''))
  return when ? no(`"${plain}" has no time. Write it like "${plain} at 9:00".`) : null
}

function readNickname(plain: string): ScheduleRead {
  const expression = nicknames.get(plain)
  if (expression !== undefined) return cron(expression)
  return no(`"${quoted(plain)}" is not one of ${[...nicknames.keys()].join(', ')}.`)
}

async function readExpression(trimmed: string): Promise<ScheduleRead> {
  if (trimmed.split(' ').length !== 5) {
    return no(
      `"${quoted(trimmed)}" does not have five fields. A cron expression is minute, hour, day, month and weekday, such as "0 9 * * 1".`,
    )
  }
  const { Cron } = await import('croner')
  try {
    const first = new Cron(trimmed, { paused: true, mode: '5-part', utcOffset: 0 }).nextRun(new Date(0))
    return first ? cron(trimmed) : no(`"${trimmed}" never occurs: there is no such day.`)
  } catch {
    // Croner's own message would not help here.
    return no(
      `"${quoted(trimmed)}" is not a cron expression. Five fields are minute, hour, day, month and weekday, such as "0 9 * * 1".`,
    )
  }
}

function wordsForExpression(expression: string): string | null {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = expression.split(' ')
  if (month !== '*' || !isPlain(minute, 59)) return null
  if (hour === '*' && day === '*' && weekday === '*') return `every hour at :${minute.padStart(2, '0')}`
  if (!isPlain(hour, 23)) return null
  const at = digits({ hour: Number(hour), minute: Number(minute) })
  const on = day === '*' ? daysInWords(weekday) : weekday === '*' ? monthlyInWords(day) : null
  return on === null ? null : `every ${on} at ${at}`
}

function daysInWords(weekday: string): string | null {
  if (weekday === '*') return 'day'
  if (weekday === '1-5') return 'weekday'
  const named = weekday.split(',')
  const rising = named.every((day, at) => isPlain(day, 6) && (at === 0 || day > (named[at - 1] ?? '')))
  if (!rising) return null
  // Weeks start on Monday for people, on Sunday for cron.
  const names = named
    .map(Number)
    .sort((a, b) => ((a + 6) % 7) - ((b + 6) % 7))
    .map(day => capital(days[day] ?? ''))
  const last = names.pop() ?? ''
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`
}

function monthlyInWords(day: string): string | null {
  if (day === 'L') return 'month on the last day'
  return isPlain(day, 28) && day !== '0' ? `month on the ${ordinal(Number(day))}` : null
}

const isPlain = (text: string, most: number) => /^(?:0|[1-9]\d?)$/.test(text) && Number(text) <= most

const ordinal = (day: number) => {
  const teen = day > 10 && day < 14
  return `${day}${(teen ? undefined : ['th', 'st', 'nd', 'rd'][day % 10]) ?? 'th'}`
}

const digits = ({ hour, minute }: Clock) => `${twoDigits(hour)}:${twoDigits(minute)}`
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

const yes = (when: When): ScheduleRead => ({ ok: true, when })
const no = (why: string): ScheduleRead => ({ ok: false, why })
const cron = (expression: string): ScheduleRead => yes({ type: 'cron', expression })

const notUnderstood = (trimmed: string) =>
  no(
    `"${quoted(trimmed)}" is not a schedule. Write it like "every 30 minutes", "every Monday at 8:00", "every morning (9:00 AM)", ` +
      '"at 2026-11-17 09:00" or as a cron expression such as "0 9 * * 1".',
  )
