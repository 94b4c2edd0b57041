// The conversations of a chat: listing, paging, searching.
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { someRequest } from '../../test/fakes/requests.ts'
import type { Delivery } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { Request } from '../base/requests.ts'
import { createConversationList } from './conversations.ts'
import { type Database, openDatabase } from './database.ts'
import { createHistory } from './history.ts'
import { createQueueStore } from './queue-store.ts'
import { createRequestStore } from './requests.ts'

const opened: Database[] = []
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close()
})

function open() {
  const db = openDatabase(':memory:')
  opened.push(db)
  let now = 1000
  const clock = { now: () => now++, sleep: async () => undefined }
  const requests = createRequestStore(db, clock)
  const queueStore = createQueueStore(db, clock)
  const author = { id: 'owner', name: 'owner', owner: true }
  const event = (conversation: string, id: string, text: string): NewEvent => ({
    ...{ key: `webchat:${conversation}:${id}`, lane: `webchat:${conversation}`, source: 'webchat' },
    replyTo: { chat: 'webchat', conversation },
    what: { kind: 'message', id, text, author },
  })
  const delivery = (conversation: string, about: string, text: string): Delivery => ({
    ...{ place: { chat: 'webchat', conversation }, kind: 'final', about, text, ok: true },
  })
  return {
    conversations: createConversationList(db, createHistory(db), 'webchat', requests),
    requests,
    queueStore,
    event,
    now: () => now,
    async says(conversation: string, id: string, text: string, answer: string | null = null) {
      const item = event(conversation, id, text)
      await queueStore.file('in', item.lane, item.key, JSON.stringify(item), [])
      if (answer === null) return
      const reply = delivery(conversation, id, answer)
      await queueStore.file('out', item.lane, `${item.key}#final`, JSON.stringify(reply), [])
    },
  }
}

test('conversations are listed by their first words, latest first, with waiting and running counts', async () => {
  const { conversations, queueStore, says, event } = open()
  expect(conversations.list(10)).toEqual([])
  await says('a', '1', '  About\n\n apples ', 'yes')
  await says('b', '1', `${'pears '.repeat(100)}`)
  await says('a', '2', 'more apples')
  const other = { ...event('x', '1', 'on Discord'), lane: 'discord:7', key: 'discord:1' }
  await queueStore.put('in', other.lane, other.key, JSON.stringify(other), 'wait')
  for (const [id, how] of [
    ['3', 'start'],
    ['4', 'wait'],
    ['5', 'wait'],
  ] as const) {
    const item = event('a', id, 'still to do')
    await queueStore.put('in', item.lane, item.key, JSON.stringify(item), how)
  }
  const report = { ...event('c', '1', ''), what: { kind: 'report', agent: 'x', name: 'x', text: 'r', ok: true } }
  await queueStore.file('in', 'webchat:c', 'agent:x#report', JSON.stringify(report), [])
  expect(conversations.list(10).map(({ at: _, ...rest }) => rest)).toEqual([
    { id: 'c', title: '', waiting: 0, running: false },
    { id: 'a', title: 'About apples', waiting: 2, running: true },
    { id: 'b', title: 'pears '.repeat(10).trimEnd(), waiting: 0, running: false },
  ])
  expect(conversations.list(1).map(({ id }) => id)).toEqual(['c'])
})

test('the list is correct after any new or deleted messages', async () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant('says' as const), in: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'list' as const }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('forget' as const), most: fc.nat(4) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), async (steps, most) => {
      const { conversations, queueStore, says, now } = open()
      let said: { readonly in: string; readonly at: number }[] = []
      const latest = () => [...new Set(said.map(one => one.in).reverse())].slice(0, most)
      for (const [i, one] of steps.entries()) {
        if (one.type === 'says') {
          said.push({ in: one.in, at: now() })
          await says(one.in, String(i), 'words')
        } else if (one.type === 'forget') {
          const cutoff = said[one.most]?.at ?? 0
          said = said.filter(({ at }) => at >= cutoff)
          await queueStore.forgetBefore(cutoff, new AbortController().signal)
        } else expect(conversations.list(most).map(({ id }) => id)).toEqual(latest())
      }
      expect(conversations.list(most).map(({ id }) => id)).toEqual(latest())
    }),
    { numRuns: 100 },
  )
})

test('a long conversation can be paged in both directions without a gap', async () => {
  const { conversations, says } = open()
  for (let i = 0; i < 25; i++) {
    await says('a', String(i), `question ${i}`, `answer ${i}`)
    await says('other', String(i), 'elsewhere')
  }
  const texts: string[] = []
  for (let place: number | null = null; ; ) {
    const { messages, older } = conversations.before('a', place, 7)
    texts.unshift(...messages.map(({ text }) => text))
    if (older === null) break
    place = older
  }
  const all = Array.from({ length: 25 }, (_, i) => [`question ${i}`, `answer ${i}`]).flat()
  expect(texts).toEqual(all)
  const [hit] = await conversations.search('question 3', 50).then(hits => hits.slice(-1))
  const onward: string[] = []
  for (let place: number | null = hit?.item ?? 0; place !== null; ) {
    const found = conversations.from('a', place, 9)
    onward.push(...found.messages.map(({ text }) => text))
    place = found.newer
  }
  expect(onward).toEqual(all.slice(6))
  expect(conversations.from('a', 1, 5).older).toBe(null)
  expect(conversations.before('nobody', null, 5)).toEqual({
    messages: [],
    older: null,
    newer: null,
    requests: [],
    work: {},
  })
})

