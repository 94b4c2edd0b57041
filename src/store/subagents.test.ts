// The sub-agent store on a real database: what is stored, and for how long.
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import { openDatabase } from './database.ts'
import { createQueueStore } from './queue-store.ts'
import { createSubAgentStore } from './subagents.ts'

function setup() {
  let now = 1000
  const clock = { now: () => now, sleep: async () => undefined }
  const db = openDatabase(':memory:')
  const queueStore = createQueueStore(db, clock)
  const event = { what: { kind: 'assignment' } } as NewEvent
  return {
    ...{ db, queueStore, store: createSubAgentStore(db, clock) },
    at: (time: number) => {
      now = time
    },
    put: (id: string) => queueStore.put('in', `agent:${id}`, `key-${id}`, JSON.stringify(event), 'wait'),
  }
}

const agent = (id: string, root = 'webchat:main') => ({
  ...{ id, name: `name of ${id}`, instruction: 'do it', parent: root, root, depth: 1, model: 'codex' },
  place: { chat: 'webchat', conversation: 'main' },
  principal: { owner: false, person: 'guest', origin: 'k' },
})

test('stored sub-agents are read back, newest first, and a key is used once', async () => {
  const { store, db } = setup()
  await store.add(agent('a'), 'k-a')
  await store.add(agent('b', 'discord:1'), 'k-b')
  expect(store.find('a')).toEqual({ ...agent('a'), state: 'waiting', at: 1000, endedAt: null, progress: '' })
  expect(store.withKey('k-b')?.id).toBe('b')
  expect(store.list().map(one => one.id)).toEqual(['b', 'a'])
  expect(store.list('webchat:main').map(one => one.id)).toEqual(['a'])
  await expect(store.add(agent('c'), 'k-a')).rejects.toThrow('UNIQUE')
  await store.remove('b')
  expect(store.find('b')).toBeNull()
  await db.close()
})

test('state and end time are derived from its items', async () => {
  const { store, queueStore, put, at, db } = setup()
  await store.add(agent('a'), 'k')
  expect(store.notEntered().map(one => one.key)).toEqual(['k'])
  const stored = await put('a')
  const id = stored.type === 'stored' ? stored.row.id : 0
  await store.entered('a')
  expect(store.notEntered()).toEqual([])
  await queueStore.take([id], 'durably')
  expect([store.find('a')?.state, store.open().map(one => one.state)]).toEqual(['working', ['running']])
  at(5000)
  const what = { kind: 'report', agent: 'a', name: 'x', ok: false, text: 'burnt' }
  const report = { queue: 'in', lane: 'webchat:main', key: `agent:a#report-${id}`, item: { what } } as const
  await queueStore.settle([id], { type: 'done', followUps: [report] })
  expect(store.find('a')).toMatchObject({ state: 'failed', endedAt: 5000, progress: 'burnt' })
  await store.stopping('a', id)
  expect(store.find('a')?.state).toBe('stopped')
  await db.close()
})

test('old sub-agents are deleted with their work, but never one that has work or has not started', async () => {
  const { store, put, queueStore, at, db } = setup()
  for (const id of ['gone', 'works', 'never']) await store.add(agent(id), id)
  for (const id of ['gone', 'works']) {
    await put(id)
    await store.entered(id)
  }
  await queueStore.change('in', 'key-gone', null)
  at(9000)
  await store.add(agent('young'), 'young')
  await store.post('c', 'agent', 'new')
  await queueStore.forgetBefore(5000, new AbortController().signal)
  await store.forgetBefore(5000)
  expect(store.list().map(one => one.id)).toEqual(['young', 'never', 'works'])
  expect(store.posts('c', 10)).toHaveLength(1)
  at(20_000)
  await store.forgetBefore(10_000)
  expect(store.posts('c', 10)).toEqual([])
  await db.close()
})
