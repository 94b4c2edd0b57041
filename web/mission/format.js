// Formats times and amounts for people.

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** `4 s`, `12 min`, `3 h 20 min`, `5 days`. */
export const span = ms => {
  const abs = Math.abs(ms)
  if (abs < minute) return `${Math.round(abs / 1000)} s`
  if (abs < hour) return `${Math.floor(abs / minute)} min`
  if (abs < day) {
    const rest = Math.floor((abs % hour) / minute)
    return `${Math.floor(abs / hour)} h${rest > 0 && abs < 6 * hour ? ` ${rest} min` : ''}`
  }
  const days = Math.floor(abs / day)
  return `${days} day${days === 1 ? '' : 's'}`
}

/** `120 ms`, `4.2 s`, `3 min`: how long something took. */
export const duration = ms => {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 20_000) return `${(ms / 1000).toFixed(1)} s`
  return span(ms)
}

export const fromNow = (at, now) => {
  const ms = at - now
  if (Math.abs(ms) < 5000) return 'now'
  return ms > 0 ? `in ${span(ms)}` : `${span(ms)} ago`
}

/** Formatters are created on first use: each takes a millisecond or more, and no page needs them all. */
const formatted = (Kind, options) => {
  let made = null
  return value => {
    made ??= new Kind(undefined, options)
    return made.format(value)
  }
}
const dates = options => formatted(Intl.DateTimeFormat, options)
const numbers = options => formatted(Intl.NumberFormat, options)

const clock = dates({ hour: '2-digit', minute: '2-digit' })
export const exactTime = dates({ hour: '2-digit', minute: '2-digit', second: '2-digit' })
export const dayOf = dates({ weekday: 'short', day: 'numeric', month: 'short' })
export const wholeDate = dates({ dateStyle: 'medium', timeStyle: 'medium' })

/** The time if it is today, else the day and time. */
export const moment = (at, now = Date.now()) => {
  const same = new Date(at).toDateString() === new Date(now).toDateString()
  return same ? clock(at) : `${dayOf(at)}, ${clock(at)}`
}

export const count = numbers()
const shortened = numbers({ notation: 'compact', maximumFractionDigits: 1 })
export const shortCount = number => (Math.abs(number) < 10_000 ? count(number) : shortened(number))

/** Dollars and cents. */
export const dollars = usd => {
  if (usd === null || usd === undefined) return '–'
  if (usd === 0) return '$0'
  return usd < 0.01 ? '< $0.01' : `$${usd.toFixed(2)}`
}

/** Removes the lane from the end of a text that is shown beside the lane. */
export const withoutLane = (text, lane) =>
  lane !== null && text.endsWith(` (${lane})`) ? text.slice(0, -lane.length - 3) : text

export const megabytes = bytes => `${Math.round(bytes / 1e6)} MB`
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`

/** A local date such as `2026-11-16`, moved by some days. */
export const shiftDay = (text, days) =>
  new Date(Date.parse(`${text}T00:00:00Z`) + days * day).toISOString().slice(0, 10)
export const localDay = at => {
  const here = new Date(at)
  return [here.getFullYear(), here.getMonth() + 1, here.getDate()].map(part => String(part).padStart(2, '0')).join('-')
}
const calendarDay = dates({ day: 'numeric', month: 'short', timeZone: 'UTC' })
export const dayName = text => calendarDay(Date.parse(`${text}T00:00:00Z`))
