// Sub-agents on real lanes and a real database: limits, reports, stops, kills.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { DescentLimits } from '../../src/base/descent.ts'
import { agentLane, agentOf, type EventSink, isBackground, type NewEvent } from '../../src/base/event.ts'
import type { Outcome, Taken } from '../../src/base/lanes.ts'
import { type Parent, reportKey, type SpawnResult, subAgentLimits } from '../../src/base/subagents.ts'
import { openLanes } from '../../src/lanes/index.ts'
import { openSubAgents } from '../../src/run/index.ts'
import { createQueueStore, createSubAgentStore, openDatabase } from '../../src/store/index.ts'

const folders: string[] = []
const ends: (() => Promise<void>)[] = []
const folder = () => {
  const dir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'aetheel-agents-'))
  folders.push(dir)
  return dir
}
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true, force: true })
})

type Final = { readonly ok: boolean; readonly text: string }
type Handle = (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Final | 'put-off'>

const root = 'webchat:main'
const place = { chat: 'webchat', conversation: 'main' }
const owner = { owner: true, person: 'owner', origin: 'o' }
const main: Parent = { lane: root, place, principal: owner, agent: null }
const within = (id: string): Parent => ({ lane: agentLane(id), place: null, principal: owner, agent: id })
const task = (instruction: string) => ({ name: null, instruction, model: null })
let lastId = 0

/** Like a new process: continues with the data in `dir`. */
async function open(
  dir = folder(),
  given: {
    accept?(put: EventSink): EventSink
    maxDepth?: number
    collect?: boolean
    atOnce?: number
    perGuest?: number
    takeTurns?: DescentLimits['takeTurns']
    /** How the conversation handles its events. */
    converse?(taken: Taken<NewEvent>, signal: AbortSignal): Promise<Outcome>
  } = {},
) {
  const db = openDatabase(join(dir, 'test.db'))
  const queueStore = createQueueStore(db, systemClock)
  const store = createSubAgentStore(db, systemClock)
  const inbox = await openLanes<NewEvent>(queueStore, systemClock, {
    ...{
      queue: 'in',
      atOnce: given.atOnce ?? 10,
      maxDepth: given.maxDepth ?? 1000,
      busy: 'queue',
      background: isBackground,
    },
    ...{ collect: given.collect ?? false, taking: 'durably', maxAttempts: 3 },
    giveUp: taken => ({ type: 'failed', why: 'set aside', followUps: reportsOf(taken, 'Set aside.') }),
    broke: taken => ({ type: 'failed', why: 'broke', followUps: reportsOf(taken, 'Broke.') }),
    stuck: error => {
      throw error
    },
  })
  const put: EventSink = async event => {
    const answer = await inbox.put(event.lane, event.key, event)
    return answer.type === 'refused' ? { type: 'refused', why: answer.why, reason: 'The queue is full.' } : answer
  }
  const agents = openSubAgents({
    ...{ store, inbox, accept: given.accept?.(put) ?? put, clock: systemClock },
    limits: { ...subAgentLimits, perGuest: () => given.perGuest ?? 5 },
    takeTurns: given.takeTurns ?? (async () => null),
    newId: () => `a${lastId++}`,
  })
  queueStore.watch('in', () => agents.notify())
  const reportsOf = (taken: Taken<NewEvent>, text: string) => agents.reports(taken, { kind: 'final', ok: false, text })
  const stop = new AbortController()
  let working: Promise<void> = Promise.resolve()
  let closed = false

  async function take(handle: Handle, taken: Taken<NewEvent>, signal: AbortSignal): Promise<Outcome> {
    if (agentOf(taken.lane) === null) return (await given.converse?.(taken, signal)) ?? { type: 'done' }
    const live = agents.live(taken)
    try {
      const end = await handle(taken, signal)
      if (end !== 'put-off') return { type: 'done', followUps: agents.reports(taken, { kind: 'final', ...end }) }
      const followUps = agents.reports(taken, { kind: 'notice', ok: true, text: 'Later.' })
      return { type: 'later', at: Number.POSITIVE_INFINITY, followUps }
    } finally {
      await live.close()
    }
  }
  const end = async () => {
    if (closed) return
    closed = true
    stop.abort()
    await working
    await db.close()
  }
  ends.push(end)
  const events = (): readonly (NewEvent & { readonly item: number })[] =>
    db
      .prepare(`SELECT id, body FROM items WHERE queue = 'in' ORDER BY id`)
      .all()
      .map(row => ({ ...(JSON.parse(String(row.body)) as NewEvent), item: Number(row.id) }))
  return {
    ...{ dir, db, store, inbox, agents, end },
    work(handle: Handle) {
      working = inbox.work(
        agents.skipReceived((taken, signal) => take(handle, taken, signal)),
        stop.signal,
      )
    },
    /** Nothing ends properly any more; the file is as after a kill. */
    async kill() {
      closed = true
      await db.close()
    },
    events,
    reports: () => events().flatMap(event => (event.what.kind === 'report' ? [{ ...event, what: event.what }] : [])),
  }
}

const must = (result: SpawnResult) => (result.ok ? result.agent : expect.fail(result.why))
const why = (result: SpawnResult) => (result.ok ? expect.fail('it was let through') : result.why)
const echo: Handle = async ({ item: { what } }) => ({
  ok: true,
  text: `did ${'instruction' in what ? what.instruction : what.text}`,
})
const untilStopped: Handle = (_, signal) =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve({ ok: false, text: 'Stopped.' })))
const gone = new Promise<never>(() => undefined)

