// The intake with real lanes: each event is accepted, a duplicate, or refused with a reason.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { Message, NewEvent, Sender } from '../../src/base/event.ts'
import type { Lanes } from '../../src/base/lanes.ts'
import type { Signal } from '../../src/base/signal.ts'
import { openIntake } from '../../src/intake/index.ts'
import { openLanes } from '../../src/lanes/index.ts'
import { createQueueStore, openDatabase } from '../../src/store/index.ts'

type Parts = Parameters<typeof openIntake>[0]

const closing: (() => Promise<unknown> | undefined)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(
  given: Partial<Parts> & { maxDepth?: number } = {},
  behind: (inbox: Lanes<NewEvent>) => Lanes<NewEvent> = inbox => inbox,
) {
  const { maxDepth = 100, ...parts } = given
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-intake-'))
  const db = openDatabase(join(dir, 'a.db'))
  const queueStore = createQueueStore(db, systemClock)
  const lanes: Lanes<NewEvent> = await openLanes<NewEvent>(queueStore, systemClock, {
    ...{ queue: 'in', atOnce: 5, maxDepth, busy: 'queue', collect: false, taking: 'durably', maxAttempts: 3 },
    giveUp: () => ({ type: 'failed', why: 'set aside' }),
    broke: () => ({ type: 'failed', why: 'broke' }),
    stuck: () => 'never',
  })
  const outbox = await openLanes<string>(queueStore, systemClock, {
    ...{ queue: 'out', atOnce: 5, maxDepth: 100, busy: 'queue', collect: false, taking: 'lightly', maxAttempts: 3 },
    giveUp: () => ({ type: 'failed', why: 'set aside' }),
    broke: () => ({ type: 'failed', why: 'broke' }),
    stuck: () => 'never',
  })
  closing.push(async () => {
    await db.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const signals: Signal[] = []
  const obeyed: unknown[] = []
  const intake = openIntake({
    inbox: behind(lanes),
    emit: signal => void signals.push(signal),
    maxCharacters: 10,
    gate: { who: () => 'guest', people: () => [], admit: async () => ({ type: 'in', owner: false }) },
    budget: { objection: () => null },
    admits: async () => true,
    parse: text =>
      text.startsWith('/do')
        ? {
            type: 'command',
            async answer(from) {
              obeyed.push(from)
              return `did ${text}`
            },
          }
        : { type: 'message', text: text.replace(/^\/ask /, '') },
    steer: () => undefined,
    steersAlways: () => false,
    deliveries: (event, text) => [{ queue: 'out', lane: event.lane, key: `${event.key}#answer`, item: text }],
    reason: (why, depth) => `${why} at ${depth}`,
    ...parts,
  })
  return {
    intake,
    signals,
    obeyed,
    counts: () => queueStore.counts('in'),
    waiting: async () => (await lanes.waiting()).map(({ item }) => item),
    deliveries: async () => (await outbox.waiting()).map(({ item }) => item),
  }
}

const ada = { id: 'ada', name: 'Ada', owner: false }
const said = (id: string, text: string, given: Partial<NewEvent> & { attachments?: Message['attachments'] } = {}) => {
  const { attachments, ...rest } = given
  return {
    ...{ key: `k:${id}`, lane: 'l', source: 'webchat', replyTo: { chat: 'webchat', conversation: 'l' } },
    what: { kind: 'message', id, text, author: ada, ...(attachments ? { attachments } : {}) },
    ...rest,
  } satisfies NewEvent
}
const sender: Sender = { chat: 'discord', user: 'u1', roles: [], channel: 'c', guild: null, where: 'here' }
const job: NewEvent = {
  ...{ key: 'cron:j@1', lane: 'cron:j', source: 'cron', replyTo: null },
  what: { kind: 'cron', name: 'j', instruction: '' },
}

describe('an accepted event', () => {
  test('waits in its lane, is reported once, and is recognised when it comes again', async () => {
    const { intake, signals, waiting, counts } = await open()
    expect(await intake.accept(said('1', 'hello'))).toEqual({ type: 'accepted', id: 1, position: 1 })
    expect(await intake.accept(said('1', 'hello'))).toEqual({ type: 'duplicate', id: 1 })
    expect(await waiting()).toEqual([said('1', 'hello')])
    expect(signals).toEqual([{ type: 'event-accepted', id: 1, source: 'webchat', lane: 'l', kind: 'message' }])
    expect(counts()).toMatchObject({ received: 1, waiting: 1, refused: 0 })
  })

  test('has the text for the agent, without the command before it', async () => {
    const { intake, waiting } = await open()
    await intake.accept(said('1', '/ask why'))
    expect(await waiting()).toEqual([said('1', 'why')])
  })

  test('may have files without text; a job may have neither, a message may not', async () => {
    const { intake } = await open()
    const attachments = [{ name: 'a', path: 'in/a', bytes: 1, type: 'text/plain' }]
    expect(await intake.accept(said('1', ' ', { attachments }))).toMatchObject({ type: 'accepted' })
    expect(await intake.accept(job)).toMatchObject({ type: 'accepted' })
    for (const none of [said('2', ' \n'), said('3', '', { attachments: [] })])
      expect(await intake.accept(none)).toEqual({ type: 'refused', why: 'empty', reason: 'empty at 2' })
  })

  test('may be as long as the limit, and no longer', async () => {
    const { intake } = await open()
    expect(await intake.accept(said('1', 'x'.repeat(10)))).toMatchObject({ type: 'accepted' })
    expect(await intake.accept(said('2', 'x'.repeat(11)))).toEqual({
      ...{ type: 'refused', why: 'too-long', reason: 'too-long at 1' },
    })
  })

  test('has the author that the gate determined, not the one that the chat claims', async () => {
    const asked: unknown[] = []
    let owner = true
    const { intake, waiting } = await open({
      gate: {
        ...{ who: () => null, people: () => [] },
        async admit(...given) {
          asked.push(given)
          return { type: 'in', owner }
        },
      },
    })
    await intake.accept(said('1', 'one', { sender }))
    owner = false
    await intake.accept(said('2', 'two', { sender }))
    await intake.accept(said('3', 'three'))
    const authors = (await waiting()).map(({ what }) => ('author' in what ? what.author.owner : null))
    expect(authors).toEqual([true, false, false])
    expect(asked).toEqual([
      [sender, 'Ada'],
      [sender, 'Ada'],
    ])
  })
})

describe('a refusal', () => {
  test('is counted and reported with its reason, and nothing of the event is stored', async () => {
    const { intake, signals, counts, waiting } = await open({ budget: { objection: () => 'day' as never } })
    expect(await intake.accept(said('1', 'hello'))).toEqual({
      ...{ type: 'refused', why: 'over-budget', reason: 'over-budget at 0' },
    })
    expect(signals).toEqual([{ type: 'event-refused', source: 'webchat', lane: 'l', why: 'over-budget', depth: 0 }])
    expect(await waiting()).toEqual([])
    expect(counts()).toMatchObject({ received: 1, refused: 1, waiting: 0 })
  })

  test('for lack of room says so', async () => {
    const { intake, signals } = await open({ maxDepth: 1 })
    await intake.accept(said('1', 'one'))
    expect(await intake.accept(said('2', 'two'))).toEqual({ type: 'refused', why: 'full', reason: 'full at 1' })
    expect(signals.at(-1)).toEqual({ type: 'event-refused', source: 'webchat', lane: 'l', why: 'full', depth: 1 })
  })

  test('after the close says that the gateway is stopping, for jobs too', async () => {
    const { intake } = await open()
    intake.close()
    expect(await intake.accept(said('1', 'hello'))).toMatchObject({ type: 'refused', why: 'stopping' })
    expect(await intake.accept(job)).toMatchObject({ type: 'refused', why: 'stopping' })
    expect(await intake.change('k:1', said('1', 'hello'))).toEqual({
      ...{ changed: false, reason: 'Not changed. stopping at 0' },
    })
  })

  test('of a stranger contains the code if there is one, otherwise nothing; both are counted', async () => {
    let code: string | null = '123456'
    const admit = async () => ({ type: 'stranger', code }) as const
    const { intake, signals, counts } = await open({ gate: { who: () => null, people: () => [], admit } })
    const first = await intake.accept(said('1', 'let me in', { sender }))
    expect(first).toMatchObject({
      type: 'refused',
      why: 'stranger',
      reason: expect.stringMatching(/^stranger at 0 .*123456/s),
    })
    code = null
    expect(await intake.accept(said('2', 'hello?', { sender }))).toEqual({
      ...{ type: 'refused', why: 'stranger', reason: '' },
    })
    expect(signals).toHaveLength(1)
    expect(counts()).toMatchObject({ received: 2, refused: 2, waiting: 0 })
  })

  test('a sender who is too fast is warned once', async () => {
    let warn = true
    const admit = async () => ({ type: 'too-fast', warn }) as const
    const { intake, signals } = await open({ gate: { who: () => 'guest', people: () => [], admit } })
    const refused = (reason: string) => ({ type: 'refused', why: 'too-fast', reason })
    expect(await intake.accept(said('1', 'hello', { sender }))).toEqual(refused('too-fast at 0'))
    warn = false
    expect(await intake.accept(said('2', 'hello', { sender }))).toEqual(refused(''))
    expect(signals.map(({ type }) => type)).toEqual(['event-refused'])
  })

  test('by the chat itself is counted and reported, unless the event was accepted before', async () => {
    const { intake, signals, counts } = await open()
    await intake.accept(said('0', 'taken'))
    expect(await intake.refuse(said('0', 'taken'), 'not-attached')).toEqual({ type: 'duplicate', id: 1 })
    const refused = { type: 'refused', why: 'not-attached', reason: 'not-attached at 1' }
    expect(await intake.refuse(said('1', 'hello'), 'not-attached')).toEqual(refused)
    expect(signals.map(({ type }) => type)).toEqual(['event-accepted', 'event-refused'])
    expect(counts()).toMatchObject({ received: 2, refused: 1 })
  })
})

describe('a command', () => {
  test('runs and is answered, becomes no event, and does not run again when it is repeated', async () => {
    const { intake, obeyed, deliveries, waiting, signals, counts } = await open({
      budget: { objection: () => 'day' as never },
    })
    expect(await intake.accept(said('1', '/do it'))).toEqual({ type: 'accepted', id: 0, position: 0 })
    expect(await intake.accept(said('1', '/do it'))).toEqual({ type: 'duplicate', id: 0 })
    expect(obeyed).toEqual([{ lane: 'l', author: ada, place: { chat: 'webchat', conversation: 'l' }, key: 'k:1' }])
    await expect.poll(deliveries).toEqual(['did /do it'])
    expect(await waiting()).toEqual([])
    expect(signals).toEqual([{ type: 'command-answered', source: 'webchat', lane: 'l' }])
    expect(counts()).toMatchObject({ waiting: 0 })
  })

  test('that arrives twice at the same time is answered once', async () => {
    const { intake, deliveries } = await open()
    const both = await Promise.all([intake.accept(said('1', '/do it')), intake.accept(said('1', '/do it'))])
    expect(both.map(({ type }) => type).sort()).toEqual(['accepted', 'duplicate'])
    await expect.poll(deliveries).toEqual(['did /do it'])
  })

  test('that throws is refused, and the reason is reported', async () => {
    const answer = () => Promise.reject(new Error('it broke'))
    const { intake, signals } = await open({ parse: () => ({ type: 'command', answer }) })
    expect(await intake.accept(said('1', '/do it'))).toMatchObject({ type: 'refused', why: 'not-stored' })
    expect(signals).toEqual([
      { type: 'workspace-trouble', file: 'the database', why: 'it broke' },
      { type: 'event-refused', source: 'webchat', lane: 'l', why: 'not-stored', depth: 0 },
    ])
  })

  test('counts as one only in a message of a person', async () => {
    const { intake, obeyed } = await open()
    const what = { kind: 'cron', name: 'j', instruction: '/do it' } as const
    expect(await intake.accept({ ...job, what })).toMatchObject({ type: 'accepted', id: 1 })
    expect(obeyed).toEqual([])
  })
})

describe('an edit', () => {
  test('changes a waiting message, under the rules for new ones; null cancels it', async () => {
    const { intake, waiting } = await open()
    await intake.accept(said('1', 'one'))
    expect(await intake.change('k:1', said('1', '/ask uno'))).toEqual({ changed: true })
    expect(await waiting()).toEqual([said('1', 'uno')])
    const unchanged = (reason: string) => ({ changed: false, reason: `Not changed. ${reason}` })
    expect(await intake.change('k:1', said('1', 'x'.repeat(11)))).toEqual(unchanged('too-long at 1'))
    expect(await intake.change('k:1', said('1', '/do it'))).toMatchObject({
      changed: false,
      reason: expect.stringContaining('command'),
    })
    expect(await waiting()).toEqual([said('1', 'uno')])
    expect(await intake.change('k:1', null)).toEqual({ changed: true })
    expect(await waiting()).toEqual([])
    expect(await intake.change('k:1', null)).toEqual(unchanged('It is no longer waiting.'))
    expect(await intake.change('k:1', said('1', 'again'))).toEqual(unchanged('It is no longer waiting.'))
  })

  test('of a stranger changes nothing and gets no answer; for others, the gate determines the author', async () => {
    let who: 'owner' | 'guest' | null = 'owner'
    const { intake, waiting } = await open({
      gate: { who: () => who, people: () => [], admit: async () => ({ type: 'in', owner: false }) },
    })
    await intake.accept(said('1', 'one', { sender }))
    const author = async () => (await waiting()).map(({ what }) => ('author' in what ? what.author.owner : null))
    expect(await intake.change('k:1', said('1', 'uno', { sender }))).toEqual({ changed: true })
    expect(await author()).toEqual([true])
    who = 'guest'
    expect(await intake.change('k:1', said('1', 'due', { sender }))).toEqual({ changed: true })
    expect(await author()).toEqual([false])
    who = null
    expect(await intake.change('k:1', said('1', 'tre', { sender }))).toEqual({ changed: false, reason: '' })
    expect(await waiting()).toMatchObject([{ what: { text: 'due' } }])
  })
})

test('an event that cannot be written is not accepted, the problem is reported, and nothing throws', async () => {
  const fails = () => Promise.reject(new Error('the disk is full'))
  const disk = (inbox: Lanes<NewEvent>) => ({ ...inbox, put: fails, change: fails, refuse: fails, file: fails })
  const { intake, signals } = await open({}, disk)
  const refused = (why: string) => ({ type: 'refused', why, reason: `${why} at 0` })
  expect(await intake.accept(said('1', 'one'))).toEqual(refused('not-stored'))
  expect(await intake.refuse(said('2', 'two'), 'not-attached')).toEqual(refused('not-attached'))
  expect(await intake.accept(said('3', 'x'.repeat(11)))).toEqual(refused('too-long'))
  expect(await intake.accept(said('4', '/do it'))).toEqual(refused('not-stored'))
  expect(await intake.change('k:1', null)).toEqual({
    ...{ changed: false, reason: 'Not changed. It could not be stored; try again in a moment.' },
  })
  const trouble = { type: 'workspace-trouble', file: 'the database', why: 'the disk is full' }
  expect(signals.filter(({ type }) => type === 'workspace-trouble')).toEqual(Array(5).fill(trouble))
  expect(signals.filter(({ type }) => type === 'event-refused')).toHaveLength(4)
})

test('a person who cannot be looked up is refused without an answer', async () => {
  const admit = () => Promise.reject(new Error('no such table'))
  const { intake, signals, waiting } = await open({ gate: { who: () => null, people: () => [], admit } })
  expect(await intake.accept(said('1', 'one', { sender }))).toEqual({
    ...{ type: 'refused', why: 'not-stored', reason: '' },
  })
  expect(signals).toEqual([{ type: 'workspace-trouble', file: 'the database', why: 'no such table' }])
  expect(await waiting()).toEqual([])
})
