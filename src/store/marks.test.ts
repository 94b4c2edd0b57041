// What is remembered of jobs.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { openMarks } from './marks.ts'

const dirs: string[] = []
afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true })
})

async function setup() {
  const dir = await mkdtemp(join(tmpdir(), 'aetheel-marks-'))
  dirs.push(dir)
  const time = { now: 1_000_000_000 }
  const clock = { now: () => time.now, sleep: async () => undefined }
  const open = () => {
    const db = openDatabase(join(dir, 'a.db'))
    return { ...openMarks(db, clock), close: db.close }
  }
  return { time, open }
}

test('a job is known since it was first seen, also after a restart', async () => {
  const { time, open } = await setup()
  const first = open()
  const mark = await first.know('cron', 'a', 'daily')
  expect(mark).toEqual({ schedule: 'daily', since: time.now, due: null, fired: null, checked: null })
  await first.note('cron', 'a', { due: time.now + 5, fired: time.now + 6, checked: 'x' })
  await first.close()
  time.now += 60_000
  const again = open()
  expect(await again.know('cron', 'a', 'daily')).toEqual({
    ...mark,
    ...{ due: mark.since + 5, fired: mark.since + 6, checked: 'x' },
  })
  expect(await again.know('heartbeat', 'a', 'daily')).toMatchObject({ since: time.now, fired: null })
  await again.close()
})

test('another schedule begins anew, and what fired stays told', async () => {
  const { time, open } = await setup()
  const marks = open()
  const { since } = await marks.know('cron', 'a', 'daily')
  await marks.note('cron', 'a', { due: since + 1, fired: since + 2, checked: 'x' })
  time.now += 60_000
  const anew = { schedule: 'weekly', since: time.now, due: since + 1, fired: since + 2, checked: 'x' }
  expect(await marks.know('cron', 'a', 'weekly')).toEqual(anew)
  expect(await marks.know('cron', 'a', 'weekly')).toEqual(anew)
  await marks.close()
})

test('a due time never goes back, and what is not named stays', async () => {
  const { open } = await setup()
  const marks = open()
  await marks.know('cron', 'a', 'daily')
  await marks.note('cron', 'a', { due: 20, checked: 'x' })
  await marks.note('cron', 'a', { due: 10 })
  await marks.note('cron', 'a', { fired: 30 })
  expect(await marks.know('cron', 'a', 'daily')).toMatchObject({ due: 20, fired: 30, checked: 'x' })
  await marks.close()
})

test('a clock that was far ahead does not silence a job; one that is put back a little changes nothing', async () => {
  const { time, open } = await setup()
  const marks = open()
  const { since } = await marks.know('cron', 'a', 'daily')
  await marks.note('cron', 'a', { due: since + 10 })
  time.now -= 3_600_000
  expect(await marks.know('cron', 'a', 'daily')).toMatchObject({ since, due: since + 10 })
  time.now -= 48 * 3_600_000
  expect(await marks.know('cron', 'a', 'daily')).toMatchObject({ since: time.now, due: null })
  await marks.close()
})

test('what is no job any more is forgotten', async () => {
  const { time, open } = await setup()
  const marks = open()
  const { since } = await marks.know('cron', 'a', 'daily')
  await marks.know('cron', 'b', 'daily')
  await marks.know('heartbeat', 'a', 'daily')
  await marks.forgetOthers([{ kind: 'cron', name: 'a' }])
  time.now += 1
  expect(await marks.know('cron', 'a', 'daily')).toMatchObject({ since })
  expect(await marks.know('cron', 'b', 'daily')).toMatchObject({ since: since + 1 })
  expect(await marks.know('heartbeat', 'a', 'daily')).toMatchObject({ since: since + 1 })
  await marks.close()
})
