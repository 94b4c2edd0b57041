// What the owner sees of the sessions, and what is left of those they end; on a real database.
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Conversations, openConversations } from './conversations.ts'
import { type Database, openDatabase } from './database.ts'
import { openSessions, type SessionStore } from './sessions.ts'
import { openSessionsDesk } from './sessions-desk.ts'
import { openShelf } from './shelf.ts'

const day = 86_400_000
let now = 0
const clock = { now: () => now, sleep: async () => undefined }
let db: Database
let sessions: SessionStore
let conversations: Conversations

beforeEach(() => {
  now = 1000 * day
  db = openDatabase(':memory:')
  sessions = openSessions(db, clock, () => undefined)
  conversations = openConversations(db, clock)
})
afterEach(() => db.close())

const desk = () => openSessionsDesk(sessions, conversations, clock)
const lanes = async () => [...new Set((await desk().list()).map(({ lane }) => lane))].sort()

async function used(lane: string, daysAgo: number, backend = 'claude'): Promise<void> {
  now -= daysAgo * day
  await sessions.remember(lane, backend, `${backend} of ${lane}`, true)
  now += daysAgo * day
}

test('the list has one line for each backend that took part, those used last first, with what is not answered yet', async () => {
  await used('webchat:a', 3)
  await used('discord:7', 1, 'codex')
  await used('webchat:a', 2, 'codex')
  const shelf = openShelf(db, clock)
  await shelf.put('in', 'discord:7', 'k1', '{}', 'start')
  await shelf.put('in', 'discord:7', 'k2', '{}', 'wait')
  await shelf.put('out', 'webchat:a', 'k3', '{}', 'wait')
  const at = (daysAgo: number) => now - daysAgo * day
  expect(await desk().list()).toEqual([
    { lane: 'discord:7', backend: 'codex', session: 'codex of discord:7', updatedAt: at(1), unanswered: 2 },
    { lane: 'webchat:a', backend: 'codex', session: 'codex of webchat:a', updatedAt: at(2), unanswered: 0 },
    { lane: 'webchat:a', backend: 'claude', session: 'claude of webchat:a', updatedAt: at(3), unanswered: 0 },
  ])
})

test('a conversation is named by its lane, or by what is behind the colon where only one has it', async () => {
  for (const lane of ['webchat:a', 'webchat:b', 'discord:b', 'cron:webchat:a']) await used(lane, 0)
  expect(await desk().clear('b')).toEqual({
    ok: false,
    why: 'There are 2 of that name: discord:b, webchat:b. Say which.',
  })
  expect(await desk().clear('c')).toMatchObject({ ok: false, why: expect.stringContaining('No such conversation') })
  expect(await lanes()).toHaveLength(4)
  expect(await desk().clear('webchat:a')).toEqual({ ok: true, lanes: ['webchat:a'] })
  expect(await desk().clear('a')).toMatchObject({ ok: false })
  expect(await desk().clear('discord:b')).toEqual({ ok: true, lanes: ['discord:b'] })
  expect(await desk().clear('b')).toEqual({ ok: true, lanes: ['webchat:b'] })
  expect(await lanes()).toEqual(['cron:webchat:a'])
})

test('a conversation that is cleared begins anew: nothing said before is handed on', async () => {
  const stored = await openShelf(db, clock).put('in', 'webchat:a', 'k', '{}', 'wait')
  await used('webchat:a', 0)
  await used('webchat:a', 0, 'codex')
  expect(conversations.freshFrom('webchat:a')).toBe(0)
  await desk().clear('all')
  expect(await sessions.find('webchat:a', 'codex')).toBeNull()
  expect(conversations.freshFrom('webchat:a')).toBe(
    stored.type === 'stored' ? stored.row.id : expect.fail('not stored'),
  )
})

test('stale is what no backend took part in for 30 days and where nothing waits; the rest stays', async () => {
  const conversation = fc.record({
    daysAgo: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 3 }),
    waits: fc.boolean(),
  })
  const shelf = openShelf(db, clock)
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(conversation, { maxLength: 4 }), async all => {
      await desk().clear('all')
      round += 1
      for (const [i, { daysAgo, waits }] of all.entries()) {
        for (const [n, days] of daysAgo.entries()) await used(`webchat:${round}-${i}`, days, `backend${n}`)
        if (waits) await shelf.put('in', `webchat:${round}-${i}`, `${round}-${i}`, '{}', 'wait')
      }
      const stays = all.flatMap(({ daysAgo, waits }, i) =>
        waits || Math.min(...daysAgo) <= 30 ? [`webchat:${round}-${i}`] : [],
      )
      const cleared = await desk().clear('stale')
      expect(await lanes()).toEqual(stays.sort())
      expect(cleared.ok && cleared.lanes.length).toBe(all.length - stays.length)
    }),
    { numRuns: 100 },
  )
})
