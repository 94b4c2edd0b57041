// When jobs fall due: arithmetic on schedules and time zones. Nothing here reads the clock.
import type { When } from '../base/jobs.ts'
import { fromWallTime, type WallTime, wallTime } from '../base/zone.ts'

const minute = 60_000
const hour = 60 * minute

/** The first `count` due times after `from`. `anchor` is the origin of `every`; its first due time is one period later. */
export async function nextRuns(
  when: When,
  zone: string,
  from: number,
  count: number,
  anchor: number,
): Promise<readonly number[]> {
  switch (when.type) {
    case 'every': {
      const period = when.seconds * 1000
      const first = Math.max(1, Math.floor((from - anchor) / period) + 1)
      return Array.from({ length: count }, (_, index) => anchor + (first + index) * period)
    }
    case 'once': {
      const at = fromWallTime(wallOf(when.at), zone)
      return at > from && count > 0 ? [at] : []
    }
    case 'cron': {
      const grid = await gridOf(when.expression, zone)
      const runs: number[] = []
      for (let next = grid.after(from); next !== null && runs.length < count; next = grid.after(next)) runs.push(next)
      return runs
    }
    default:
      return when satisfies never
  }
}

/** The last due time in (after, upTo], or null. Takes the same time for a year as for a minute. */
export async function dueBetween(
  when: When,
  zone: string,
  after: number,
  upTo: number,
  anchor: number,
): Promise<number | null> {
  if (upTo <= after) return null
  const last = await lastUpTo(when, zone, upTo, anchor)
  return last !== null && last > after ? last : null
}

async function lastUpTo(when: When, zone: string, upTo: number, anchor: number): Promise<number | null> {
  switch (when.type) {
    case 'every': {
      const period = when.seconds * 1000
      const passed = Math.floor((upTo - anchor) / period)
      return passed >= 1 ? anchor + passed * period : null
    }
    case 'once': {
      const at = fromWallTime(wallOf(when.at), zone)
      return at <= upTo ? at : null
    }
    case 'cron':
      return (await gridOf(when.expression, zone)).upTo(upTo)
    default:
      return when satisfies never
  }
}

interface Grid {
  /** The first after this moment. Null if there is none. */
  after(ms: number): number | null
  /** The last at or before this moment. */
  upTo(ms: number): number | null
}

/**
 * `* * * * *` and `0 * * * *` follow elapsed hours: 23 on the day when clocks go forward, 25 when they go back.
 * A schedule that names hours means wall clock time. It fires once: at the end of the gap if its time is skipped, the first
 * time if it occurs twice. Croner alone does this for a single time of day, but not for `30 2,14 * * *`.
 */
async function gridOf(expression: string, zone: string): Promise<Grid> {
  const [, hours] = expression.trim().split(/\s+/)
  const byTheHour = hours === undefined || /^\*(\/1)?$/.test(hours)
  return byTheHour ? croner(expression, zone) : onTheWall(await croner(expression, 'UTC'), zone)
}

/** Croner keeps a list of ten thousand years for every expression: 80 kB, which 200 jobs would build again each time they are checked. */
const grids = new Map<string, Promise<Grid>>()
const mostGrids = 50

function croner(expression: string, timezone: string): Promise<Grid> {
  const name = `${timezone} ${expression}`
  const known = grids.get(name)
  if (known) return known
  const made = newCroner(expression, timezone)
  const [oldest] = grids.keys()
  if (grids.size >= mostGrids && oldest !== undefined) grids.delete(oldest)
  grids.set(name, made)
  return made
}

/** Croner is loaded with the first job that needs it. */
async function newCroner(expression: string, timezone: string): Promise<Grid> {
  const { Cron } = await import('croner')
  // With a zone name croner creates a formatter at every step; with an offset it only computes.
  const where = timezone === 'UTC' ? { utcOffset: 0 } : { timezone }
  const cron = new Cron(expression, { ...where, mode: '5-part', paused: true })
  const [, , days, , weekdays] = expression.trim().split(/\s+/)
  const twoKindsOfDays = days !== '*' && weekdays !== '*'
  // Croner looks for whole seconds before the given one, and due times are whole minutes.
  const upTo = (ms: number) => cron.previousRuns(1, new Date(floorTo(ms, minute) + 1000))[0]?.getTime() ?? null
  return {
    upTo,
    after(ms) {
      let next = cron.nextRun(new Date(ms))?.getTime() ?? null
      // Croner 11 takes March 2 and 3 for days of February, and so skips the 1st in `0 0 1 * 1`. Searching backwards it is right.
      while (twoKindsOfDays && next !== null) {
        const earlier = upTo(next - minute)
        if (earlier === null || earlier <= ms) break
        next = earlier
      }
      return next
    },
  }
}

/** Converts a grid of wall clock times, written as if they were UTC, to real time in a zone. Keeps their order. */
function onTheWall(walls: Grid, zone: string): Grid {
  return {
    after(ms) {
      let wall = walls.after(shownAt(ms, zone))
      // While an hour occurs for the second time, its due times have passed.
      while (wall !== null && momentOf(wall, zone) <= ms) wall = walls.after(wall)
      return wall === null ? null : momentOf(wall, zone)
    },
    upTo(ms) {
      const comesTwice = Math.max(0, aheadAt(ms - 26 * hour, zone) - aheadAt(ms + 26 * hour, zone))
      let wall = walls.upTo(shownAt(ms, zone) + comesTwice)
      while (wall !== null && momentOf(wall, zone) > ms) wall = walls.upTo(wall - minute)
      return wall === null ? null : momentOf(wall, zone)
    },
  }
}

/** When the wall clock shows this time for the first time; if it never does, the end of the gap. */
function momentOf(wall: number, zone: string): number {
  const date = new Date(wall)
  const moment = fromWallTime(
    {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      hour: date.getUTCHours(),
      minute: date.getUTCMinutes(),
    },
    zone,
  )
  if (shownAt(moment, zone) === wall) return moment
  const ahead = aheadAt(moment, zone)
  let [before, end] = [moment - 26 * hour, moment]
  while (end - before > minute) {
    const middle = floorTo((before + end) / 2, minute)
    if (aheadAt(middle, zone) === ahead) end = middle
    else before = middle
  }
  return end
}

/** What the wall clock shows, to the minute, written as if it were UTC. */
function shownAt(ms: number, zone: string): number {
  const { year, month, day, hour: hours, minute: minutes } = wallTime(ms, zone)
  return Date.UTC(year, month - 1, day, hours, minutes)
}

const aheadAt = (ms: number, zone: string): number => shownAt(ms, zone) - floorTo(ms, minute)

const floorTo = (ms: number, step: number): number => Math.floor(ms / step) * step

function wallOf(at: string): WallTime {
  const [year = Number.NaN, month = 1, day = 1, hours = 0, minutes = 0] = at.split(/\D+/).map(Number)
  return { year, month, day, hour: hours, minute: minutes }
}
