// The activity list, in memory and in its file.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ActivityEntry } from '../base/activity.ts'
import type { Signal } from '../base/signal.ts'
import { createActivity, mostInFile, mostInMemory } from './activity.ts'

let dir: string
let path: string
let now: number
let troubles: unknown[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-activity-'))
  path = join(dir, 'activity-log.json')
  now = 1000
  troubles = []
})
afterEach(() => rmSync(dir, { recursive: true }))

const open = () =>
  createActivity({
    path,
    now: () => now,
    eventOf: delivery => (delivery === 9 ? 4 : null),
    failed: error => void troubles.push(error),
  })
const accepted = (id: number): Signal => ({
  ...{ type: 'event-accepted', id, source: 'webchat', lane: 'webchat:home', kind: 'message' },
})
const ended: Signal = {
  ...{ type: 'turn-ended', id: 4, lane: 'webchat:home', source: 'webchat', kind: 'message', person: 'p' },
  ...{ backend: 'claude', model: null, ms: 2100, firstWordMs: 5, ok: true, why: null, detail: '', usage: null },
}
const inFile = () => JSON.parse(readFileSync(path, 'utf8')) as ActivityEntry[]

test('each signal becomes one plain sentence, with the event it is about', () => {
  const activity = open()
  const heard: ActivityEntry[] = []
  const leave = activity.follow(entry => void heard.push(entry))
  activity.listen(accepted(4))
  activity.listen({ ...ended })
  activity.listen({ ...ended, ok: false, why: 'crashed', detail: 'secret words of the prompt' })
  activity.listen({ ...ended, ok: false, why: 'stopped', ms: 125_000 })
  activity.listen({ type: 'event-refused', source: 'webchat', lane: 'webchat:home', why: 'busy', depth: 3 })
  activity.listen({ type: 'delivery-sent', id: 9, place: { chat: 'webchat', conversation: 'home' }, length: 12 })
  leave()
  activity.listen(accepted(5))
  expect(heard.map(({ level, event, lane, text }) => [level, event, lane, text])).toEqual([
    ['info', 4, 'webchat:home', 'message accepted (webchat:home)'],
    ['info', 4, 'webchat:home', 'claude answered in 2.1 s (webchat:home)'],
    ['warn', 4, 'webchat:home', 'claude failed (crashed) after 2.1 s (webchat:home)'],
    ['info', 4, 'webchat:home', 'claude was stopped after 2 min 5 s (webchat:home)'],
    ['warn', null, 'webchat:home', 'refused: busy (webchat:home)'],
    ['info', 4, 'webchat:home', 'sent 12 characters (webchat:home)'],
  ])
})

test('prompts and tool labels never appear in the list', async () => {
  const activity = open()
  const words = { id: 4, lane: 'l' }
  activity.listen({
    ...{ type: 'turn-asked', ...words, backend: 'claude', model: null },
    ...{ prompt: 'my secret', system: 'my secret' },
  })
  activity.listen({ type: 'turn-acted', action: 'use-1', ...words, label: 'grep my secret', phase: 'started' })
  activity.listen({ type: 'turn-acted', action: 'use-1', ...words, label: 'grep my secret', phase: 'ended' })
  await activity.flush()
  expect(inFile().map(({ text }) => text)).toEqual(['a tool is used (l)'])
  expect(readFileSync(path, 'utf8')).not.toContain('secret')
})

test('memory holds the newest 200, the file the newest 2000, and paging goes through both', async () => {
  const first = open()
  for (let i = 0; i < 1900; i++) first.listen(accepted(i))
  await first.flush()
  for (let i = 1900; i < 2100; i++) first.listen(accepted(i))
  expect(first.after(0)).toHaveLength(mostInMemory)
  const last = first.after(0).at(-1)?.id ?? 0
  expect(first.after(last - 3).map(({ event }) => event)).toEqual([2097, 2098, 2099])
  const seen: number[] = []
  for (let before: number | null = null; ; ) {
    const page: readonly ActivityEntry[] = await first.list(before, 150)
    if (page.length === 0) break
    seen.push(...page.map(({ event }) => event ?? -1))
    before = page.at(-1)?.id ?? 0
  }
  expect(seen).toEqual(Array.from({ length: 2100 }, (_, i) => 2099 - i))
  await first.flush()
  expect(inFile()).toHaveLength(mostInFile)
  expect(inFile().at(-1)?.event).toBe(2099)
})

test('ids increase across restarts, also after a kill and with a clock that was set back', async () => {
  const first = open()
  first.listen(accepted(1))
  await first.flush()
  now = 500
  const second = open()
  second.listen(accepted(2))
  const id = second.after(0)[0]?.id ?? 0
  expect(id).toBe((inFile()[0]?.id ?? 0) + 1)
  // Killed before it was written; some time passes.
  now = 5000
  const third = open()
  third.listen(accepted(3))
  expect(third.after(0)[0]?.id).toBeGreaterThan(id)
  await third.flush()
  expect((await open().list(null, 10)).map(({ event }) => event)).toEqual([3, 1])
})

test.each(['', '{', '[{"id":"x"}, 7, null]', '\0\0\0\0', '{"id":7}'])(
  'a broken file (%j) stops nothing',
  async broken => {
    writeFileSync(path, broken)
    const activity = open()
    expect(await activity.list(null, 10)).toEqual([])
    activity.listen(accepted(1))
    await activity.flush()
    expect(inFile().map(({ event }) => event)).toEqual([1])
  },
)

test('an edit of the file between two writes is kept', async () => {
  const activity = open()
  activity.listen(accepted(1))
  activity.listen(accepted(2))
  await activity.flush()
  writeFileSync(path, JSON.stringify(inFile().slice(1), null, 2))
  activity.listen(accepted(3))
  await activity.flush()
  expect(inFile().map(({ event }) => event)).toEqual([2, 3])
})

test('a damaged file is renamed and its intact lines are kept; so is a file of garbage', async () => {
  const activity = open()
  for (const id of [1, 2, 3]) activity.listen(accepted(id))
  await activity.flush()
  const torn = readFileSync(path, 'utf8').replace('"event":2', '"ev\0')
  writeFileSync(path, torn)
  activity.listen(accepted(4))
  await activity.flush()
  expect(inFile().map(({ event }) => event)).toEqual([1, 3, 4])
  expect(readFileSync(`${path}.damaged`, 'utf8')).toBe(torn)
  expect(String(troubles)).toContain('renamed to activity-log.json.damaged')
  writeFileSync(path, '\0'.repeat(1_000_000))
  expect((await open().list(null, 10)).length).toBe(0)
  activity.listen(accepted(5))
  await activity.flush()
  expect(inFile().map(({ event }) => event)).toEqual([5])
  expect(readFileSync(`${path}.damaged`).length).toBe(1_000_000)
  expect(troubles).toHaveLength(2)
})

test('a failing disk is reported once, and nothing is lost when it works again', async () => {
  mkdirSync(path)
  const activity = open()
  for (const id of [1, 2]) {
    activity.listen(accepted(id))
    await activity.flush()
  }
  expect(troubles).toHaveLength(1)
  rmSync(path, { recursive: true })
  activity.listen(accepted(3))
  await activity.flush()
  expect(inFile().map(({ event }) => event)).toEqual([1, 2, 3])
})
