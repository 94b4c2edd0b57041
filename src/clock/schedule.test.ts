// The grammar of schedules: what phrases mean, what is refused, and that printing and parsing round-trip.
import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { When } from '../base/jobs.ts'
import { readSchedule, wordsFor } from './schedule.ts'

const every = (seconds: number): When => ({ type: 'every', seconds })
const cron = (expression: string): When => ({ type: 'cron', expression })
const once = (at: string): When => ({ type: 'once', at })

async function why(text: string): Promise<string> {
  const read = await readSchedule(text)
  return read.ok ? `understood as ${wordsFor(read.when)}` : read.why
}

test.each<[string, When]>([
  ['every 30 minutes', every(1800)],
  ['Every 2 Hours', every(7200)],
  ['every 90 seconds', every(90)],
  ['every 3 days', every(259_200)],
  ['every hour', every(3600)],
  ['every day', every(86_400)],
  ['every minute', every(60)],
  ['every 60 minutes:', every(3600)],
  ['Every morning (9:00 AM)', cron('0 9 * * *')],
  ['every evening (6:00 PM)', cron('0 18 * * *')],
  ['every evening at 18:45', cron('45 18 * * *')],
  ['every night at 2:30', cron('30 2 * * *')],
  ['every day at 18:30', cron('30 18 * * *')],
  ['every day at 12 AM', cron('0 0 * * *')],
  ['every day at 12:05 pm', cron('5 12 * * *')],
  ['every day at 9 a.m.', cron('0 9 * * *')],
  ['every day at noon', cron('0 12 * * *')],
  ['every day at midnight', cron('0 0 * * *')],
  ['every weekday at 9', cron('0 9 * * 1-5')],
  ['every weekend at 10:00', cron('0 10 * * 0,6')],
  ['  EVERY   monday AT 8:00 ', cron('0 8 * * 1')],
  ['every Sunday (8pm)', cron('0 20 * * 0')],
  ['every Monday and Thursday at 8:00 PM', cron('0 20 * * 1,4')],
  ['every Thu, Mon, and Tue at 8', cron('0 8 * * 1,2,4')],
  ['every month on the 1st at 9:00', cron('0 9 1 * *')],
  ['every month on the last day at 9:00', cron('0 9 L * *')],
  ['every hour at :15', cron('15 * * * *')],
  ['at 2026-11-17 09:00', once('2026-11-17 09:00')],
  ['at 2026-11-17 9:00 pm', once('2026-11-17 21:00')],
  ['2028-02-29T00:00', once('2028-02-29 00:00')],
  ['0 9 * * 1', cron('0 9 * * 1')],
  [' */15  8-18 * * mon-fri ', cron('*/15 8-18 * * mon-fri')],
  ['@daily', cron('0 0 * * *')],
  ['@Weekly', cron('0 0 * * 0')],
])('%s', async (text, when) => {
  expect(await readSchedule(text)).toEqual({ ok: true, when })
})

describe('refused, with a hint', () => {
  test.each([
    ['every morning', 'every morning (9:00 AM)'],
    ['every evening', 'every evening (6:00 PM)'],
    ['every Monday', 'every monday at 9:00'],
    ['every weekday', 'every weekday at 9:00'],
    ['every month', 'every month on the 1st at 9:00'],
    ['every month on the 3rd', 'every month on the 3rd at 9:00'],
    ['every evening at 6:00', 'every evening (6:00 PM)'],
    ['every morning (6:00 PM)', 'every day at 18:00'],
    ['every month on the 31st at 9:00', 'last day'],
    ['every day at 13 PM', '18:30'],
    ['every day at 0 AM', '18:30'],
    ['every day at 24:00', '18:30'],
    ['every day at 9:60', '18:30'],
    ['every hour at :60', 'no minute 60'],
    ['every 59 seconds', 'the minimum interval is 60 seconds'],
    ['every 0 minutes', 'the minimum interval is 60 seconds'],
    ['every 400 days', '366 days'],
    ['at 2026-02-30 09:00', 'at 2026-11-17 09:00'],
    ['at 2026-13-01 09:00', 'at 2026-11-17 09:00'],
    ['@reboot', '@daily'],
    ['0 9 31 2 *', 'never occurs'],
    ['61 * * * *', '0 9 * * 1'],
    ['0 9 * * 8', '0 9 * * 1'],
    ['0 0 9 * * *', 'five fields'],
    ['* * * *', 'five fields'],
    ['every constructor at 9:00', 'every 30 minutes'],
    ['every __proto__', 'every 30 minutes'],
    ['every day at 9:00 and 18:00', 'every 30 minutes'],
    ['tomorrow', 'every Monday at 8:00'],
    ['', 'every Monday at 8:00'],
  ])('%s', async (text, hint) => {
    expect(await why(text)).toContain(hint)
    expect(await why(text)).not.toContain('understood')
  })

  test('the examples of the hint are themselves understood', async () => {
    const examples = [...(await why('whenever')).matchAll(/"([^"]+)"/g)].slice(1).map(([, example]) => example ?? '')
    expect(examples.length).toBeGreaterThan(2)
    for (const example of examples) expect(await readSchedule(example)).toMatchObject({ ok: true })
  })
})

