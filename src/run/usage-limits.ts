// Reads from the message of a CLI when a usage limit ends.
import { fromWallTime, wallTime } from '../base/zone.ts'

/** Null: the message does not say, or not in a way that makes sense. `zone`: for times of day without a time zone. */
export function limitEnd(message: string, now: number, zone: string): number | null {
  const end = atEpoch(message) ?? atInstant(message) ?? inWhile(message, now) ?? atWallTime(message, now, zone)
  return end !== null && end > now && end < now + longest ? end : null
}

/** Longer than any real limit. A later time must have been misread. */
const longest = 32 * 86_400_000

const lead = '(?:resets?|try again|retry|available|wait)\\D{0,24}?'

/** `…limit reached|1760000000`: seconds since the epoch after a bar. */
function atEpoch(message: string): number | null {
  const seconds = /\|(\d{10})\b/.exec(message)?.[1]
  return seconds ? Number(seconds) * 1000 : null
}

function atInstant(message: string): number | null {
  const found = new RegExp(`${lead}(\\d{4}-\\d\\d-\\d\\dT[\\d:.]+(?:Z|[+-]\\d\\d:?\\d\\d))`, 'i').exec(message)?.[1]
  return found ? Date.parse(found) : null
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }

/** `try again in 3 days 2 hours`, `reset after 18h31m10s`, `retry in 35.3s`, `"retryDelay":"35s"`, `retry-after: 30`. */
function inWhile(message: string, now: number): number | null {
  const unit = '(?:days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s)'
  const span = new RegExp(
    `(?:\\b(?:in|after)\\b|retry-?delay|retry-?after)["':=\\s]{1,5}((?:\\d+(?:\\.\\d+)?\\s*${unit}\\b[\\s,]*(?:and\\s+)?)+|\\d+\\b(?!\\s*[:.apAP]))`,
    'i',
  ).exec(message.replace(/(\d)([dhms])(?=\d)/gi, '$1$2 '))?.[1]
  if (span === undefined) return null
  if (/^\d+$/.test(span)) return now + Number(span) * 1000
  const parts = span.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[dhms])/gi)
  return [...parts].reduce((at, [, count, word = '']) => {
    const each = word.toLowerCase() === 'ms' ? 1 : (units[word.charAt(0).toLowerCase()] ?? 0)
    return at + Number(count) * each
  }, now)
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `resets 3pm`, `resets at 3:30pm (Europe/Berlin)`, `try again at 18:00`, `resets Nov 20, 3pm`, `try again at Nov 20th, 2026 3:04 PM`. */
function atWallTime(message: string, now: number, zone: string): number | null {
  const date = `(?:(${months.join('|')})[a-z]*\\.? (\\d{1,2})(?:st|nd|rd|th)?,?(?: (\\d{4}))?,?(?: at)? )?`
  const time = '(\\d{1,2})(?::(\\d\\d))?(?::\\d\\d)? ?([ap]\\.?m\\.?)?\\b'
  const found = new RegExp(
    `(?:resets?|try again|available)(?: on)?(?: at)?:? ${date}${time}(?:\\s*\\(([^)]+)\\))?`,
    'i',
  ).exec(message.replace(/\s+/g, ' '))
  if (!found) return null
  const [, month, day, year, hours = '', minutes, half, named] = found
  if (minutes === undefined && half === undefined) return null
  const where = named && isZone(named) ? named : zone
  const today = wallTime(now, where)
  const hour = half ? (Number(hours) % 12) + (/^p/i.test(half) ? 12 : 0) : Number(hours)
  const wall = { ...today, hour, minute: Number(minutes ?? 0) }
  if (hour > 23 || wall.minute > 59) return null
  if (month === undefined) {
    const at = fromWallTime(wall, where)
    return at > now ? at : fromWallTime({ ...wall, day: wall.day + 1 }, where)
  }
  const dated = {
    ...wall,
    month: months.indexOf(month.toLowerCase()) + 1,
    day: Number(day),
    year: Number(year ?? today.year),
  }
  const at = fromWallTime(dated, where)
  return at > now || year !== undefined ? at : fromWallTime({ ...dated, year: dated.year + 1 }, where)
}

function isZone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
