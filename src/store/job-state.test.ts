// The stored state of jobs.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { createJobStates } from './job-state.ts'

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
    return { ...createJobStates(db, clock), close: db.close }
  }
  return { time, open }
}

test('a job keeps the time it was first seen, also after a restart', async () => {
  const { time, open } = await setup()
  const first = open()
  const mark = await first.know('cron', 'a', 'daily')
  expect(mark).toEqual({ schedule: 'daily', since: time.now, due: null, fired: null, checked: null, aheadMs: 0 })
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

test('another schedule resets the state, but keeps when the job last fired', async () => {
  const { time, open } = await setup()
  const states = open()
  const { since } = await states.know('cron', 'a', 'daily')
  await states.note('cron', 'a', { due: since + 1, fired: since + 2, checked: 'x' })
  time.now += 60_000
  const anew = { schedule: 'weekly', since: time.now, due: since + 1, fired: since + 2, checked: 'x', aheadMs: 0 }
  expect(await states.know('cron', 'a', 'weekly')).toEqual(anew)
  expect(await states.know('cron', 'a', 'weekly')).toEqual(anew)
  await states.close()
})

test('a due time never moves back, and fields that are not given stay', async () => {
  const { open } = await setup()
  const states = open()
  await states.know('cron', 'a', 'daily')
  await states.note('cron', 'a', { due: 20, checked: 'x' })
  await states.note('cron', 'a', { due: 10 })
  await states.note('cron', 'a', { fired: 30 })
  expect(await states.know('cron', 'a', 'daily')).toMatchObject({ due: 20, fired: 30, checked: 'x' })
  await states.close()
})

test('state from a clock that was ahead is corrected; a small clock adjustment changes nothing', async () => {
  const { time, open } = await setup()
  const states = open()
  const { since } = await states.know('cron', 'a', 'daily')
  await states.note('cron', 'a', { due: since + 10 })
  time.now -= 30_000
  expect(await states.know('cron', 'a', 'daily')).toMatchObject({ since, due: since + 10, aheadMs: 0 })
  time.now -= 48 * 3_600_000
  const right = { since: time.now, due: time.now }
  expect(await states.know('cron', 'a', 'daily')).toMatchObject({ ...right, aheadMs: 48 * 3_600_000 + 30_010 })
  expect(await states.know('cron', 'a', 'daily')).toMatchObject({ ...right, aheadMs: 0 })
  // The grid of the job stays where it was.
  time.now += 3_600_000
  await states.note('cron', 'a', { due: time.now, fired: time.now })
  time.now -= 1_800_000
  expect(await states.know('cron', 'a', 'daily')).toMatchObject({ since: right.since, due: time.now, fired: time.now })
  await states.close()
})

test('the state of removed jobs is deleted', async () => {
  const { time, open } = await setup()
  const states = open()
  const { since } = await states.know('cron', 'a', 'daily')
  await states.know('cron', 'b', 'daily')
  await states.know('heartbeat', 'a', 'daily')
  await states.forgetOthers([{ kind: 'cron', name: 'a' }])
  time.now += 1
  expect(await states.know('cron', 'a', 'daily')).toMatchObject({ since })
  expect(await states.know('cron', 'b', 'daily')).toMatchObject({ since: since + 1 })
  expect(await states.know('heartbeat', 'a', 'daily')).toMatchObject({ since: since + 1 })
  await states.close()
})
