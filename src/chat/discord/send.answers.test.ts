// Which of our messages answers what.
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { openAnswers } from '../live-drafts.ts'
import { createPendingQuestions } from './send.ts'

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
}

test('the first delivery starts the answer, however often it is retried; the others continue it', () => {
  const kept = memory()
  const draft = { channel: 'c', nonce: 'n', id: 'draft' }
  openAnswers(kept).drafted('m', draft)
  expect(openAnswers(kept).claim('m', 'first')).toEqual({ first: true, draft })
  // Killed before Discord's answer was stored: it replaces the same message once more.
  expect(openAnswers(kept).claim('m', 'first')).toEqual({ first: true, draft })
  expect(openAnswers(kept).claim('m', 'second')).toEqual({ first: false, draft: null })
  expect(openAnswers(kept).claim('other', 'x')).toEqual({ first: true, draft: null })
})

test('a command is answered in place until its token expires, and only after it was acknowledged', async () => {
  let now = 0
  const store = createPendingQuestions(memory(), () => now)
  const asked = { app: 'a', token: 't', until: 100, privately: false }
  store.remember('1', asked)
  const acknowledged = Promise.withResolvers<void>()
  store.acknowledging('1', acknowledged.promise)
  let open: unknown = 'waiting'
  const opening = store.open('1').then(found => {
    open = found
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(open).toBe('waiting')
  acknowledged.resolve()
  await opening
  expect(open).toEqual(asked)
  now = 100
  expect(await store.open('1')).toBe(null)
  expect(await store.open('never')).toBe(null)
})
