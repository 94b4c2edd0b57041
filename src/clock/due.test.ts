// When jobs fall due, above all where the clock changes.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { When } from '../base/jobs.ts'
import { dueBetween, nextRuns } from './due.ts'

const cron = (expression: string): When => ({ type: 'cron', expression })
const at = (iso: string) => Date.parse(iso)
const hour = 3_600_000
const day = 24 * hour

/** Local times with their UTC offset. */
const shownIn = (zone: string, times: readonly number[]) => {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone: zone, day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'longOffset' },
  } as Intl.DateTimeFormatOptions)
  return times.map(time => format.format(time).replace(',', '').replace('GMT', ''))
}

/** Advances in steps, like a gateway that checks the time now and then. */
const walked = async (when: When, zone: string, from: number, to: number, step: number) => {
  const seen: number[] = []
  for (let now = from, handled = from; now <= to; now += step) {
    const due = await dueBetween(when, zone, handled, now, from)
    if (due === null) continue
    seen.push(due)
    handled = due
  }
  return seen
}

const inRange = async (when: When, zone: string, from: number, to: number) => {
  const runs: number[] = []
  for (let [next] = await nextRuns(when, zone, from, 1, from); next !== undefined && next <= to; ) {
    runs.push(next)
    ;[next] = await nextRuns(when, zone, next, 1, from)
  }
  return runs
}

interface Change {
  readonly zone: string
  readonly from: string
  /** The local times of that night. */
  readonly daily0230: string
  readonly daily0300: string
  /** Runs of an hourly job from 00:00 to 23:59 of the day. */
  readonly hourly: number
  readonly list: readonly string[]
}

const changes: Record<string, Change> = {
  'Berlin puts the clock forward': {
    ...{ zone: 'Europe/Berlin', from: '2026-03-28T23:00:00Z', hourly: 23 },
    ...{ daily0230: '29 03:00 +02:00', daily0300: '29 03:00 +02:00' },
    list: ['29 01:30 +01:00', '29 03:00 +02:00', '29 14:30 +02:00'],
  },
  'Berlin puts the clock back': {
    ...{ zone: 'Europe/Berlin', from: '2026-10-24T22:00:00Z', hourly: 25 },
    ...{ daily0230: '25 02:30 +02:00', daily0300: '25 03:00 +01:00' },
    list: ['25 01:30 +02:00', '25 02:30 +02:00', '25 14:30 +01:00'],
  },
  'New York puts the clock forward': {
    ...{ zone: 'America/New_York', from: '2026-03-08T05:00:00Z', hourly: 23 },
    ...{ daily0230: '8 03:00 -04:00', daily0300: '8 03:00 -04:00' },
    list: ['8 01:30 -05:00', '8 03:00 -04:00', '8 14:30 -04:00'],
  },
  'New York puts the clock back': {
    ...{ zone: 'America/New_York', from: '2026-11-01T04:00:00Z', hourly: 25 },
    ...{ daily0230: '1 02:30 -05:00', daily0300: '1 03:00 -05:00' },
    list: ['1 01:30 -04:00', '1 02:30 -05:00', '1 14:30 -05:00'],
  },
  'Lord Howe puts the clock forward by half an hour': {
    ...{ zone: 'Australia/Lord_Howe', from: '2026-10-03T13:30:00Z', hourly: 23 },
    ...{ daily0230: '4 02:30 +11:00', daily0300: '4 03:00 +11:00' },
    list: ['4 01:30 +10:30', '4 02:30 +11:00', '4 14:30 +11:00'],
  },
  'Lord Howe puts the clock back by half an hour': {
    ...{ zone: 'Australia/Lord_Howe', from: '2026-04-04T13:00:00Z', hourly: 24 },
    ...{ daily0230: '5 02:30 +10:30', daily0300: '5 03:00 +10:30' },
    list: ['5 01:30 +11:00', '5 02:30 +10:30', '5 14:30 +10:30'],
  },
}

describe.each(Object.entries(changes))('%s', (_, { zone, from, daily0230, daily0300, hourly, list }) => {
  const start = at(from) - 1
  const night = async (expression: string) => shownIn(zone, await nextRuns(cron(expression), zone, start, 1, 0))

  test('a daily job runs once that night, whichever time it names', async () => {
    expect(await night('30 2 * * *')).toEqual([daily0230])
    expect(await night('0 3 * * *')).toEqual([daily0300])
    for (const expression of ['30 2 * * *', '0 3 * * *', '0 2 * * *', '45 1 * * *', '15 2 * * *'])
      expect(await inRange(cron(expression), zone, start, start + 3.9 * day)).toHaveLength(4)
  })

  test('an hourly job runs with every hour that passes', async () => {
    const nextDay = (await nextRuns(cron('0 0 * * *'), zone, start + hour, 1, 0))[0]!
    const runs = await inRange(cron('0 * * * *'), zone, start, nextDay - 1)
    expect(runs).toHaveLength(hourly)
    expect(new Set(runs).size).toBe(hourly)
  })

  test('a list of times is handled as correctly as one time', async () => {
    expect(shownIn(zone, await nextRuns(cron('30 1,2,14 * * *'), zone, start, 3, 0))).toEqual(list)
  })

  test('searching backwards finds the same times as searching forwards', async () => {
    for (const expression of ['0 * * * *', '30 2 * * *', '0 3 * * *', '*/20 1-3 * * *', '30 1,2,14 * * *']) {
      const ahead = await inRange(cron(expression), zone, start, start + 2 * day)
      expect(await walked(cron(expression), zone, start, start + 2 * day, 10 * 60_000)).toEqual(ahead)
      for (let now = start; now <= start + 6 * hour; now += 10 * 60_000) {
        const last = ahead.filter(run => run <= now).at(-1) ?? null
        expect(await dueBetween(cron(expression), zone, start, now, 0)).toBe(last)
      }
    }
  })
})

