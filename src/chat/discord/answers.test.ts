// Which of our messages answers what.
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { openAnswers, openAskedBook } from './answers.ts'

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
}

test('the first letter begins the answer, however often it is tried; the others go on with it', () => {
  const kept = memory()
  openAnswers(kept).drafted('m', 'draft')
  expect(openAnswers(kept).claim('m', 'first')).toEqual({ first: true, draft: 'draft' })
  // Killed before the answer of Discord was noted: it replaces the same message once more.
  expect(openAnswers(kept).claim('m', 'first')).toEqual({ first: true, draft: 'draft' })
  expect(openAnswers(kept).claim('m', 'second')).toEqual({ first: false, draft: null })
  expect(openAnswers(kept).claim('other', 'x')).toEqual({ first: true, draft: null })
})

test('a command is answered in its place until its time is over, and not before Discord knows that it was heard', async () => {
  let now = 0
  const book = openAskedBook(memory(), () => now)
  const asked = { app: 'a', token: 't', until: 100, privately: false }
  book.remember('1', asked)
  const heard = Promise.withResolvers<void>()
  book.acknowledging('1', heard.promise)
  let open: unknown = 'waiting'
  const opening = book.open('1').then(found => {
    open = found
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(open).toBe('waiting')
  heard.resolve()
  await opening
  expect(open).toEqual(asked)
  now = 100
  expect(await book.open('1')).toBe(null)
  expect(await book.open('never')).toBe(null)
})
