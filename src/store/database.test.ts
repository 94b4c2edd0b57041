// What a chat remembers.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createChatStates, openDatabase } from './database.ts'

const dirs: string[] = []
afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true })
})

async function setup() {
  const dir = await mkdtemp(join(tmpdir(), 'aetheel-chat-state-'))
  dirs.push(dir)
  const path = join(dir, 'a.db')
  let now = 1000
  const clock = { now: () => now++, sleep: async () => undefined }
  return { path, clock }
}

test('stored values are there after a restart, only for this chat', async () => {
  const { path, clock } = await setup()
  const first = openDatabase(path)
  const before = createChatStates(first, clock).of('discord')
  before.put('session:0', 'a')
  before.put('session:0', 'b')
  before.put('gone', 'x')
  before.put('gone', null)
  await first.close()
  const db = openDatabase(path)
  const states = createChatStates(db, clock)
  expect(states.of('discord').get('session:0')).toBe('b')
  expect(states.of('discord').get('gone')).toBe(null)
  expect(states.of('slack').get('session:0')).toBe(null)
  await db.close()
})

test('list returns entries by prefix, latest first; untouched entries are deleted, but positions are not', async () => {
  const { path, clock } = await setup()
  const db = openDatabase(path)
  const states = createChatStates(db, clock)
  const memory = states.of('discord')
  for (const name of ['seen:1', 'seen:2', 'horizon', 'seen:1', 'session:0']) memory.put(name, name)
  expect(memory.list('seen:').map(({ name }) => name)).toEqual(['seen:1', 'seen:2'])
  await states.forgetBefore(1003)
  expect(memory.list('').map(({ name }) => name)).toEqual(['session:0', 'seen:1', 'horizon'])
  await db.close()
})
