// Wall clock times in a time zone. Intl knows the zones; nothing here is read from the machine.

export interface WallTime {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
}

export function wallTime(ms: number, zone: string): WallTime {
  // `11/16/2026, 09:05`. In parts it would take twice as long, and the schedules ask thousands of times.
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = (formatOf(zone).format(ms).match(/\d+/g) ?? []).map(
    Number,
  )
  return { year, month, day, hour, minute }
}

/** Milliseconds since the epoch. A time that a clock change skips counts as the one after it; of one that comes twice, the first. */
export function fromWallTime(wall: WallTime, zone: string): number {
  const asUtc = utcOf(wall)
  const offset = (ms: number) => utcOf(wallTime(ms, zone)) - Math.floor(ms / 60_000) * 60_000
  const candidates = [offset(asUtc - 86_400_000), offset(asUtc + 86_400_000)].map(ahead => asUtc - ahead)
  const exact = candidates.filter(ms => utcOf(wallTime(ms, zone)) === asUtc)
  return exact.length > 0 ? Math.min(...exact) : Math.max(...candidates)
}

/** As people read it: `Tue 2026-11-17 09:00 CET`. */
export function writtenTime(ms: number, zone: string): string {
  const { year, month, day, hour, minute } = wallTime(ms, zone)
  const parts = namesOf(zone).formatToParts(ms)
  const name = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  const two = (n: number) => String(n).padStart(2, '0')
  return `${name('weekday')} ${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)} ${name('timeZoneName')}`
}

const utcOf = ({ year, month, day, hour, minute }: WallTime) => Date.UTC(year, month - 1, day, hour, minute)

/** Making one takes ten times as long as using it, and jobs are looked at often. */
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
