// Listing and clearing sessions, on a real database.
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Database, openDatabase } from './database.ts'
import { createQueueStore } from './queue-store.ts'
import {
  type ConversationSettings,
  createConversationSettings,
  createSessionsAdmin,
  openSessions,
  type SessionStore,
} from './sessions.ts'

const day = 86_400_000
let now = 0
const clock = { now: () => now, sleep: async () => undefined }
let db: Database
let sessions: SessionStore
let conversations: ConversationSettings

beforeEach(() => {
  now = 1000 * day
  db = openDatabase(':memory:')
  sessions = openSessions(db, clock, () => undefined)
  conversations = createConversationSettings(db, clock)
})
afterEach(() => db.close())

const admin = () => createSessionsAdmin(sessions, conversations, clock)
const list = async (most = 100, after?: string) => (await admin().list(most, after)) ?? expect.fail('no such page')
const lanes = async () => [...new Set((await list()).sessions.map(({ lane }) => lane))].sort()

async function used(lane: string, daysAgo: number, backend = 'claude'): Promise<void> {
  now -= daysAgo * day
  await sessions.remember(lane, backend, `${backend} of ${lane}`, true)
  now += daysAgo * day
}

test('the list has one line per backend, most recently used first, with the number of unanswered messages', async () => {
  await used('webchat:a', 3)
  await used('discord:7', 1, 'codex')
  await used('webchat:a', 2, 'codex')
  const queueStore = createQueueStore(db, clock)
  await queueStore.put('in', 'discord:7', 'k1', '{}', 'start')
  await queueStore.put('in', 'discord:7', 'k2', '{}', 'wait')
  await queueStore.put('out', 'webchat:a', 'k3', '{}', 'wait')
  const at = (daysAgo: number) => now - daysAgo * day
  expect((await list()).sessions).toEqual([
    { lane: 'discord:7', backend: 'codex', session: 'codex of discord:7', updatedAt: at(1), unanswered: 2 },
    { lane: 'webchat:a', backend: 'codex', session: 'codex of webchat:a', updatedAt: at(2), unanswered: 0 },
    { lane: 'webchat:a', backend: 'claude', session: 'claude of webchat:a', updatedAt: at(3), unanswered: 0 },
  ])
})

test('paging returns every session once and in order, even if many were used at the same time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ lane: fc.nat(9), backend: fc.nat(2), daysAgo: fc.nat(2) }), { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      async (all, most) => {
        await admin().clear('all')
        for (const { lane, backend, daysAgo } of all) await used(`webchat:${lane}`, daysAgo, `backend${backend}`)
        const { sessions: whole, conversations: count, next: end } = await list(100)
        expect(end).toBeNull()
        expect(count).toBe(new Set(whole.map(({ lane }) => lane)).size)
        const found: unknown[] = []
        let after: string | undefined
        do {
          const { sessions: some, next } = await list(most, after)
          expect(some.length).toBe(Math.min(most, whole.length - found.length))
          found.push(...some)
          after = next ?? undefined
        } while (after !== undefined)
        expect(found).toEqual(whole)
      },
    ),
    { numRuns: 100 },
  )
  for (const nonsense of ['x', 'WzFd', Buffer.from('{}').toString('base64url'), ''])
    expect(await admin().list(10, nonsense)).toBeNull()
})

test('a conversation is named by its lane, or by the part after the colon if that is unique', async () => {
  for (const lane of ['webchat:a', 'webchat:b', 'discord:b', 'cron:webchat:a']) await used(lane, 0)
  expect(await admin().clear('b')).toEqual({
    ok: false,
    why: '2 conversations have that name: discord:b, webchat:b. Use the full name.',
  })
  expect(await admin().clear('c')).toMatchObject({ ok: false, why: expect.stringContaining('No such conversation') })
  expect(await lanes()).toHaveLength(4)
  expect(await admin().clear('webchat:a')).toEqual({ ok: true, lanes: ['webchat:a'] })
  expect(await admin().clear('a')).toMatchObject({ ok: false })
  expect(await admin().clear('discord:b')).toEqual({ ok: true, lanes: ['discord:b'] })
  expect(await admin().clear('b')).toEqual({ ok: true, lanes: ['webchat:b'] })
  expect(await lanes()).toEqual(['cron:webchat:a'])
})

test('a cleared conversation starts over: no earlier messages are passed on', async () => {
  const stored = await createQueueStore(db, clock).put('in', 'webchat:a', 'k', '{}', 'wait')
  await used('webchat:a', 0)
  await used('webchat:a', 0, 'codex')
  expect(conversations.freshFrom('webchat:a')).toBe(0)
  await admin().clear('all')
  expect(await sessions.find('webchat:a', 'codex')).toBeNull()
  expect(conversations.freshFrom('webchat:a')).toBe(
    stored.type === 'stored' ? stored.row.id : expect.fail('not stored'),
  )
})

test('a session is stale after 30 days without use and with nothing waiting; the others stay', async () => {
  const conversation = fc.record({
    daysAgo: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 3 }),
    waits: fc.boolean(),
  })
  const queueStore = createQueueStore(db, clock)
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(conversation, { maxLength: 4 }), async all => {
      await admin().clear('all')
      round += 1
      for (const [i, { daysAgo, waits }] of all.entries()) {
        for (const [n, days] of daysAgo.entries()) await used(`webchat:${round}-${i}`, days, `backend${n}`)
        if (waits) await queueStore.put('in', `webchat:${round}-${i}`, `${round}-${i}`, '{}', 'wait')
      }
      const stays = all.flatMap(({ daysAgo, waits }, i) =>
        waits || Math.min(...daysAgo) <= 30 ? [`webchat:${round}-${i}`] : [],
      )
      const cleared = await admin().clear('stale')
      expect(await lanes()).toEqual(stays.sort())
      expect(cleared.ok && cleared.lanes.length).toBe(all.length - stays.length)
    }),
    { numRuns: 100 },
  )
})
