// Usage of turns, and settings of a conversation, on a real database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { UsageDay } from '../base/activity.ts'
import type { NewEvent } from '../base/event.ts'
import type { Signal } from '../base/signal.ts'
import { type Database, openDatabase } from './database.ts'
import { createQueueStore } from './queue-store.ts'
import { createConversationSettings } from './sessions.ts'
import { createUsage } from './usage.ts'
import { channelsToldApart } from './usage-days.ts'

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

test('turns are summed by backend and model since a time; an unknown cost is not zero', async () => {
  const usage = createUsage(db, clock)
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

test('the last turn of a lane is the last event that an agent worked on, with all its attempts', async () => {
  const usage = createUsage(db, clock)
  const queueStore = createQueueStore(db, clock)
  for (const key of ['one', 'two', 'status']) await queueStore.put('in', 'l', key, '{}', 'wait')
  usage.listen(ended({ id: 1 }))
  usage.listen(ended({ id: 2, ok: false, why: 'overloaded', usage: null }))
  now += 5
  usage.listen(ended({ id: 2, backend: 'codex', model: null }))
  usage.listen(ended({ id: 2, lane: 'hook:agent_stop:2' }))
  await db.write(() => undefined)
  expect(usage.lastOf('l')).toMatchObject({
    ms: 24,
    spent: [
      { backend: 'claude', failed: 1, costUsd: null },
      { backend: 'codex', inputTokens: 10, costUsd: 0.25 },
    ],
  })
  expect(usage.lastOf('other')).toBeNull()
})

test('spending since a time is known by source and person, including turns after the first query', async () => {
  const usage = createUsage(db, clock)
  now = 1000
  usage.listen(ended({}))
  now = 2000
  usage.listen(ended({}))
  usage.listen(ended({ source: 'cron', person: null, usage: { inputTokens: 5, outputTokens: 1, costUsd: null } }))
  await db.write(() => undefined)
  const spent = usage.spentSince(1500)
  expect([spent.usd, spent.tokens]).toEqual([0.25, 18])
  expect(spent.ofSource('cron')).toEqual({ usd: 0, tokens: 6 })
  expect(spent.ofPerson('owner')).toEqual({ usd: 0.25, tokens: 12 })
  expect([spent.ofSource('discord'), spent.ofPerson('eve')]).toEqual(Array(2).fill({ usd: 0, tokens: 0 }))
  usage.listen(ended({ person: 'eve', usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.5 } }))
  usage.listen(ended({ person: 'eve', usage: null }))
  expect(usage.spentSince(1500)).toBe(spent)
  expect([spent.usd, spent.tokens, spent.ofPerson('eve')]).toEqual([0.75, 20, { usd: 0.5, tokens: 2 }])
  await db.write(() => undefined)
  // The next day starts at zero.
  expect(usage.spentSince(3000)).toMatchObject({ usd: 0, tokens: 0 })
  expect(usage.spentSince(0)).toMatchObject({ usd: 1, tokens: 32 })
})

test('a conversation keeps its settings when it starts over, and the other way round', async () => {
  const conversations = createConversationSettings(db, clock)
  expect(conversations.choice('l')).toEqual({ backend: null, model: null })
  await conversations.choose('l', { backend: 'codex', model: 'm' })
  await conversations.startOver('l')
  expect(conversations.choice('l')).toEqual({ backend: 'codex', model: 'm' })
  await conversations.choose('l', { backend: null, model: null })
  expect(conversations.choice('l')).toEqual({ backend: null, model: null })
  expect(conversations.freshFrom('l')).toBe(0)
  expect(conversations.freshFrom('other')).toBe(0)
})

test('turns are summed by local day, channel, source and backend, latest day first', async () => {
  const usage = createUsage(db, clock)
  const hour = 3_600_000
  // A time zone that is five and three quarter hours ahead: its days begin in the middle of ours.
  const dayOf = (at: number) => new Date(at + 5.75 * hour).toISOString().slice(0, 10)
  const midnight = 18.25 * hour
  for (const at of [midnight - 1, midnight, midnight + hour]) {
    now = at
    usage.listen(ended({ firstWordMs: 100 }))
  }
  usage.listen(ended({ source: 'cron', lane: 'cron:c', ok: false, why: 'crashed', firstWordMs: null, usage: null }))
  usage.listen(ended({ firstWordMs: 400 }))
  usage.listen(ended({ lane: 'm', firstWordMs: 50 }))
  await db.write(() => undefined)
  const claude = { channel: 'l', source: 'webchat', backend: 'claude', failed: 0 }
  const second = { day: '1970-01-02', ...claude }
  const { days, names } = await usage.byDay(0, dayOf)
  expect(days).toEqual([
    { ...second, turns: 3, inputTokens: 30, outputTokens: 6, costUsd: 0.75, spoke: 3, firstWordMs: 200 },
    {
      ...{ ...second, channel: 'cron:c', source: 'cron', turns: 1, failed: 1, inputTokens: 0, outputTokens: 0 },
      ...{ costUsd: null, spoke: 0, firstWordMs: null },
    },
    { ...second, channel: 'm', turns: 1, inputTokens: 10, outputTokens: 2, costUsd: 0.25, spoke: 1, firstWordMs: 50 },
    {
      ...{ day: '1970-01-01', ...claude, turns: 1, inputTokens: 10, outputTokens: 2, costUsd: 0.25 },
      ...{ spoke: 1, firstWordMs: 100 },
    },
  ])
  expect(names).toEqual({})
  const later = await usage.byDay(midnight, dayOf)
  expect(later.days.map(({ day }) => day)).toEqual(Array(3).fill('1970-01-02'))
})

const oneDay = () => 'today'

test('the busiest channels are listed, the others combined; nothing is counted twice or left out', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someTurn, { minLength: 20, maxLength: 80 }), async turns => {
      await db.write(() => db.prepare('DELETE FROM turns').run())
      const usage = createUsage(db, clock)
      for (const { lane, backend, words } of turns)
        usage.listen(ended({ lane, backend, firstWordMs: words, usage: words === null ? null : spent }))
      await db.write(() => undefined)
      const { days } = await usage.byDay(0, oneDay)
      const channels = new Set(days.flatMap(({ channel }) => channel ?? []))
      expect(channels.size).toBeLessThanOrEqual(channelsToldApart)
      const all = (pick: (day: UsageDay) => number) => days.reduce((sum, day) => sum + pick(day), 0)
      const spoke = turns.flatMap(({ words }) => words ?? [])
      expect(all(day => day.turns)).toBe(turns.length)
      expect(all(day => day.spoke)).toBe(spoke.length)
      expect(all(day => day.inputTokens)).toBe(spoke.length * spent.inputTokens)
      expect(all(day => day.costUsd ?? 0)).toBeCloseTo(spoke.length * spent.costUsd)
      // The mean over days, weighted by turns with output, is the overall mean, except for rounding.
      const sum = spoke.reduce((a, b) => a + b, 0)
      expect(Math.abs(all(day => (day.firstWordMs ?? 0) * day.spoke) - sum)).toBeLessThanOrEqual(spoke.length / 2)
      // None of the combined channels has more turns than a listed one.
      const turnsOf = (channel: string) => turns.filter(({ lane }) => lane === channel).length
      const least = Math.min(...[...channels].map(turnsOf))
      for (const { lane } of turns) if (!channels.has(lane)) expect(turnsOf(lane)).toBeLessThanOrEqual(least)
    }),
    { numRuns: 100 },
  )
})