const number = (min: number, max: number) => fc.integer({ min, max }).map(String)
const field = (min: number, max: number) =>
  fc.oneof(
    fc.constant('*'),
    number(min, max),
    fc.array(number(min, max), { minLength: 1, maxLength: 3 }).map(all => all.join(',')),
    fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
  )
const expressions = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7))
  .map(all => all.join(' '))
const simple = fc
  .tuple(
    number(0, 59),
    number(0, 23),
    fc.oneof(fc.constant('*'), fc.constant('L'), number(1, 31)),
    fc.constantFrom('*', '1-5', '0,6', '1,4', '7', '4,1', '2'),
  )
  .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`)
const whens = fc.oneof(
  fc.integer({ min: 60, max: 366 * 86_400 }).map(every),
  fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.constantFrom(60, 3600)).map(([count, unit]) => every(count * unit)),
  expressions.map(cron),
  simple.map(cron),
  fc
    .date({ min: new Date('2000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map(at => once(at.toISOString().slice(0, 16).replace('T', ' '))),
)

test('a schedule is read back from its words', async () => {
  await fc.assert(
    fc.asyncProperty(whens, async when => {
      expect(await readSchedule(wordsFor(when))).toEqual({ ok: true, when })
      const loud = wordsFor(when).toUpperCase().replaceAll(' ', '  ')
      expect(await readSchedule(` ${loud} `)).toEqual({ ok: true, when })
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['0 8 * * 1', 'every Monday at 08:00'],
  ['0 10 * * 0,6', 'every Saturday and Sunday at 10:00'],
  ['5 18 * * 0,1,3', 'every Monday, Wednesday and Sunday at 18:05'],
  ['0 9 11 * *', 'every month on the 11th at 09:00'],
  ['0 9 12 * *', 'every month on the 12th at 09:00'],
  ['0 9 22 * *', 'every month on the 22nd at 09:00'],
  ['0 9 23 * *', 'every month on the 23rd at 09:00'],
  // A phrase would promise a day that some months lack, or only one day of a list.
  ['0 9 31 * *', '0 9 31 * *'],
  ['0 9 1 * 1', '0 9 1 * 1'],
  ['0 9 * 2 *', '0 9 * 2 *'],
])('%s is shown as %s', (expression, words) => {
  expect(wordsFor(cron(expression))).toBe(words)
})

test('words for days and hours mean the runs that the expression has', async () => {
  const names = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 59 }),
      fc.subarray(names, { minLength: 1 }),
      async (hour, minute, chosen) => {
        const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${String(minute).padStart(2, '0')} ${hour < 12 ? 'AM' : 'PM'}`
        const read = await readSchedule(`every ${chosen.join(' and ')} at ${clock}`)
        expect(read.ok && read.when.type).toBe('cron')
        if (!read.ok || read.when.type !== 'cron') return
        const cron = new Cron(read.when.expression, { paused: true, timezone: 'UTC' })
        const runs = cron.nextRuns(chosen.length, '2026-03-01T23:59:59')
        expect(new Set(runs.map(run => names[run.getUTCDay()]))).toEqual(new Set(chosen))
        for (const run of runs) expect([run.getUTCHours(), run.getUTCMinutes()]).toEqual([hour, minute])
      },
    ),
  )
})

test('whatever is written, it is understood or refused in one line, and never throws', async () => {
  const words = [
    'every',
    'at',
    'on',
    '9',
    '9:00',
    'am',
    'monday',
    'and',
    '*',
    '*/5',
    '1-5',
    '@daily',
    '(',
    ')',
    '2026-11-17',
    '\u202e',
    '\u0000',
    'day',
    'L',
    '#',
    '٣',
  ]
  const soup = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'grapheme', maxLength: 5 })), {
    maxLength: 9,
  })
  await fc.assert(
    fc.asyncProperty(soup, async parts => {
      const read = await readSchedule(parts.join(' '))
      if (read.ok) expect(await readSchedule(wordsFor(read.when))).toEqual(read)
      else expect(read.why).toMatch(/^[^\p{Cc}\u202e]+$/u)
    }),
    { numRuns: 2000 },
  )
  for (const piece of ['every ', ' ', 'monday and ', '1,', '*/', '9:']) {
    expect(await readSchedule(piece.repeat(100_000))).toMatchObject({ ok: false })
  }
})
