// Wall-clock times in a time zone, by Intl. Nothing here depends on the machine.

export interface WallTime {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
}

export function wallTime(ms: number, zone: string): WallTime {
  // `11/16/2026, 09:05`. Using formatToParts would take twice as long, and schedules call this thousands of times.
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = (formatOf(zone).format(ms).match(/\d+/g) ?? []).map(
    Number,
  )
  return { year, month, day, hour, minute }
}

/**
 * Milliseconds since the epoch. A time that a clock change skips counts as the one after it; of a time that occurs twice, the first is
 * used.
 */
export function fromWallTime(wall: WallTime, zone: string): number {
  const asUtc = utcOf(wall)
  const offset = (ms: number) => utcOf(wallTime(ms, zone)) - Math.floor(ms / 60_000) * 60_000
  const candidates = [offset(asUtc - 86_400_000), offset(asUtc + 86_400_000)].map(ahead => asUtc - ahead)
  const exact = candidates.filter(ms => utcOf(wallTime(ms, zone)) === asUtc)
  return exact.length > 0 ? Math.min(...exact) : Math.max(...candidates)
}

/** For people: `Tue 2026-11-17 09:00 CET`. */
export function writtenTime(ms: number, zone: string): string {
  const { year, month, day, hour, minute } = wallTime(ms, zone)
  const parts = namesOf(zone).formatToParts(ms)
  const name = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  return `${name('weekday')} ${year}-${twoDigits(month)}-${twoDigits(day)} ${twoDigits(hour)}:${twoDigits(minute)} ${name('timeZoneName')}`
}

/** `7` as in `09:07`. */
export const twoDigits = (n: number): string => String(n).padStart(2, '0')

const utcOf = ({ year, month, day, hour, minute }: WallTime) => Date.UTC(year, month - 1, day, hour, minute)

/** Creating a format takes ten times as long as using it, and jobs are checked often. */
export function oncePerZone(
  options: Intl.DateTimeFormatOptions,
  language: string,
): (zone: string) => Intl.DateTimeFormat {
  const made = new Map<string, Intl.DateTimeFormat>()
  return zone => {
    const known = made.get(zone)
    if (known) return known
    const format = new Intl.DateTimeFormat(language, { timeZone: zone, ...options })
    made.set(zone, format)
    return format
  }
}

const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
const formatOf = oncePerZone({ hourCycle: 'h23', ...numeric }, 'en-US')
const namesOf = oncePerZone({ weekday: 'short', timeZoneName: 'short' }, 'en-GB')

export const startOfDay = (now: number, zone: string): number =>
  fromWallTime({ ...wallTime(now, zone), hour: 0, minute: 0 }, zone)
