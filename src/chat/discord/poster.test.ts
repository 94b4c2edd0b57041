// Which message belongs to which post, across restarts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worseThanLinear } from '../../../test/harness/growth.ts'
import type { ChatMemory } from '../../base/chat.ts'
import { withoutFileLinks } from '../live-drafts.ts'
import { idAt } from './message.ts'
import { beginningOf, createPostJournal, draftOf, limits, nonceOf } from './poster.ts'

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

const markdown = fc
  .array(fc.constantFrom('word ', '\n', '\n\n', '```ts\n', '```\n', '~~~\n', '    code', '🙂', 'x'.repeat(300)), {
    maxLength: 60,
  })
  .map(parts => parts.join(''))

const fencesIn = (text: string) => {
  let open: string | null = null
  for (const line of text.split('\n')) {
    const [, mark, rest] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (mark) open = open === null ? mark : mark[0] === open[0] && rest?.trim() === '' ? null : open
  }
  return open
}

test('a draft fits, splits no character and leaves no code block open', () => {
  fc.assert(
    fc.property(markdown, fc.option(fc.string()), fc.nat(50), (text, label, steps) => {
      const draft = draftOf({ text, label, steps })
      expect(limits.measure(draft)).toBeLessThanOrEqual(limits.length)
      expect(draft.isWellFormed() || !(text + label).isWellFormed()).toBe(true)
      if (label === null) expect(fencesIn(draft)).toBe(null)
    }),
    { numRuns: 300 },
  )
})

test('a draft shows the end of a long text and the current action', () => {
  const text = `${'early '.repeat(1000)}\nlate`
  const draft = draftOf({ text, label: 'Read\nmemory.md', steps: 3 })
  expect(draft).toMatch(/^…/)
  expect(draft).toMatch(/late\n-# ⚙ Read memory.md \(step 3\)$/)
  expect(draftOf({ text: ' \n', label: null, steps: 0 })).toBe('')
})

test('the beginning of a text that is sent as a file fits, and its code block is closed', () => {
  fc.assert(
    fc.property(markdown, text => {
      const shown = beginningOf(text.repeat(5))
      expect(limits.measure(shown)).toBeLessThanOrEqual(limits.length)
      expect(fencesIn(shown)).toBe(null)
    }),
    { numRuns: 200 },
  )
})

test('a nonce is short, the same for the same key and another for another', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(nonceOf(a)).toMatch(/^[\w-]{1,25}$/)
      expect(nonceOf(a) === nonceOf(b)).toBe(a === b)
    }),
    { numRuns: 200 },
  )
})

test('links to attached files become plain text; other links stay', () => {
  const text = 'See [the plan](files/a%20b.md), ![](./out/pic.png) and [docs](https://example.org/a.md).'
  expect(withoutFileLinks(text, ['files/a b.md', 'out/pic.png'])).toBe(
    'See the plan, pic.png and [docs](https://example.org/a.md).',
  )
})

test.each(['[x](', '[', '[x]( ', '![](<'])('the beginnings of many links cost linear time: %s', async start => {
  const look = (size: number) => {
    for (const text of [start.repeat(size / start.length), `[x](${start.repeat(size / start.length)}x`])
      expect(withoutFileLinks(text, ['a.txt'])).toBe(text)
  }
  expect(await worseThanLinear(look, 200_000)).toBeNull()
})
