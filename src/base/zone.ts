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
  const parts = formatOf(zone).formatToParts(ms)
  const read = (type: string) => Number(parts.find(part => part.type === type)?.value)
  return { year: read('year'), month: read('month'), day: read('day'), hour: read('hour'), minute: read('minute') }
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
  const named = new Intl.DateTimeFormat('en-GB', { timeZone: zone, weekday: 'short', timeZoneName: 'short' })
  const parts = named.formatToParts(ms)
  const name = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  const two = (n: number) => String(n).padStart(2, '0')
  return `${name('weekday')} ${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)} ${name('timeZoneName')}`
}

const utcOf = ({ year, month, day, hour, minute }: WallTime) => Date.UTC(year, month - 1, day, hour, minute)

/** Making one takes ten times as long as using it, and jobs are looked at often. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  formats.set(zone, made)
  return made
}
