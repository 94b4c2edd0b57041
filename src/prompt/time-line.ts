// What time it is, for an agent that has no clock: beside the message, because a program that stays up keeps its system prompt.
import type { WallTime } from '../base/zone.ts'

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const minuteMs = 60_000

/** `[Gateway: it is Mon 2026-11-16 09:05 UTC+01:00.]`. Made without Intl, which is 8 MB. */
export function timeLine(ms: number, wallOf: (ms: number) => WallTime): string {
  const { year, month, day, hour, minute } = wallOf(ms)
  const wall = Date.UTC(year, month - 1, day, hour, minute)
  const ahead = wall / minuteMs - Math.floor(ms / minuteMs)
  const offset = `${ahead < 0 ? '-' : '+'}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`
  const weekday = weekdays[new Date(wall).getUTCDay()]
  return `[Gateway: it is ${weekday} ${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)} UTC${offset}.]`
}

const two = (n: number) => String(n).padStart(2, '0')