const spent = { inputTokens: 10, outputTokens: 2, costUsd: 0.25 }
const someTurn = fc.record({
  lane: fc.integer({ min: 0, max: 20 }).map(n => `discord:${n}`),
  backend: fc.constantFrom('claude', 'codex'),
  words: fc.option(fc.integer({ min: 0, max: 5000 })),
})

test('all sub-agents are one channel, and a channel has the name that people gave it', async () => {
  const usage = createUsage(db, clock)
  const where = '#general of Our Server'
  const sender = { chat: 'discord', user: '7', roles: [], channel: '1', guild: '9', where }
  const said = (lane: string, event: Partial<NewEvent>) =>
    db
      .prepare(`INSERT INTO items (queue, lane, key, state, body, at) VALUES ('in', ?, ?, 'done', ?, 1)`)
      .run(lane, `${lane} ${Math.random()}`, JSON.stringify(event))
  const what = { kind: 'message', id: '1', text: '', author: { id: '7', name: 'Ada', owner: true } } as const
  said('discord:1', { what, sender: { ...sender, where: '#old of Our Server' } })
  said('discord:1', { what, sender })
  said('discord:1', { what: { kind: 'report', agent: 'x', name: 'x', text: '', ok: true } })
  said('discord:2', { what, sender: { ...sender, guild: null, where: 'a direct message' } })
  said('webchat:home', { what })
  for (const lane of ['discord:1', 'discord:2', 'webchat:home', 'agent:a1', 'agent:b2']) usage.listen(ended({ lane }))
  await db.write(() => undefined)
  const { days, names } = await usage.byDay(0, oneDay)
  expect(days.find(({ channel }) => channel === 'agent')).toMatchObject({ turns: 2, firstWordMs: 3, costUsd: 0.5 })
  expect(days).toHaveLength(4)
  expect(names).toEqual({ 'discord:1': where, 'discord:2': 'direct messages with Ada' })
})