describe('an assignment', () => {
  test('runs in its own lane, and its report goes to the parent, with the place of the conversation', async () => {
    const { agents, work, inbox, reports } = await open()
    work(echo)
    const wanted = { name: 'scout', instruction: 'look around', model: 'codex/gpt-5' }
    const { id } = must(await agents.spawn(wanted, main, 'k1'))
    await inbox.drain()
    expect(reports()).toMatchObject([
      {
        ...{ lane: root, replyTo: place, principal: owner, source: 'agent' },
        what: { kind: 'report', agent: id, name: 'scout', ok: true, text: 'did look around' },
      },
    ])
    expect(await agents.find(id)).toMatchObject({ state: 'done', progress: 'did look around', depth: 1, root })
  })

  test('given twice under one key runs once', async () => {
    const { agents, inbox, work, events } = await open()
    const [a, b] = await Promise.all([agents.spawn(task('x'), main, 'k'), agents.spawn(task('x'), main, 'k')])
    expect(must(a).id).toBe(must(b).id)
    work(echo)
    await inbox.drain()
    expect(must(await agents.spawn(task('x'), main, 'k'))).toMatchObject({ id: must(a).id, state: 'done' })
    expect(events().filter(({ what }) => what.kind === 'assignment')).toHaveLength(1)
  })

  test('of a guest cannot choose the backend, in any spelling', async () => {
    const { agents, events } = await open()
    const guest: Parent = { ...main, principal: { owner: false, person: 'mallory', origin: 'g' } }
    for (const [i, model] of ['codex', 'CODEX/gpt-5', 'pi/x'].entries())
      expect(why(await agents.spawn({ name: null, instruction: 'x', model }, guest, `g${i}`))).toContain('backend')
    must(await agents.spawn({ name: null, instruction: 'x', model: 'gpt-5' }, guest, 'g9'))
    expect(events().map(({ modelOverride }) => modelOverride)).toEqual([{ backend: null, model: 'gpt-5' }])
  })

  test('may name its model, in every spelling', async () => {
    const { agents, events } = await open()
    for (const [i, model] of ['codex', 'codex/gpt-5', '/gpt-5', 'gpt-5', 'x/y'].entries())
      must(await agents.spawn({ name: null, instruction: 'x', model }, main, String(i)))
    expect(events().map(({ modelOverride }) => [modelOverride?.backend, modelOverride?.model])).toEqual([
      ['codex', null],
      ['codex', 'gpt-5'],
      [null, 'gpt-5'],
      [null, 'gpt-5'],
      [null, 'x/y'],
    ])
  })

  test('that is deferred reports only when it ends', async () => {
    const { agents, work, inbox, reports } = await open()
    let times = 0
    work(async taken => (times++ === 0 ? 'put-off' : echo(taken, new AbortController().signal)))
    const { id } = must(await agents.spawn(task('x'), main, 'k'))
    await inbox.drain()
    expect(reports()).toHaveLength(0)
    expect(await agents.find(id)).toMatchObject({ state: 'waiting' })
    await inbox.wake(agentLane(id))
    await inbox.drain()
    expect(reports()).toMatchObject([{ what: { ok: true } }])
  })

  test('that throws, is empty, is too long or names no valid model is refused in plain words', async () => {
    const { agents, work, inbox, reports } = await open()
    work(() => Promise.reject(new Error('a bug')))
    const { id } = must(await agents.spawn(task('x'), main, 'k'))
    await inbox.drain()
    expect(reports()).toMatchObject([{ what: { ok: false, text: 'Broke.' } }])
    expect(await agents.find(id)).toMatchObject({ state: 'failed' })
    expect(why(await agents.spawn(task('  '), main, 'k1'))).toContain('empty')
    expect(why(await agents.spawn(task('x'.repeat(50_001)), main, 'k2'))).toContain('file')
    must(await agents.spawn(task('x'.repeat(50_000)), main, 'k4'))
    expect(why(await agents.spawn({ ...task('x'), model: 'a b' }, main, 'k3'))).toContain('model')
  })

  test('shows its progress while it runs', async () => {
    const { agents, inbox, work } = await open()
    const { id } = must(await agents.spawn(task('x'), main, 'k'))
    work(untilStopped)
    const live = agents.live({ key: 'other', lane: agentLane(id), earlier: [] } as unknown as Taken<NewEvent>)
    live.text('I look ')
    live.text('at it')
    expect((await agents.find(id))?.progress).toBe('I look at it')
    live.action('Reading notes.md', 'started')
    live.action('Reading notes.md', 'ended')
    expect((await agents.list(root)).map(one => one.progress)).toEqual(['Reading notes.md'])
    await live.close()
    expect((await agents.find(id))?.progress).toBe('')
    await agents.stop(id)
    await inbox.drain()
  })
})

