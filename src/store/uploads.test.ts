// Which file belongs to which message, on a real database.
import { expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { createQueueStore } from './queue-store.ts'
import { createUploadStore } from './uploads.ts'

test('a file is deleted if its message was never sent or is no longer stored', async () => {
  const db = openDatabase(':memory:')
  let now = 1000
  const clock = { now: () => now, sleep: async () => undefined }
  const store = createUploadStore(db, clock)
  const queueStore = createQueueStore(db, clock)
  const upload = (id: string) => ({ id, name: 'a.txt', bytes: 1, type: 'text/plain' })
  for (const id of ['unsent', 'refused', 'sent', 'twice']) await store.add('a', upload(id))
  expect(store.find('a', 'sent')).toEqual(upload('sent'))
  expect([store.find('b', 'sent'), store.knows('sent'), store.knows('other')]).toEqual([null, true, false])

  await queueStore.put('in', 'webchat:a', 'webchat:a:1', '{}', 'start')
  await store.claim(['sent', 'twice'], 'webchat:a:1')
  await store.claim(['refused'], 'webchat:a:2')
  // A message that was never stored does not take files from one that was.
  await store.claim(['twice'], 'webchat:a:3')
  expect(store.forgotten(1000)).toEqual([])
  now = 2000
  expect(store.forgotten(now)).toEqual(['refused', 'unsent'])

  await queueStore.settle([1], { type: 'done' })
  await queueStore.forgetBefore(1500, new AbortController().signal)
  expect(store.forgotten(now)).toEqual(['refused', 'sent', 'twice', 'unsent'])
  await store.remove('sent')
  expect(store.find('a', 'sent')).toBe(null)
  await db.close()
})

test('a cancelled message can be sent again with its files', async () => {
  const db = openDatabase(':memory:')
  const clock = { now: () => 1000, sleep: async () => undefined }
  const store = createUploadStore(db, clock)
  const queueStore = createQueueStore(db, clock)
  await store.add('a', { id: 'x', name: 'a.txt', bytes: 1, type: 'text/plain' })
  await queueStore.put('in', 'webchat:a', 'webchat:a:1', '{}', 'wait')
  await store.claim(['x'], 'webchat:a:1')
  await queueStore.change('in', 'webchat:a:1', null)
  await store.claim(['x'], 'webchat:a:2')
  await queueStore.put('in', 'webchat:a', 'webchat:a:2', '{}', 'start')
  expect(store.forgotten(2000)).toEqual([])
  expect(db.prepare('SELECT event FROM uploads').get()).toEqual({ event: 'webchat:a:2' })
  await db.close()
})

test('a file that is about to be sent is not deleted, however old it is', async () => {
  const db = openDatabase(':memory:')
  let now = 1000
  const clock = { now: () => now, sleep: async () => undefined }
  const store = createUploadStore(db, clock)
  await store.add('a', { id: 'x', name: 'a.txt', bytes: 1, type: 'text/plain' })
  now = 9000
  expect(store.forgotten(8000)).toEqual(['x'])
  await store.claim(['x'], 'webchat:a:1')
  expect(store.forgotten(8000)).toEqual([])
  expect(store.forgotten(10_000)).toEqual(['x'])
  await db.close()
})
