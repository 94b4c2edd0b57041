// The book of sub-agents on a real database: what is kept, and for how long.
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import { openDatabase } from './database.ts'
import { openShelf } from './shelf.ts'
import { openSubAgentBook } from './subagents.ts'

function setup() {
  let now = 1000
  const clock = { now: () => now, sleep: async () => undefined }
  const db = openDatabase(':memory:')
  const shelf = openShelf(db, clock)
  const event = { what: { kind: 'assignment' } } as NewEvent
  return {
    ...{ db, shelf, book: openSubAgentBook(db, clock) },
    at: (time: number) => {
      now = time
    },
    put: (id: string) => shelf.put('in', `agent:${id}`, `key-${id}`, JSON.stringify(event), 'wait'),
  }
}

const agent = (id: string, root = 'webchat:main') => ({
  ...{ id, name: `name of ${id}`, instruction: 'do it', parent: root, root, depth: 1, model: 'codex' },
  place: { chat: 'webchat', conversation: 'main' },
  behalf: { owner: false, person: 'guest' },
})

test('what was written is read back, the newest first, and a key is taken once', async () => {
  const { book, db } = setup()
  await book.add(agent('a'), 'k-a')
  await book.add(agent('b', 'discord:1'), 'k-b')
  expect(book.find('a')).toEqual({ ...agent('a'), state: 'waiting', at: 1000, endedAt: null, progress: '' })
  expect(book.withKey('k-b')?.id).toBe('b')
  expect(book.list().map(one => one.id)).toEqual(['b', 'a'])
  expect(book.list('webchat:main').map(one => one.id)).toEqual(['a'])
  await expect(book.add(agent('c'), 'k-a')).rejects.toThrow('UNIQUE')
  await book.remove('b')
  expect(book.find('b')).toBeNull()
  await db.close()
})

test('state and end follow its items, with nothing else to be kept right', async () => {
  const { book, shelf, put, at, db } = setup()
  await book.add(agent('a'), 'k')
  expect(book.notEntered().map(one => one.key)).toEqual(['k'])
  const stored = await put('a')
  const id = stored.type === 'stored' ? stored.row.id : 0
  await book.entered('a')
  expect(book.notEntered()).toEqual([])
  await shelf.take([id], 'durably')
  expect([book.find('a')?.state, book.open().map(one => one.state)]).toEqual(['working', ['running']])
  at(5000)
  const what = { kind: 'report', agent: 'a', name: 'x', ok: false, text: 'burnt' }
  const report = { box: 'in', lane: 'webchat:main', key: `agent:a#report-${id}`, item: { what } } as const
  await shelf.settle([id], { type: 'done', followUps: [report] })
  expect(book.find('a')).toMatchObject({ state: 'failed', endedAt: 5000, progress: 'burnt' })
  await book.stopping('a', id)
  expect(book.find('a')?.state).toBe('stopped')
  await db.close()
})

test('the old ones go when their work is gone, and never one that has work or has not begun', async () => {
  const { book, put, shelf, at, db } = setup()
  for (const id of ['gone', 'works', 'never']) await book.add(agent(id), id)
  for (const id of ['gone', 'works']) {
    await put(id)
    await book.entered(id)
  }
  await shelf.change('in', 'key-gone', null)
  at(9000)
  await book.add(agent('young'), 'young')
  await book.post('c', 'agent', 'new')
  await shelf.forgetBefore(5000, new AbortController().signal)
  await book.forgetBefore(5000)
  expect(book.list().map(one => one.id)).toEqual(['young', 'never', 'works'])
  expect(book.posts('c', 10)).toHaveLength(1)
  at(20_000)
  await book.forgetBefore(10_000)
  expect(book.posts('c', 10)).toEqual([])
  await db.close()
})