describe('limits', () => {
  test('a third level, and a sixth sub-agent at a time, are refused in plain words', async () => {
    const { agents, work, inbox } = await open()
    const first = must(await agents.spawn(task('1'), main, '1'))
    const second = must(await agents.spawn(task('2'), within(first.id), '2'))
    expect(second).toMatchObject({ depth: 2, parent: agentLane(first.id), root })
    expect(why(await agents.spawn(task('3'), within(second.id), '3'))).toContain('cannot start sub-agents')
    for (const key of ['4', '5', '6']) must(await agents.spawn(task(key), main, key))
    expect(why(await agents.spawn(task('7'), main, '7'))).toContain('5 sub-agents')
    work(echo)
    await inbox.drain()
    must(await agents.spawn(task('7'), main, '7'))
  })

  test('a sub-agent that waits for a report counts, because its wake-up could not be refused', async () => {
    const { agents, work, inbox } = await open()
    const first = must(await agents.spawn(task('1'), main, '1'))
    const second = must(await agents.spawn(task('2'), within(first.id), '2'))
    work((taken, signal) => (taken.lane === agentLane(first.id) ? echo : untilStopped)(taken, signal))
    await expect.poll(async () => (await agents.find(first.id))?.state).toBe('done')
    expect(await agents.find(second.id)).toMatchObject({ state: 'working' })
    const more = await Promise.all(['3', '4', '5', '6'].map(key => agents.spawn(task(key), main, key)))
    expect(more.map(one => one.ok)).toEqual([true, true, true, false])
    for (const one of more) if (one.ok) await agents.stop(one.agent.id)
    await agents.stop(second.id)
    await inbox.drain()
  })

  test('a full inbox neither starts nor stores one', async () => {
    const { agents, store } = await open(folder(), { maxDepth: 1 })
    must(await agents.spawn(task('1'), main, '1'))
    expect(why(await agents.spawn(task('2'), main, '2'))).toBe('The queue is full.')
    expect(store.list()).toHaveLength(1)
  })
})