test('`every` is a grid from the anchor, and begins one period after it', async () => {
  const every: When = { type: 'every', seconds: 1800 }
  const anchor = at('2026-11-16T10:07:03Z')
  expect(await nextRuns(every, 'UTC', anchor - day, 2, anchor)).toEqual([anchor + 1_800_000, anchor + 3_600_000])
  expect(await nextRuns(every, 'UTC', anchor + 1_800_000, 1, anchor)).toEqual([anchor + 3_600_000])
  expect(await dueBetween(every, 'UTC', anchor, anchor + 1_799_999, anchor)).toBe(null)
  expect(await dueBetween(every, 'UTC', anchor, anchor + 10 * day + 5, anchor)).toBe(anchor + 10 * day)
})

test('`once` is one wall clock time in its zone', async () => {
  const once: When = { type: 'once', at: '2026-11-17 09:00' }
  const due = at('2026-11-17T08:00:00Z')
  expect(await nextRuns(once, 'Europe/Berlin', 0, 3, 0)).toEqual([due])
  expect(await nextRuns(once, 'Europe/Berlin', due, 3, 0)).toEqual([])
  expect(await dueBetween(once, 'Europe/Berlin', due - 1, due, 0)).toBe(due)
  expect(await dueBetween(once, 'Europe/Berlin', due, due + day, 0)).toBe(null)
  expect(await dueBetween(once, 'Europe/Berlin', 0, due - 1, 0)).toBe(null)
})

test('a day that does not exist is never due', async () => {
  expect(await nextRuns(cron('0 0 31 2 *'), 'Europe/Berlin', 0, 3, 0)).toEqual([])
  expect(await dueBetween(cron('0 0 31 2 *'), 'Europe/Berlin', 0, at('2026-11-16T00:00:00Z'), 0)).toBe(null)
})

test('a job that runs every minute first runs a minute after it was found, not immediately', async () => {
  const every = { type: 'every', seconds: 60 } as const
  const known = at('2026-11-16T00:00:00Z')
  expect(await dueBetween(every, 'UTC', known - day, known + 59_999, known)).toBe(null)
  expect(await dueBetween(every, 'UTC', known - day, known + 60_000, known)).toBe(known + 60_000)
})

test('a date and a weekday in one schedule: the date alone is enough', async () => {
  const runs = await nextRuns(cron('0 0 1 * 1'), 'UTC', at('2026-02-23T00:00:00Z'), 2, 0)
  expect(runs).toEqual([at('2026-03-01T00:00:00Z'), at('2026-03-02T00:00:00Z')])
})

test('finding the due time after a year costs no more than after a day', async () => {
  const end = at('2026-11-16T00:00:30Z')
  const look = async (days: number) => {
    for (const when of [cron('* * * * *'), cron('* 0-23 * * *'), { type: 'every', seconds: 60 } as const])
      expect(await dueBetween(when, 'Europe/Berlin', end - days * day, end, end - days * day - 30_000)).toBe(
        end - 30_000,
      )
  }
  await look(1)
  const cost = async (days: number) => {
    const before = process.cpuUsage()
    for (let times = 0; times < 5; times++) await look(days)
    // CPU time is measured in ticks: less than one is no measurement.
    return Math.max(process.cpuUsage(before).user, 4000)
  }
  const ratios = [
    (await cost(365)) / (await cost(1)),
    (await cost(365)) / (await cost(1)),
    (await cost(365)) / (await cost(1)),
  ]
  expect(Math.min(...ratios)).toBeLessThan(20)
})

test('a schedule that fires every minute of a named hour does so on both sides of a change', async () => {
  const [forward, back] = [at('2026-03-29T00:00:00Z'), at('2026-10-25T00:00:00Z')]
  const minutes = async (from: number) =>
    (await inRange(cron('* 2 * * *'), 'Europe/Berlin', from - 1, from + 2 * hour)).length
  // A skipped hour: once, at the end of the gap. A repeated hour: the first time.
  expect([await minutes(forward), await minutes(back)]).toEqual([1, 60])
})

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/Santiago', 'UTC']
const field = (low: number, high: number) =>
  fc.oneof(
    fc.integer({ min: low, max: high }).map(String),
    fc.uniqueArray(fc.integer({ min: low, max: high }), { minLength: 1, maxLength: 3 }).map(list => list.join(',')),
    fc.constantFrom('*', '*/2', '*/5'),
  )

test('the next run is exactly the time that is due later', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(field(0, 59), field(0, 23), fc.constantFrom('*', '1', '*/2'), fc.constantFrom('*', '1-5')),
      fc.constantFrom(...zones),
      fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') }),
      async ([minutes, hours, days, weekdays], zone, from) => {
        const when = cron(`${minutes} ${hours} ${days} * ${weekdays}`)
        const runs = await nextRuns(when, zone, from, 4, from)
        for (const [index, run] of runs.entries()) {
          const before = runs[index - 1] ?? from
          expect(run).toBeGreaterThan(before)
          expect(await dueBetween(when, zone, before, run, from)).toBe(run)
          expect(await dueBetween(when, zone, before, run - 1, from)).toBe(null)
        }
      },
    ),
    { numRuns: 150 },
  )
})
