// Which session a conversation continues in, on a real database.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Database, openDatabase } from './database.ts'
import { createMirrorFile } from './files.ts'
import { openSessions, type SessionStore } from './sessions.ts'

let dir: string
let db: Database
let sessions: SessionStore
let changes = 0
let now = 0
const clock = { now: () => now, sleep: async () => undefined }

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

test('a received prompt stays with its session, and is dropped when another session is used', async () => {
  await sessions.remember('heard', 'claude', 'one', true)
  expect((await sessions.find('heard', 'claude'))?.received).toBeNull()
  sessions.receive('heard', 'claude', { event: 7, digest: 'x' })
  await sessions.remember('heard', 'claude', 'one', true)
  expect((await sessions.find('heard', 'claude'))?.received).toEqual({ event: 7, digest: 'x' })
  await sessions.remember('heard', 'claude', 'two', true)
  expect((await sessions.find('heard', 'claude'))?.received).toBeNull()
})

test('sessions.json shows confirmed sessions, and changes are reported', async () => {
  const before = changes
  await sessions.remember('shown', 'claude', 'yes', true)
  await sessions.remember('asked-for', 'claude', 'not yet', false)
  expect(sessions.latestOnes()).toMatchObject({ shown: 'yes' })
  expect(sessions.latestOnes()).not.toHaveProperty('asked-for')
  expect(changes).toBe(before + 1)
})

test('sessions.json shows the thousand conversations used last, of each the session used last', async () => {
  for (let i = 0; i < 1005; i++) {
    now++
    await sessions.remember(`many-${String(i).padStart(4, '0')}`, 'claude', `session-${i}`, true)
  }
  const shown = sessions.latestOnes()
  expect(Object.keys(shown)).toHaveLength(1000)
  expect(Object.keys(shown)).toEqual(Object.keys(shown).sort())
  expect([shown['many-0004'], shown['many-0005']]).toEqual([undefined, 'session-5'])
  now++
  await sessions.remember('many-0004', 'codex', 'of codex', true)
  expect(sessions.latestOnes()).toMatchObject({ 'many-0004': 'of codex' })
})

test('the file is written when its content has changed, or somebody else has changed it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-sessions-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'sessions.json')
  let text = '{}'
  const file = createMirrorFile(
    path,
    () => text,
    1,
    error => expect.fail(String(error)),
  )
  const written = async () => {
    file.touch()
    await file.flush()
    return statSync(path).ino
  }
  const first = await written()
  expect(await written()).toBe(first)
  text = '{"a": "b"}'
  const second = await written()
  expect(second).not.toBe(first)
  writeFileSync(path, 'by hand')
  await written()
  expect(readFileSync(path, 'utf8')).toBe(text)
})