describe('a question', () => {
  test('goes to a lane that has ended, and the answer to the one that asked', async () => {
    const { agents, work, inbox, reports } = await open()
    work(echo)
    const a = must(await agents.spawn(task('a'), main, 'a'))
    const b = must(await agents.spawn(task('b'), main, 'b'))
    await inbox.drain()
    must(await agents.ask(a.id, 'and then?', main, 'q1'))
    must(await agents.ask(a.id, 'and then?', main, 'q1'))
    must(await agents.ask(a.id, 'from b', within(b.id), 'q2'))
    await inbox.drain()
    const told = reports().map(({ lane, what }) => [lane, what.text])
    expect(told.slice(2)).toEqual([
      [root, 'did and then?'],
      [agentLane(b.id), 'did from b'],
      // b's result goes to its own parent.
      [root, 'did did from b'],
    ])
  })

  test('can be asked only within the same conversation, and not of oneself', async () => {
    const { agents } = await open()
    const a = must(await agents.spawn(task('a'), main, 'a'))
    const elsewhere = { ...main, lane: 'discord:1' }
    expect(why(await agents.ask(a.id, 'x', elsewhere, 'q'))).toBe(`There is no sub-agent ${a.id} here.`)
    expect(why(await agents.ask('zzzz', 'x', main, 'q'))).toBe('There is no sub-agent zzzz here.')
    expect(why(await agents.ask(a.id, 'x', within(a.id), 'q'))).toBe('That is you.')
  })

  test('of the owner does not give a guest’s sub-agent the owner’s permissions', async () => {
    const { agents, work, inbox, reports } = await open()
    work(echo)
    const guest = { ...main, principal: { owner: false, person: 'guest', origin: 'g' } }
    const a = must(await agents.spawn(task('a'), guest, 'a'))
    must(await agents.ask(a.id, 'x', main, 'q'))
    await inbox.drain()
    expect(reports().map(({ principal }) => principal?.owner)).toEqual([false, false])
  })

  test('batched with a guest’s question does not run with the owner’s permissions, whoever asked last', async () => {
    const { agents, work, inbox, reports } = await open(folder(), { collect: true })
    const a = must(await agents.spawn(task('a'), main, 'a'))
    must(await agents.ask(a.id, 'x', { ...main, principal: { owner: false, person: 'guest', origin: 'g' } }, 'q1'))
    must(await agents.ask(a.id, 'y', main, 'q2'))
    work(echo)
    await inbox.drain()
    expect(reports().map(({ principal }) => principal?.owner)).toEqual([false])
  })

  test('batched with others is answered once to each that asked', async () => {
    const { agents, work, inbox, reports } = await open(folder(), { collect: true })
    const b = must(await agents.spawn(task('b'), main, 'b'))
    const a = must(await agents.spawn(task('a'), main, 'a'))
    must(await agents.ask(a.id, 'x', within(b.id), 'q1'))
    must(await agents.ask(a.id, 'y', main, 'q2'))
    work(echo)
    await inbox.drain()
    expect(
      reports()
        .filter(({ what }) => what.agent === a.id)
        .map(({ lane }) => lane)
        .sort(),
    ).toEqual([agentLane(b.id), root])
  })
})

describe('a stop', () => {
  test('ends waiting and running work with all its sub-agents, and the parent is notified once', async () => {
    const { agents, work, inbox, reports, store } = await open()
    const a = must(await agents.spawn(task('a'), main, 'a'))
    const b = must(await agents.spawn(task('b'), within(a.id), 'b'))
    must(await agents.ask(a.id, 'more', main, 'q'))
    work(untilStopped)
    await expect.poll(() => store.open().map(one => one.state)).toEqual(['running', 'running', 'waiting'])
    expect(await agents.stop(a.id)).toBe(true)
    await inbox.drain()
    expect(reports()).toMatchObject([{ lane: root, what: { agent: a.id, ok: false, text: 'Stopped.' } }])
    expect((await agents.list()).map(one => one.state)).toEqual(['stopped', 'stopped'])
    expect(await agents.stop(a.id)).toBe(false)
    expect(await agents.stop('zzzz')).toBe(false)
    must(await agents.ask(b.id, 'go on', main, 'q2'))
    expect(await agents.find(b.id)).toMatchObject({ state: 'working' })
    await agents.stop(b.id)
  })

  test('before anything has started is reported too', async () => {
    const { agents, reports } = await open()
    const a = must(await agents.spawn(task('a'), main, 'a'))
    expect(await agents.stop(a.id)).toBe(true)
    expect(reports()).toMatchObject([{ lane: root, what: { ok: false, text: 'Stopped before it began.' } }])
    expect(await agents.find(a.id)).toMatchObject({ state: 'stopped' })
  })

  test('of one that only waits for its sub-agents stops those, and its parent is notified', async () => {
    const { agents, work, inbox, reports } = await open()
    const a = must(await agents.spawn(task('a'), main, 'a'))
    const b = must(await agents.spawn(task('b'), within(a.id), 'b'))
    work((taken, signal) => (taken.lane === agentLane(b.id) ? untilStopped : echo)(taken, signal))
    await expect.poll(async () => (await agents.find(a.id))?.state).toBe('done')
    expect(await agents.stop(a.id)).toBe(true)
    await inbox.drain()
    expect(reports().map(({ lane, what }) => [lane, what.agent, what.ok])).toEqual([
      [root, a.id, true],
      [root, b.id, false],
    ])
  })

  test('prevents it from starting or asking anything else', async () => {
    const { agents, work, inbox } = await open()
    const leave = Promise.withResolvers<void>()
    work(async (_, signal) => {
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      await leave.promise
      return { ok: false, text: 'Stopped.' }
    })
    const a = must(await agents.spawn(task('a'), main, 'a'))
    const b = must(await agents.spawn(task('b'), main, 'b'))
    await agents.stop(a.id)
    expect(why(await agents.spawn(task('c'), within(a.id), 'c'))).toContain('being stopped')
    expect(why(await agents.ask(b.id, 'x', within(a.id), 'q'))).toContain('being stopped')
    leave.resolve()
    await agents.stop(b.id)
    await inbox.drain()
  })
})

