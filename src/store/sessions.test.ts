// Which session a conversation goes on in, on a real database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from './database.ts'
import { openSessions, type SessionStore } from './sessions.ts'

let dir: string
let db: Database
let sessions: SessionStore
let changes = 0
const clock = { now: () => 0, sleep: async () => undefined }

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-sessions-'))
  db = openDatabase(join(dir, 'test.db'))
  sessions = openSessions(db, clock, () => changes++)
})
afterAll(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const lane = fc.string({ minLength: 1 })

// Feature: discord-claude-gateway, Property 10: Reset removes channel binding
test('a forgotten conversation has no session', async () => {
  await fc.assert(
    fc.asyncProperty(lane, fc.uuid(), async (of, id) => {
      await sessions.remember(of, 'claude', id, true)
      expect(await sessions.find(of, 'claude')).toMatchObject({ id, confirmed: true })
      await sessions.remember(of, 'codex', id, true)
      await sessions.forgetLane(of)
      expect(await sessions.find(of, 'codex')).toBeNull()
      expect(await sessions.find(of, 'claude')).toBeNull()
    }),
    { numRuns: 100 },
  )
})

// Feature: discord-claude-gateway, Property 11: Concurrent session isolation
test('what happens to one conversation does not touch another', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(lane, { minLength: 2, maxLength: 2 }),
      fc.uuid(),
      fc.uuid(),
      fc.constantFrom('remember', 'find', 'forget'),
      async ([one, other], id, otherId, act) => {
        await sessions.remember(one!, 'claude', id, true)
        await sessions.remember(other!, 'claude', otherId, true)
        if (act === 'remember') await sessions.remember(one!, 'claude', 'another', true)
        if (act === 'find') await sessions.find(one!, 'claude')
        if (act === 'forget') await sessions.forget(one!, 'claude')
        expect(await sessions.find(other!, 'claude')).toMatchObject({ id: otherId, confirmed: true })
      },
    ),
    { numRuns: 100 },
  )
})

test('a session belongs to the backend that made it', async () => {
  await sessions.remember('a', 'claude', 'of claude', true)
  expect(await sessions.find('a', 'codex')).toBeNull()
})

test('sessions.json shows what a backend has confirmed, and is told of changes', async () => {
  const before = changes
  await sessions.remember('shown', 'claude', 'yes', true)
  await sessions.remember('asked-for', 'claude', 'not yet', false)
  expect(sessions.all()).toMatchObject({ shown: 'yes' })
  expect(sessions.all()).not.toHaveProperty('asked-for')
  expect(changes).toBe(before + 1)
})
