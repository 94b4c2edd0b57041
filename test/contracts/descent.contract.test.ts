// Whatever sub-agents and reports do, what descends from one message of a person ends: on real lanes and a real database, across restarts.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { DescentRules } from '../../src/base/descent.ts'
import {
  agentOf,
  type EventSink,
  isBackground,
  type NewEvent,
  type Principal,
  principalOfAll,
} from '../../src/base/event.ts'
import type { Outcome, Taken } from '../../src/base/lanes.ts'
import { once } from '../../src/base/once.ts'
import { subAgentLimits } from '../../src/base/subagents.ts'
import { createDescentLimits } from '../../src/intake/index.ts'
import { openLanes } from '../../src/lanes/index.ts'
import { openSubAgents } from '../../src/run/index.ts'
import { createDescentStore, createQueueStore, createSubAgentStore, openDatabase } from '../../src/store/index.ts'

const closing: (() => Promise<void>)[] = []
const folders: string[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true, force: true })
})

const rulesOf = (given: Partial<DescentRules> = {}): DescentRules => ({ turns: 10, messages: 10, hourly: 60, ...given })
const by = (person: string | null, origin: string, owner = false): Principal => ({ owner, person, origin })

function newFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-descent-'))
  folders.push(dir)
  return dir
}

function openLimits(dir: string, rules: DescentRules, now = () => Date.now()) {
  const db = openDatabase(join(dir, 'test.db'))
  const clock = { ...systemClock, now }
  const close = once(() => db.close())
  closing.push(close)
  return { db, close, limits: createDescentLimits({ store: createDescentStore(db, clock), rules: () => rules, now }) }
}

/** An agent that starts another one in every turn, and whose reports start another one, and so on. */
async function obedient(dir: string, rules: DescentRules, spawns: () => number, works = true) {
  const { db, limits } = openLimits(dir, rules)
  const queueStore = createQueueStore(db, systemClock)
  const inbox = await openLanes<NewEvent>(queueStore, systemClock, {
    ...{ queue: 'in', atOnce: 10, maxDepth: 1000, busy: 'queue', background: isBackground, collect: false },
    ...{ taking: 'durably', maxAttempts: 3 },
    giveUp: () => ({ type: 'failed', why: 'set aside' }),
    broke: () => ({ type: 'failed', why: 'broke' }),
    stuck: error => {
      throw error
    },
  })
  const accept: EventSink = async event => {
    const put = await inbox.put(event.lane, event.key, event)
    return put.type === 'refused' ? { type: 'refused', why: put.why, reason: 'full' } : put
  }
  let id = 0
  const agents = openSubAgents({
    ...{ store: createSubAgentStore(db, systemClock), inbox, accept, clock: systemClock, newId: () => `a${id++}` },
    limits: { ...subAgentLimits, perGuest: () => (works ? 3 : 2) },
    takeTurns: limits.takeTurns,
  })
  const turns: NewEvent[] = []
  async function take(taken: Taken<NewEvent>): Promise<Outcome> {
    turns.push(taken.item)
    const agent = agentOf(taken.lane)
    const parent = { lane: taken.lane, place: null, principal: principalOfAll([taken.item]), agent }
    for (let n = spawns(); n > 0; n--)
      await agents.spawn({ name: null, instruction: 'again', model: null }, parent, `${taken.key}#${n}`)
    return agent === null
      ? { type: 'done' }
      : { type: 'done', followUps: agents.reports(taken, { kind: 'final', ok: true, text: 'again' }) }
  }
  const stop = new AbortController()
  const working = works ? inbox.work(take, stop.signal) : null
  closing.unshift(async () => {
    stop.abort()
    await working
  })
  return { accept, inbox, turns, agents, limits }
}

const message = (key: string, person: string, owner = false): NewEvent => ({
  ...{ key, lane: 'discord:1', replyTo: null, source: 'discord' },
  what: { kind: 'message', id: key, text: 'go', author: { id: person, name: person, owner } },
})

test.each([1, 2, 5])(
  'a message whose every turn starts %i sub-agents causes at most as many turns as allowed',
  async n => {
    for (const owner of [false, true]) {
      const { accept, inbox, turns } = await obedient(newFolder(), rulesOf({ turns: 10 }), () => n)
      await accept(message('m1', 'eve', owner))
      await inbox.drain()
      expect(turns.length).toBeLessThanOrEqual(10)
      expect(turns.length).toBeGreaterThan(4)
      // All of them are known to descend from it, and the next message starts anew.
      expect(new Set(turns.map(event => principalOfAll([event]).origin))).toEqual(new Set(['m1']))
      await accept(message('m2', 'eve', owner))
      await inbox.drain()
      expect(turns.filter(event => principalOfAll([event]).origin === 'm2').length).toBeGreaterThan(4)
    }
  },
)