describe('a kill', () => {
  test('between the row and the event leaves a sub-agent that is queued on the next start', async () => {
    const first = await open(folder(), { accept: () => () => gone })
    void first.agents.spawn(task('survive'), main, 'k')
    await expect.poll(() => first.store.list()).toHaveLength(1)
    await first.kill()
    const { agents, work, inbox, reports, store } = await open(first.dir)
    expect(await agents.list()).toMatchObject([{ state: 'waiting' }])
    await agents.recover()
    expect(store.notEntered()).toEqual([])
    work(echo)
    await inbox.drain()
    expect(reports()).toMatchObject([{ lane: root, what: { text: 'did survive' } }])
    await agents.recover()
    await inbox.drain()
    expect(reports()).toHaveLength(1)
  })

  test('between the event and its record runs it once', async () => {
    const first = await open(folder(), {
      accept: put => async event => {
        await put(event)
        return gone
      },
    })
    void first.agents.spawn(task('once'), main, 'k')
    await expect.poll(() => first.events()).toHaveLength(1)
    await first.kill()
    const { agents, work, inbox, reports } = await open(first.dir)
    work(echo)
    await inbox.drain()
    expect(await agents.list()).toMatchObject([{ state: 'done' }])
    await agents.recover()
    must(await agents.spawn(task('once'), main, 'k'))
    await inbox.drain()
    expect(reports()).toHaveLength(1)
  })

  test('that left a sub-agent which no longer fits is reported to the parent', async () => {
    const first = await open(folder(), { accept: () => () => gone })
    void first.agents.spawn(task('x'), main, 'k')
    await expect.poll(() => first.store.list()).toHaveLength(1)
    await first.kill()
    const { agents, reports } = await open(first.dir, { maxDepth: 0 })
    await agents.recover()
    expect(reports()).toMatchObject([{ lane: root, what: { ok: false, text: /could not be started/ } }])
    expect(await agents.list()).toEqual([])
  })

  test('while it runs: it is resumed, marked as interrupted, and reports once', async () => {
    const first = await open()
    first.work(() => gone)
    const { id } = must(await first.agents.spawn(task('long'), main, 'k'))
    await expect.poll(async () => (await first.agents.find(id))?.state).toBe('working')
    await first.kill()
    const { agents, work, inbox, reports } = await open(first.dir)
    expect(await agents.find(id)).toMatchObject({ state: 'waiting', progress: 'was interrupted and will be resumed' })
    const interrupted: boolean[] = []
    work((taken, signal) => {
      interrupted.push(taken.interrupted)
      return echo(taken, signal)
    })
    await inbox.drain()
    expect(interrupted).toEqual([true])
    expect(reports()).toHaveLength(1)
    expect(await agents.find(id)).toMatchObject({ state: 'done' })
  })

  test('again and again parks it, and the parent is notified', async () => {
    const dir = folder()
    for (let i = 0; i < 3; i++) {
      const each = await open(dir)
      each.work(() => gone)
      await each.agents.spawn(task('deadly'), main, 'k')
      await expect.poll(() => each.store.open().map(one => one.state)).toEqual(['running'])
      await each.kill()
    }
    const { work, inbox, reports, agents } = await open(dir)
    work(echo)
    await inbox.drain()
    expect(reports()).toMatchObject([{ what: { ok: false, text: 'Set aside.' } }])
    expect(await agents.list()).toMatchObject([{ state: 'failed' }])
  })
})

