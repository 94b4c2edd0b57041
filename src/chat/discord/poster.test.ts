// Which message belongs to which post, across restarts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../base/chat.ts'
import { createPostJournal } from './poster.ts'
import { idAt } from './snowflake.ts'

const now = Date.UTC(2026, 0, 1)

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
}
const open = (kept: ChatMemory) => createPostJournal(kept, { now: () => now, sleep: async () => undefined })

test('an attempt is stored with the newest message known before it', () => {
  const kept = memory()
  expect(open(kept).begin('c', 'a', null)).toBe(null)
  expect(open(kept).begin('c', 'a', null)).toEqual({ id: null, after: idAt(now - 120_000) })
  open(kept).exists('c', 'a', '100')
  expect(open(kept).begin('c', 'a', null)).toMatchObject({ id: '100' })
  open(kept).begin('c', 'b', '99')
  expect(open(kept).find('c', 'b')).toEqual({ id: null, after: '100' })
  open(kept).begin('c', 'd', '101')
  expect(open(kept).find('c', 'd')).toEqual({ id: null, after: '101' })
  expect(open(kept).find('elsewhere', 'b')).toBe(null)
})

test('a message received over the gateway is recognized if it was in progress', () => {
  const kept = memory()
  open(kept).begin('c', 'a', null)
  open(kept).received('c', 'a', '100')
  open(kept).received('c', 'unknown', '101')
  expect(open(kept).find('c', 'a')).toMatchObject({ id: '100' })
  expect(open(kept).find('c', 'unknown')).toBe(null)
})

test('a failed post starts over', () => {
  const kept = memory()
  open(kept).begin('c', 'a', '5')
  open(kept).failed('c', 'a')
  expect(open(kept).begin('c', 'a', '7')).toBe(null)
  expect(open(kept).find('c', 'a')).toEqual({ id: null, after: '7' })
})

test('a message belongs to one post, however many there were', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(99), (count, pick) => {
      const kept = memory()
      for (let i = 0; i < count; i++) open(kept).exists('c', `n${i}`, String(1000 + i))
      const one = pick % count
      expect(open(kept).isAnother('c', 'new', String(1000 + one))).toBe(true)
      expect(open(kept).isAnother('c', 'new', '2000')).toBe(false)
    }),
  )
})
