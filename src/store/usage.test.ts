// What turns took, and what was settled for a conversation, on a real database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Signal } from '../base/signal.ts'
import { openConversations } from './conversations.ts'
import { type Database, openDatabase } from './database.ts'
import { openUsage } from './usage.ts'

let dir: string
let db: Database
let now = 1000
const clock = { now: () => now, sleep: async () => undefined }

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-usage-'))
  db = openDatabase(join(dir, 'test.db'))
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const ended = (given: Partial<Extract<Signal, { type: 'turn-ended' }>>): Signal => ({
  ...{ type: 'turn-ended', id: 1, lane: 'l', source: 'webchat', kind: 'message', person: 'owner' },
  ...{ backend: 'claude', model: 'opus', ms: 12.4, firstWordMs: 3.2, ok: true, why: null, detail: '' },
  usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.25 },
  ...given,
})

test('turns are summed by backend and model since a time; a cost that nobody told is not zero', async () => {
  const usage = openUsage(db, clock)
  usage.listen(ended({}))
  now = 2000
  usage.listen(ended({}))
  usage.listen(ended({ ok: false, why: 'crashed', usage: null }))
  usage.listen(ended({ backend: 'codex', model: null, usage: { inputTokens: 5, outputTokens: 1, costUsd: null } }))
  await db.write(() => undefined)
  expect(usage.since(0)).toEqual([
    { backend: 'claude', model: 'opus', turns: 3, failed: 1, inputTokens: 20, outputTokens: 4, costUsd: 0.5 },
    { backend: 'codex', model: null, turns: 1, failed: 0, inputTokens: 5, outputTokens: 1, costUsd: null },
  ])
  expect(usage.since(1500)[0]).toMatchObject({ turns: 2, costUsd: 0.25 })
  await usage.forgetBefore(1500)
  expect(usage.since(0)[0]).toMatchObject({ turns: 2 })
})

test('a conversation keeps its choice when it begins anew, and the other way round', async () => {
  const conversations = openConversations(db, clock)
  expect(conversations.choice('l')).toEqual({ backend: null, model: null })
  await conversations.choose('l', { backend: 'codex', model: 'm' })
  await conversations.beginAnew('l')
  expect(conversations.choice('l')).toEqual({ backend: 'codex', model: 'm' })
  await conversations.choose('l', { backend: null, model: null })
  expect(conversations.choice('l')).toEqual({ backend: null, model: null })
  expect(conversations.freshFrom('l')).toBe(0)
  expect(conversations.freshFrom('other')).toBe(0)
})

test('turns are summed by the days on the wall, by source and backend; the latest day comes first', async () => {
  const usage = openUsage(db, clock)
  const hour = 3_600_000
  // A wall that is five and three quarter hours ahead: its days begin in the middle of ours.
  const dayOf = (at: number) => new Date(at + 5.75 * hour).toISOString().slice(0, 10)
  const midnight = 18.25 * hour
  for (const at of [midnight - 1, midnight, midnight + hour]) {
    now = at
    usage.listen(ended({ firstWordMs: 100 }))
  }
  usage.listen(ended({ source: 'cron', ok: false, why: 'crashed', firstWordMs: null, usage: null }))
  usage.listen(ended({ firstWordMs: 400 }))
  await db.write(() => undefined)
  const claude = { source: 'webchat', backend: 'claude', failed: 0 }
  expect(await usage.byDay(0, dayOf)).toEqual([
    { day: '1970-01-02', ...claude, turns: 3, inputTokens: 30, outputTokens: 6, costUsd: 0.75, firstWordMs: 200 },
    {
      ...{ day: '1970-01-02', ...claude, source: 'cron', turns: 1, failed: 1 },
      ...{ inputTokens: 0, outputTokens: 0, costUsd: null, firstWordMs: null },
    },
    { day: '1970-01-01', ...claude, turns: 1, inputTokens: 10, outputTokens: 2, costUsd: 0.25, firstWordMs: 100 },
  ])
  expect((await usage.byDay(midnight, dayOf)).map(({ day }) => day)).toEqual(['1970-01-02', '1970-01-02'])
})