test('follow-up questions count like new tasks', async () => {
  const rig = await obedient(newFolder(), rulesOf({ turns: 7 }), () => 0)
  const parent = { lane: 'discord:1', place: null, principal: by('eve', 'm'), agent: null }
  const spawned = await rig.agents.spawn({ name: null, instruction: 'x', model: null }, parent, 'k')
  if (!spawned.ok) expect.fail(spawned.why)
  await rig.inbox.drain()
  const asked: boolean[] = []
  for (const n of [1, 2, 3, 4]) {
    asked.push((await rig.agents.ask(spawned.agent.id, 'and?', parent, `q${n}`)).ok)
    await rig.inbox.drain()
  }
  expect(asked).toEqual([true, true, false, false])
})

test('one guest cannot take the places of others, and all guests leave places to the owner', async () => {
  // Nothing is worked on, so all of them wait.
  const { agents } = await obedient(newFolder(), rulesOf({ turns: 100, hourly: null }), () => 0, false)
  const spawn = async (principal: Principal, key: string) => {
    const parent = { lane: `discord:${principal.person}`, place: null, principal, agent: null }
    const result = await agents.spawn({ name: null, instruction: 'x', model: null }, parent, key)
    return result.ok ? 'started' : result.why
  }
  expect(await spawn(by('eve', 'e1'), 'e1')).toBe('started')
  expect(await spawn(by('eve', 'e2'), 'e2')).toBe('started')
  expect(await spawn(by('eve', 'e3'), 'e3')).toMatch(/limit of 2 sub-agents of one guest/)
  expect(await spawn(by('bob', 'b1'), 'b1')).toBe('started')
  expect(await spawn(by(null, 'w1'), 'w1')).toMatch(/limit of 3 sub-agents of all guests/)
  expect(await spawn(by('ada', 'a1', true), 'a1')).toBe('started')
  expect(await spawn(by('ada', 'a2', true), 'a2')).toBe('started')
  expect(await spawn(by('ada', 'a3', true), 'a3')).toMatch(/limit of 5 sub-agents that/)
})

test('messages of one request are bounded, however many are sent at once', async () => {
  const { limits } = openLimits(newFolder(), rulesOf({ messages: 10 }))
  const answers = await Promise.all(Array.from({ length: 300 }, () => limits.takeMessage(by('eve', 'm'))))
  expect(answers.filter(one => one === null)).toHaveLength(10)
  expect(answers.at(-1)).toMatch(/limit of 10 messages/)
  expect(await limits.takeMessage(by('eve', 'another'))).toBe(null)
})

test('a guest has so many turns in an hour, over all of their messages; the owner and webhooks are not counted by person', async () => {
  let now = 1_000_000_000
  const { limits } = openLimits(newFolder(), rulesOf({ turns: 100, hourly: 5 }), () => now)
  for (const n of [1, 2, 3]) expect(await limits.admits(by('eve', `m${n}`))).toBe(true)
  expect(await limits.takeTurns(by('eve', 'm3'), 2)).toBe(null)
  expect(await limits.admits(by('eve', 'm4'))).toBe(false)
  expect(await limits.takeTurns(by('eve', 'm3'), 2)).toMatch(/in an hour/)
  expect(await limits.admits(by('eve', 'm3'))).toBe(true)
  expect(await limits.admits(by('bob', 'b1'))).toBe(true)
  for (const n of [1, 2, 3, 4, 5, 6, 7]) {
    expect(await limits.admits(by('ada', `o${n}`, true))).toBe(true)
    expect(await limits.admits(by(null, `w${n}`))).toBe(true)
  }
  now += 3_600_001
  expect(await limits.admits(by('eve', 'm5'))).toBe(true)
})

test('across restarts nothing is forgotten: no order of requests and restarts gets beyond the limits', async () => {
  const step = fc.oneof(
    fc.record({
      type: fc.constant('turns' as const),
      origin: fc.constantFrom('a', 'b'),
      n: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({ type: fc.constant('message' as const), origin: fc.constantFrom('a', 'b'), n: fc.constant(1) }),
    fc.record({ type: fc.constant('restart' as const), origin: fc.constant('a'), n: fc.constant(0) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const dir = newFolder()
      let open = openLimits(dir, rulesOf({ turns: 7, messages: 3, hourly: 9 }))
      const granted = { a: { turns: 0, message: 0 }, b: { turns: 0, message: 0 } } as Record<
        string,
        { turns: number; message: number }
      >
      for (const { type, origin, n } of steps) {
        if (type === 'restart') {
          await open.close()
          open = openLimits(dir, rulesOf({ turns: 7, messages: 3, hourly: 9 }))
          continue
        }
        const who = by('eve', origin)
        const why = type === 'turns' ? await open.limits.takeTurns(who, n) : await open.limits.takeMessage(who)
        if (why === null) granted[origin]![type] += n
      }
      await open.close()
      for (const { turns, message } of Object.values(granted)) {
        expect(turns + 1).toBeLessThanOrEqual(7)
        expect(message).toBeLessThanOrEqual(3)
      }
      expect(granted.a!.turns + granted.b!.turns).toBeLessThanOrEqual(9)
    }),
    { numRuns: 25 },
  )
})