describe('channels', () => {
  test('keep the newest 200 posts each, in order, and refuse invalid names and long texts', async () => {
    const { agents } = await open()
    await Promise.all(Array.from({ length: 210 }, (_, i) => agents.publish('news', 'agent', `n${i}`)))
    await agents.publish('other', 'a1', 'x'.repeat(10_000))
    expect((await agents.read('news', 3)).map(one => one.text)).toEqual(['n207', 'n208', 'n209'])
    const all = await agents.read('news', 1000)
    expect([all.length, all[0]?.text]).toEqual([200, 'n10'])
    expect(await agents.read('other', 5)).toMatchObject([{ from: 'a1' }])
    expect(await agents.read('nothing-yet', 5)).toEqual([])
    for (const name of ['', 'A', 'a b', '../x', 'x'.repeat(41), 'a\n'])
      await expect(agents.publish(name, 'agent', 'x')).rejects.toThrow('1 to 40')
    await expect(agents.publish('news', 'agent', 'é'.repeat(5001))).rejects.toThrow('10 kB')
    await expect(agents.publish('news', 'agent', ' ')).rejects.toThrow('empty')
  })
})

const message = (key: string, text = key): NewEvent => ({
  ...{ key, lane: root, replyTo: place, source: 'webchat' },
  what: { kind: 'message', id: key, text, author: { id: 'owner', name: 'owner', owner: true } },
})
const never = new AbortController().signal
const longMs = 30_000

