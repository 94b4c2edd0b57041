// The conversations of a chat: listed, leafed through, searched.
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import type { Letter } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import { type Database, openDatabase } from './database.ts'
import { openHistory } from './history.ts'
import { openShelf } from './shelf.ts'
import { openTalks } from './talks.ts'

const opened: Database[] = []
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close()
})

function open() {
  const db = openDatabase(':memory:')
  opened.push(db)
  let now = 1000
  const shelf = openShelf(db, { now: () => now++, sleep: async () => undefined })
  const author = { id: 'owner', name: 'owner', owner: true }
  const event = (conversation: string, id: string, text: string): NewEvent => ({
    ...{ key: `webchat:${conversation}:${id}`, lane: `webchat:${conversation}`, source: 'webchat' },
    replyTo: { chat: 'webchat', conversation },
    what: { kind: 'message', id, text, author },
  })
  const letter = (conversation: string, about: string, text: string): Letter => ({
    ...{ place: { chat: 'webchat', conversation }, kind: 'final', about, text, ok: true },
  })
  return {
    talks: openTalks(db, openHistory(db), 'webchat'),
    shelf,
    event,
    async says(conversation: string, id: string, text: string, answer: string | null = null) {
      const item = event(conversation, id, text)
      await shelf.file('in', item.lane, item.key, JSON.stringify(item), [])
      if (answer === null) return
      const reply = letter(conversation, id, answer)
      await shelf.file('out', item.lane, `${item.key}#final`, JSON.stringify(reply), [])
    },
  }
}

test('conversations are listed by their first words, the latest first, with what waits and runs', async () => {
  const { talks, shelf, says, event } = open()
  expect(talks.list(10)).toEqual([])
  await says('a', '1', '  About\n\n apples ', 'yes')
  await says('b', '1', `${'pears '.repeat(100)}`)
  await says('a', '2', 'more apples')
  const other = { ...event('x', '1', 'on Discord'), lane: 'discord:7', key: 'discord:1' }
  await shelf.put('in', other.lane, other.key, JSON.stringify(other), 'wait')
  for (const [id, how] of [
    ['3', 'start'],
    ['4', 'wait'],
    ['5', 'wait'],
  ] as const) {
    const item = event('a', id, 'still to do')
    await shelf.put('in', item.lane, item.key, JSON.stringify(item), how)
  }
  const report = { ...event('c', '1', ''), what: { kind: 'report', agent: 'x', name: 'x', text: 'r', ok: true } }
  await shelf.file('in', 'webchat:c', 'agent:x#report', JSON.stringify(report), [])
  expect(talks.list(10).map(({ at: _, ...rest }) => rest)).toEqual([
    { id: 'c', title: '', waiting: 0, running: false },
    { id: 'a', title: 'About apples', waiting: 2, running: true },
    { id: 'b', title: 'pears '.repeat(10).trimEnd(), waiting: 0, running: false },
  ])
  expect(talks.list(1).map(({ id }) => id)).toEqual(['c'])
})

test('a long conversation is leafed through in both directions without a gap', async () => {
  const { talks, says } = open()
  for (let i = 0; i < 25; i++) {
    await says('a', String(i), `question ${i}`, `answer ${i}`)
    await says('other', String(i), 'elsewhere')
  }
  const texts: string[] = []
  for (let place: number | null = null; ; ) {
    const { messages, older } = talks.before('a', place, 7)
    texts.unshift(...messages.map(({ text }) => text))
    if (older === null) break
    place = older
  }
  const all = Array.from({ length: 25 }, (_, i) => [`question ${i}`, `answer ${i}`]).flat()
  expect(texts).toEqual(all)
  const [hit] = await talks.search('question 3', 50).then(hits => hits.slice(-1))
  const onward: string[] = []
  for (let place: number | null = hit?.item ?? 0; place !== null; ) {
    const found = talks.from('a', place, 9)
    onward.push(...found.messages.map(({ text }) => text))
    place = found.newer
  }
  expect(onward).toEqual(all.slice(6))
  expect(talks.from('a', 1, 5).older).toBe(null)
  expect(talks.before('nobody', null, 5)).toEqual({ messages: [], older: null, newer: null })
})

test('a message that is larger than a page is a stretch of its own', async () => {
  const { talks, says } = open()
  await says('a', '1', 'small')
  await says('a', '2', 'x'.repeat(1_500_000))
  await says('a', '3', 'small too')
  const last = talks.before('a', null, 10)
  expect(last.messages.map(({ id }) => id)).toEqual(['3'])
  const large = talks.before('a', last.older, 10)
  expect(large.messages.map(({ id }) => id)).toEqual(['2'])
  expect(talks.before('a', large.older, 10).messages.map(({ id }) => id)).toEqual(['1'])
})

test('what was said is found in any case, all words of it, and nothing that only surrounds it', async () => {
  const { talks, says } = open()
  await says('a', '1', 'Die GRÖSSE zählt: "100% sicher_heit" C:\\temp', 'Ärger with owner')
  await says('b', '2', 'line one\nline two')
  const ids = async (words: string) => (await talks.search(words, 10)).map(({ conversation, id }) => conversation + id)
  expect(await ids('grösse zählt')).toEqual(['a1'])
  expect(await ids('ÄRGER')).toEqual(['a1'])
  expect(await ids('100%')).toEqual(['a1'])
  expect(await ids('"100% r_h')).toEqual(['a1'])
  expect(await ids('c:\\temp')).toEqual(['a1'])
  expect(await ids('line two')).toEqual(['b2'])
  expect(await ids('lin_')).toEqual([])
  expect(await ids('%')).toEqual(['a1'])
  expect(await ids('webchat')).toEqual([])
  expect(await ids('grösse pears')).toEqual([])
  expect(await ids('   ')).toEqual([])
  const [hit] = await talks.search('owner', 10)
  expect(hit).toMatchObject({ conversation: 'a', id: '1', role: 'agent', snippet: 'Ärger with owner' })
})

test('a snippet shows where it is', async () => {
  const { talks, says } = open()
  await says('a', '1', `${'before '.repeat(100)}the needle${' after'.repeat(100)}`)
  const [hit] = await talks.search('needle', 1)
  expect(hit?.snippet).toMatch(/^….*the needle after.*…$/)
  expect(hit?.snippet.length).toBeLessThan(170)
})

test('whatever was said is found by any part of it', async () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter(text => /^\S+$/.test(text))
  const { talks, says } = open()
  let n = 0
  await fc.assert(
    fc.asyncProperty(word, fc.string({ unit: 'binary' }), async (part, rest) => {
      n += 1
      await says('a', String(n), `${rest} ${part.normalize('NFC')}`)
      const hits = await talks.search(part, 200)
      expect(hits.map(({ id }) => id)).toContain(String(n))
    }),
    { numRuns: 150 },
  )
})

test('a search through long texts lets others come in between, and misses and doubles nothing', async () => {
  const { talks, says } = open()
  const long = 'слово за словом, '.repeat(10_000)
  for (let n = 0; n < 60; n++) await says('a', String(n), n % 20 === 0 ? `${long} яблоко` : long)
  let turns = 0
  let over = false
  const others = (): void => {
    turns += 1
    if (!over) setImmediate(others)
  }
  others()
  const hits = await talks.search('ЯБЛОКО', 10)
  over = true
  expect(hits.map(({ id }) => id)).toEqual(['40', '20', '0'])
  expect(turns).toBeGreaterThan(6)
})
