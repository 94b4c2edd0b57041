// Which file belongs to which message, on a real database.
import { expect, test } from 'vitest'
import { openDatabase } from './database.ts'
import { openShelf } from './shelf.ts'
import { openUploadBook } from './uploads.ts'

test('a file goes when its message was never sent or is kept no longer', async () => {
  const db = openDatabase(':memory:')
  let now = 1000
  const clock = { now: () => now, sleep: async () => undefined }
  const book = openUploadBook(db, clock)
  const shelf = openShelf(db, clock)
  const upload = (id: string) => ({ id, name: 'a.txt', bytes: 1, type: 'text/plain' })
  for (const id of ['unsent', 'refused', 'sent', 'twice']) await book.add('a', upload(id))
  expect(book.find('a', 'sent')).toEqual(upload('sent'))
  expect([book.find('b', 'sent'), book.knows('sent'), book.knows('other')]).toEqual([null, true, false])

  await shelf.put('in', 'webchat:a', 'webchat:a:1', '{}', 'start')
  await book.claim(['sent', 'twice'], 'webchat:a:1')
  await book.claim(['refused'], 'webchat:a:2')
  // A message that never came about takes nothing away from one that did.
  await book.claim(['twice'], 'webchat:a:3')
  expect(book.forgotten(1000)).toEqual([])
  now = 2000
  expect(book.forgotten(now)).toEqual(['refused', 'unsent'])

  await shelf.settle([1], { type: 'done' })
  await shelf.forgetBefore(1500, new AbortController().signal)
  expect(book.forgotten(now)).toEqual(['refused', 'sent', 'twice', 'unsent'])
  await book.remove('sent')
  expect(book.find('a', 'sent')).toBe(null)
  await db.close()
})

test('what was cancelled can be sent again with its files', async () => {
  const db = openDatabase(':memory:')
  const clock = { now: () => 1000, sleep: async () => undefined }
  const book = openUploadBook(db, clock)
  const shelf = openShelf(db, clock)
  await book.add('a', { id: 'x', name: 'a.txt', bytes: 1, type: 'text/plain' })
  await shelf.put('in', 'webchat:a', 'webchat:a:1', '{}', 'wait')
  await book.claim(['x'], 'webchat:a:1')
  await shelf.change('in', 'webchat:a:1', null)
  await book.claim(['x'], 'webchat:a:2')
  await shelf.put('in', 'webchat:a', 'webchat:a:2', '{}', 'start')
  expect(book.forgotten(2000)).toEqual([])
  expect(db.prepare('SELECT event FROM uploads').get()).toEqual({ event: 'webchat:a:2' })
  await db.close()
})

test('what is about to be sent is not tidied away, however long it has waited', async () => {
  const db = openDatabase(':memory:')
  let now = 1000
  const clock = { now: () => now, sleep: async () => undefined }
  const book = openUploadBook(db, clock)
  await book.add('a', { id: 'x', name: 'a.txt', bytes: 1, type: 'text/plain' })
  now = 9000
  expect(book.forgotten(8000)).toEqual(['x'])
  await book.claim(['x'], 'webchat:a:1')
  expect(book.forgotten(8000)).toEqual([])
  expect(book.forgotten(10_000)).toEqual(['x'])
  await db.close()
})