describe('an agent that waits', () => {
  const asking = (converse: (opened: Opened, taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome>) => {
    const seen: string[] = []
    let opened: Opened | null = null
    const ready = (given: { atOnce: number; dir?: string }) =>
      open(given.dir, {
        atOnce: given.atOnce,
        converse: async (taken, signal) => {
          seen.push(taken.item.what.kind)
          return opened && taken.item.what.kind === 'message' ? converse(opened, taken, signal) : { type: 'done' }
        },
      }).then(one => {
        opened = one
        return one
      })
    return { seen, ready }
  }
  type Opened = Awaited<ReturnType<typeof open>>

  test('gets the answer as the result even with a single place for all, and the report does not trigger it again', async () => {
    const answers: unknown[] = []
    const { seen, ready } = asking(async ({ agents }) => {
      const { id } = must(await agents.spawn(task('dig'), main, 'k1'))
      answers.push(await agents.answer(id, main, 'k1', longMs, never))
      must(await agents.ask(id, 'and then?', main, 'k2'))
      answers.push(await agents.answer(id, main, 'k2', longMs, never))
      return { type: 'done' }
    })
    const { inbox, work, reports, agents } = await ready({ atOnce: 1 })
    work(echo)
    await inbox.put(root, 'm', message('m'))
    await inbox.drain()
    expect(answers).toEqual([
      { type: 'answered', ok: true, text: 'did dig' },
      { type: 'answered', ok: true, text: 'did and then?' },
    ])
    expect(seen).toEqual(['message'])
    expect(reports()).toHaveLength(2)
    expect((await agents.list()).map(one => one.state)).toEqual(['done'])
  })

  test('that fails or is killed after it got the answer also gets the report', async () => {
    const { seen, ready } = asking(async ({ agents }) => {
      const { id } = must(await agents.spawn(task('dig'), main, 'k1'))
      await agents.answer(id, main, 'k1', longMs, never)
      return { type: 'failed', why: 'crashed' }
    })
    const { inbox, work } = await ready({ atOnce: 1 })
    work(echo)
    await inbox.put(root, 'm', message('m'))
    await inbox.drain()
    expect(seen).toEqual(['message', 'report'])
  })

  test('asks again after a kill and gets the same answer, without a second run', async () => {
    const dir = folder()
    let id = ''
    const begun: string[] = []
    const work: Handle = async taken => {
      begun.push(taken.key)
      return echo(taken, never)
    }
    const first = asking(async ({ agents }) => {
      id = must(await agents.spawn(task('dig'), main, 'k1')).id
      await agents.answer(id, main, 'k1', longMs, never)
      return gone
    })
    const before = await first.ready({ atOnce: 1, dir })
    before.work(work)
    await before.inbox.put(root, 'm', message('m'))
    await expect.poll(() => before.reports().length).toBe(1)
    await before.kill()
    const answers: unknown[] = []
    const second = asking(async ({ agents }, { interrupted }) => {
      const again = must(await agents.spawn(task('dig'), main, 'k1'))
      answers.push(interrupted, again.id, await agents.answer(id, main, 'k1', longMs, never))
      return { type: 'done' }
    })
    const after = await second.ready({ atOnce: 1, dir })
    after.work(work)
    await after.inbox.drain()
    expect(answers).toEqual([true, id, { type: 'answered', ok: true, text: 'did dig' }])
    expect(second.seen).toEqual(['message'])
    expect(begun).toHaveLength(1)
  })

  test('continues without an answer when the time is up, its turn ends or the gateway stops', async () => {
    const stopped = new AbortController()
    const { ready } = asking(async () => ({ type: 'done' }))
    const { agents, work, end } = await ready({ atOnce: 3 })
    work(untilStopped)
    const { id } = must(await agents.spawn(task('dig'), main, 'k1'))
    expect(await agents.answer(id, main, 'k1', 30, never)).toEqual({ type: 'pending', why: 'late' })
    expect(await agents.answer(id, main, 'k1', 0, never)).toEqual({ type: 'pending', why: 'late' })
    const cancelled = agents.answer(id, main, 'k1', longMs, stopped.signal)
    stopped.abort()
    expect(await cancelled).toMatchObject({ type: 'pending' })
    const halted = agents.answer(id, main, 'k1', longMs, never)
    const silent = agents.read('news', 10, { after: 0, lane: root, ms: longMs, signal: never })
    agents.endWaits()
    expect(await halted).toEqual({ type: 'pending', why: 'stopping' })
    expect(await silent).toEqual([])
    await agents.stop(id)
    expect(await agents.answer(id, main, 'k1', longMs, never)).toMatchObject({ type: 'answered', ok: false })
    await end()
  })

  test('does not wait for one that waits for it', async () => {
    const why: unknown[] = []
    const { ready } = asking(async () => ({ type: 'done' }))
    const { agents, work, inbox } = await ready({ atOnce: 5 })
    const ids = new Map<string, string>()
    const both = Promise.withResolvers<void>()
    work(async ({ item: { what } }) => {
      if (what.kind !== 'assignment' || (what.instruction !== 'a' && what.instruction !== 'b'))
        return { ok: true, text: 'yes' }
      await both.promise
      const [me, other] = what.instruction === 'a' ? ['a', 'b'] : ['b', 'a']
      const by = within(ids.get(me) ?? '')
      must(await agents.ask(ids.get(other) ?? '', 'well?', by, `ask-${me}`))
      const answer = await agents.answer(ids.get(other) ?? '', by, `ask-${me}`, longMs, never)
      why.push(answer.type === 'pending' ? answer.why : answer.type)
      return { ok: true, text: me }
    })
    for (const name of ['a', 'b']) ids.set(name, must(await agents.spawn(task(name), main, name)).id)
    both.resolve()
    await inbox.drain()
    expect(why).toEqual(['waits-for-you', 'answered'])
  })

  test('on a channel gets the next post, or those after the last one it has seen, of that channel only', async () => {
    const { agents } = await open()
    await agents.publish('news', 'x', 'old')
    const wait = { after: (await agents.read('news', 10))[0]?.id ?? 0, lane: root, ms: longMs, signal: never }
    const next = agents.read('news', 10, wait)
    await agents.publish('other', 'x', 'elsewhere')
    await agents.publish('news', 'x', 'new')
    expect((await next).map(one => one.text)).toEqual(['new'])
    await agents.publish('news', 'x', 'newer')
    expect((await agents.read('news', 1, wait)).map(one => one.text)).toEqual(['new'])
    expect((await agents.read('news', 10, wait)).map(one => one.text)).toEqual(['new', 'newer'])
    expect(await agents.read('news', 10, { ...wait, after: wait.after + 10, ms: 20 })).toEqual([])
  })
})

type Step =
  | { readonly do: 'spawn'; readonly by: number | null }
  | { readonly do: 'ask' | 'stop' | 'finish'; readonly which: number }

const steps = fc.array(
  fc.array(
    fc.oneof(
      fc.option(fc.nat(6)).map((by): Step => ({ do: 'spawn', by })),
      fc.tuple(fc.constantFrom('ask', 'stop', 'finish'), fc.nat(6)).map(([what, which]): Step => ({ do: what, which })),
    ),
    { minLength: 1, maxLength: 4 },
  ),
  { minLength: 1, maxLength: 12 },
)

test('whatever is spawned, asked and stopped: depth and number stay within limits, and every assignment is reported once', async () => {
  let refusals = 0
  let stops = 0
  await fc.assert(
    fc.asyncProperty(steps, async rounds => {
      const { agents, work, inbox, store, events, reports, end } = await open()
      const known: string[] = []
      const stopped: string[] = []
      const gates = new Map<string, () => void>()
      let over = false
      const check = () => {
        const lanes = new Set(store.open().map(one => one.agent))
        expect(lanes.size).toBeLessThanOrEqual(subAgentLimits.running)
      }
      work(async (taken, signal) => {
        check()
        if (taken.item.what.kind === 'assignment' && !over)
          await new Promise<void>(resolve => {
            gates.set(taken.lane, resolve)
            signal.addEventListener('abort', () => resolve())
          })
        return signal.aborted ? { ok: false, text: 'Stopped.' } : echo(taken, signal)
      })
      let n = 0
      const pick = (i: number) => (known.length === 0 ? null : (known[i % known.length] ?? null))
      const perform = async (step: Step) => {
        const key = `step-${n++}`
        const id = pick(step.do === 'spawn' ? (step.by ?? 0) : step.which)
        if (step.do === 'spawn') {
          const by = step.by === null ? null : id
          const result = await agents.spawn(task(key), by === null ? main : within(by), key)
          if (result.ok) known.push(result.agent.id)
          else refusals++
        } else if (id === null) return
        else if (step.do === 'ask') await agents.ask(id, key, main, key)
        else if (step.do === 'finish') gates.get(agentLane(id))?.()
        else if (await agents.stop(id)) {
          stops++
          stopped.push(id)
        }
      }
      for (const round of rounds) {
        await Promise.all(round.map(perform))
        check()
      }
      over = true
      for (const finish of gates.values()) finish()
      await inbox.drain()

      expect(store.open()).toEqual([])
      const rows = new Map(store.list().map(one => [one.id, one]))
      for (const one of rows.values()) {
        expect(one.depth).toBeLessThanOrEqual(subAgentLimits.depth)
        expect(['done', 'stopped']).toContain(one.state)
      }
      const isUnder = (id: string | null, top: string): boolean =>
        id !== null && (id === top || isUnder(agentOf(rows.get(id)?.parent ?? ''), top))
      const told = reports()
      for (const { what, item } of events()) {
        if (what.kind !== 'assignment') continue
        const mine = told.filter(one => one.key === reportKey(what.agent, item))
        expect(mine.length).toBeLessThanOrEqual(1)
        const tops = stopped.filter(top => isUnder(what.agent, top))
        if (tops.length === 0) expect(mine.map(one => one.lane)).toEqual([what.reportTo.lane])
        // One report covers everything that was stopped together, but everyone who still waits gets an answer.
        const { lane } = what.reportTo
        const heard = told.some(
          one => one.item > item && one.lane === lane && [what.agent, ...tops].some(of => isUnder(one.what.agent, of)),
        )
        expect(heard || stopped.some(top => isUnder(agentOf(lane), top))).toBe(true)
      }
      // At most one per stop; two if a conversation had asked a sub-agent of its sub-agent.
      const deeper = stopped.filter(id => rows.get(id)?.depth === 2)
      expect(told.filter(one => one.what.text.startsWith('Stopped')).length).toBeLessThanOrEqual(
        stopped.length + deeper.length,
      )
      await end()
    }),
    { numRuns: 120 },
  )
  // Otherwise the above proves nothing.
  expect(refusals).toBeGreaterThan(20)
  expect(stops).toBeGreaterThan(20)
}, 60_000)