test('a message larger than a page is a section of its own', async () => {
  const { conversations, says } = open()
  await says('a', '1', 'small')
  await says('a', '2', 'x'.repeat(1_500_000))
  await says('a', '3', 'small too')
  const last = conversations.before('a', null, 10)
  expect(last.messages.map(({ id }) => id)).toEqual(['3'])
  const large = conversations.before('a', last.older, 10)
  expect(large.messages.map(({ id }) => id)).toEqual(['2'])
  expect(conversations.before('a', large.older, 10).messages.map(({ id }) => id)).toEqual(['1'])
})

test('messages are found by all words in any case, and JSON around them is not matched', async () => {
  const { conversations, says } = open()
  await says('a', '1', 'Die GRÖSSE zählt: "100% sicher_heit" C:\\temp', 'Ärger with owner')
  await says('b', '2', 'line one\nline two')
  const ids = async (words: string) =>
    (await conversations.search(words, 10)).map(({ conversation, id }) => conversation + id)
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
  const [hit] = await conversations.search('owner', 10)
  expect(hit).toMatchObject({ conversation: 'a', id: '1', role: 'agent', snippet: 'Ärger with owner' })
})

test('a snippet shows where it is', async () => {
  const { conversations, says } = open()
  await says('a', '1', `${'before '.repeat(100)}the needle${' after'.repeat(100)}`)
  const [hit] = await conversations.search('needle', 1)
  expect(hit?.snippet).toMatch(/^….*the needle after.*…$/)
  expect(hit?.snippet.length).toBeLessThan(170)
})

test('every message is found by any part of it', async () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter(text => /^\S+$/.test(text))
  const { conversations, says } = open()
  let n = 0
  await fc.assert(
    fc.asyncProperty(word, fc.string({ unit: 'binary' }), async (part, rest) => {
      n += 1
      await says('a', String(n), `${rest} ${part.normalize('NFC')}`)
      const hits = await conversations.search(part, 200)
      expect(hits.map(({ id }) => id)).toContain(String(n))
    }),
    { numRuns: 150 },
  )
})

test('a search through long texts lets other work run, and neither misses nor duplicates anything', async () => {
  const { conversations, says } = open()
  const long = 'слово за словом, '.repeat(10_000)
  for (let n = 0; n < 60; n++) await says('a', String(n), n % 20 === 0 ? `${long} яблоко` : long)
  let turns = 0
  let over = false
  const others = (): void => {
    turns += 1
    if (!over) setImmediate(others)
  }
  others()
  const hits = await conversations.search('ЯБЛОКО', 10)
  over = true
  expect(hits.map(({ id }) => id)).toEqual(['40', '20', '0'])
  expect(turns).toBeGreaterThan(6)
})

test('a section has the requests of its turns; the end of the conversation also has what others ask here', async () => {
  const { conversations, requests, says } = open()
  for (const id of ['a', 'b', 'c']) await says('home', id, `message ${id}`, `answer ${id}`)
  const asks = (event: number, changes: Partial<Request> = {}) => {
    const { id: _, at: __, ...rest } = someRequest({ event, ...changes })
    return requests.add(rest, `${event}`)
  }
  const [first, third] = [await asks(1), await asks(5)]
  const ofJob = await asks(6, { lane: 'cron:report' })
  await asks(6, { lane: 'webchat:work', place: { chat: 'webchat', conversation: 'work' } })
  const latest = conversations.before('home', null, 2)
  expect(latest.requests?.map(({ id }) => id)).toEqual([third.id, ofJob.id])
  expect(conversations.before('home', latest.older, 100).requests?.map(({ id }) => id)).toEqual([first.id])
  expect(conversations.from('home', 1, 2).requests?.map(({ id }) => id)).toEqual([first.id])
  expect(requests.countOpen()).toBe(4)
})

test('a section is bounded however much was asked, and open requests are always in it', async () => {
  const { conversations, requests, says } = open()
  await says('home', 'a', 'go')
  const long = 'x'.repeat(60_000)
  const {
    id: _,
    at: __,
    ...rest
  } = someRequest({
    ...{ event: 1, ask: { kind: 'tool', use: { tool: 'Bash', work: { kind: 'command', command: long } } } },
  })
  const added = []
  for (let i = 0; i < 20; i++) added.push(await requests.add(rest, `${i}`))
  const how = { state: 'denied', verdict: null, by: 'owner', always: null, used: true } as const
  for (const { id } of added.slice(1)) await requests.settle(id, how)
  const shown = conversations.before('home', null, 10).requests?.map(({ id }) => id) ?? []
  expect(shown).toContain(added[0]?.id)
  expect(shown).toContain(added.at(-1)?.id)
  expect(shown.length).toBeLessThan(12)
})
