// The gate: who may speak, and how often.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BudgetRules, Spent } from '../base/budget.ts'
import type { EventPayload, NewEvent, Sender } from '../base/event.ts'
import type { Decision, GateRules } from '../base/pairing.ts'
import { createBudget, createGate } from './gate.ts'

const nobody: GateRules = { owners: [], users: [], roles: [], channels: [], guilds: [], perMinute: 0 }
const sender: Sender = { chat: 'discord', user: 'u', roles: ['r'], channel: 'c', guild: 'g', where: '#c of G' }

function setup(rules: Partial<GateRules> = {}, decided: Readonly<Record<string, Decision>> = {}) {
  const given = { ...nobody, ...rules }
  let now = 1_000_000
  const requested: string[] = []
  const gate = createGate({
    rules: () => given,
    now: () => now,
    decided: (chat, user) => decided[`${chat}:${user}`] ?? null,
    letIn: chat =>
      Object.entries(decided).flatMap(([who, as]) =>
        as !== 'denied' && who.startsWith(`${chat}:`) ? [who.slice(chat.length + 1)] : [],
      ),
    request: async ({ chat, user }) => (requested.push(`${chat}:${user}`) === 1 ? 'CODE' : null),
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { gate, requested, pass }
}

test('people lists who may speak everywhere in this chat', () => {
  const rules = { owners: ['discord:1', '2'], users: ['3', 'slack:4', 'discord:1'], channels: ['5'], roles: ['6'] }
  const { gate } = setup(rules, {
    'discord:7': 'guest',
    'slack:8': 'owner',
    'discord:9': 'denied',
    'discord:2': 'owner',
  })
  expect(gate.people('discord')).toEqual(['1', '2', '7', '3'])
})

test('with nothing configured everybody is a stranger and gets one code', async () => {
  const { gate, requested } = setup()
  expect(gate.who(sender)).toBeNull()
  expect(requested).toEqual([])
  expect(await gate.admit(sender, 'Ada')).toEqual({ type: 'stranger', code: 'CODE' })
  expect(await gate.admit(sender, 'Ada')).toEqual({ type: 'stranger', code: null })
})

test.each<[string, Partial<GateRules>, Record<string, Decision>, Partial<Sender>, 'owner' | 'guest' | null]>([
  ['an owner by id', { owners: ['u'] }, {}, {}, 'owner'],
  ['an owner by chat and id', { owners: ['discord:u'] }, {}, {}, 'owner'],
  ['the same id in another chat', { owners: ['slack:u'] }, {}, {}, null],
  ['an id without a chat, which is one of Discord', { owners: ['u'], users: ['u'] }, {}, { chat: 'telegram' }, null],
  ['an owner who was denied by mistake', { owners: ['u'] }, { 'discord:u': 'denied' }, {}, 'owner'],
  ['a user on the list, in a direct message', { users: ['u'] }, {}, { guild: null, channel: 'dm', roles: [] }, 'guest'],
  ['a user on the list, outside of the listed channels', { users: ['u'], channels: ['other'] }, {}, {}, 'guest'],
  ['anybody in a listed channel, with users listed too', { users: ['other'], channels: ['c'] }, {}, {}, 'guest'],
  ['anybody in a listed guild', { guilds: ['discord:g'] }, {}, {}, 'guest'],
  ['a direct message, with guilds listed', { guilds: ['g'] }, {}, { guild: null }, null],
  ['a role on the list', { roles: ['x', 'r'] }, {}, {}, 'guest'],
  ['a role that is not', { roles: ['x'] }, {}, {}, null],
  ['ids do not count in the wrong list', { users: ['c', 'g', 'r'], channels: ['u'], roles: ['u'] }, {}, {}, null],
  ['somebody who was approved', {}, { 'discord:u': 'guest' }, {}, 'guest'],
  ['somebody who was approved as an owner', {}, { 'discord:u': 'owner' }, {}, 'owner'],
  ['somebody who was approved in another chat', {}, { 'slack:u': 'owner' }, {}, null],
  [
    'somebody who was denied, in a listed channel',
    { channels: ['c'], roles: ['r'] },
    { 'discord:u': 'denied' },
    {},
    null,
  ],
  ['somebody who was denied but is listed', { users: ['u'] }, { 'discord:u': 'denied' }, {}, 'guest'],
])('%s', async (_, rules, decided, given, expected) => {
  const { gate } = setup(rules, decided)
  expect(gate.who({ ...sender, ...given })).toBe(expected)
})

test('a denied person gets no code', async () => {
  const { gate, requested } = setup({}, { 'discord:u': 'denied' })
  expect(await gate.admit(sender, 'Ada')).toEqual({ type: 'stranger', code: null })
  expect(requested).toEqual([])
})

test('people who are neither listed nor approved stay strangers, whatever their name', async () => {
  const id = fc.constantFrom('1', '2', '3', '4', 'discord', 'discord:1', '__proto__', '')
  const ids = fc.array(id, { maxLength: 2 })
  const rules = fc.record({
    owners: ids,
    users: ids,
    roles: ids,
    channels: ids,
    guilds: ids,
    perMinute: fc.constant(0),
  })
  const someone = fc.record({
    ...{ chat: fc.constant('discord'), user: id, roles: ids, channel: id, guild: fc.option(id), where: fc.string() },
  })
  await fc.assert(
    fc.asyncProperty(rules, someone, async (given, who) => {
      const { gate } = setup(given)
      const on = (list: readonly string[], one: string | null) =>
        one !== null && (list.includes(`discord:${one}`) || (!one.includes(':') && list.includes(one)))
      const owner = on(given.owners, who.user)
      const places = on(given.channels, who.channel) || on(given.guilds, who.guild)
      const guest = on(given.users, who.user) || who.roles.some(role => on(given.roles, role)) || places
      expect(gate.who(who)).toBe(owner ? 'owner' : guest ? 'guest' : null)
      const verdict = await gate.admit(who, 'owner')
      expect(verdict).toMatchObject(owner || guest ? { type: 'in', owner } : { type: 'stranger' })
    }),
    { numRuns: 1000 },
  )
})

test('over the limit per minute there is one warning, then silence; the next minute starts over', async () => {
  const { gate, pass } = setup({ users: ['u', 'v'], perMinute: 3 })
  const say = async (user = 'u') => gate.admit({ ...sender, user }, '')
  for (let i = 0; i < 3; i++) {
    expect(await say()).toEqual({ type: 'in', owner: false })
    pass(10_000)
  }
  expect(await say()).toEqual({ type: 'too-fast', warn: true })
  expect(await say()).toEqual({ type: 'too-fast', warn: false })
  expect(await say('v')).toEqual({ type: 'in', owner: false })
  pass(30_000)
  expect(await say()).toEqual({ type: 'in', owner: false })
  expect(await say()).toEqual({ type: 'too-fast', warn: false })
  pass(30_000)
  for (let i = 0; i < 2; i++) expect(await say()).toEqual({ type: 'in', owner: false })
  expect(await say()).toEqual({ type: 'too-fast', warn: true })
})

test('after the clock is set back, earlier messages do not count against anybody', async () => {
  const { gate, pass } = setup({ users: ['u'], perMinute: 2 })
  const say = async () => (await gate.admit(sender, '')).type
  pass(100_000)
  expect([await say(), await say(), await say()]).toEqual(['in', 'in', 'too-fast'])
  pass(-30_000)
  expect([await say(), await say(), await say()]).toEqual(['in', 'in', 'too-fast'])
})

test('no minute admits more than the limit, with at most one warning', async () => {
  const steps = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), async (pauses, perMinute) => {
      const { gate, pass } = setup({ users: ['u'], perMinute })
      const at = { in: [] as number[], warn: [] as number[] }
      let now = 0
      for (const pause of pauses) {
        pass(pause)
        now += pause
        const verdict = await gate.admit(sender, '')
        const lastMinute = at.in.filter(time => time > now - 60_000)
        expect(verdict.type).toBe(lastMinute.length < perMinute ? 'in' : 'too-fast')
        if (verdict.type === 'in') at.in.push(now)
        if (verdict.type === 'too-fast' && verdict.warn) at.warn.push(now)
      }
      expect(at.warn.every((time, i) => i === 0 || time - (at.warn[i - 1] ?? 0) >= 60_000)).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test('messages written over hours but received at once are not a flood; messages written in one minute are', async () => {
  const { gate } = setup({ users: ['u'], perMinute: 2 })
  const written = async (at: number) => gate.admit({ ...sender, at }, '')
  for (let hour = 1; hour <= 50; hour++) expect(await written(hour * 3_600_000)).toEqual({ type: 'in', owner: false })
  expect(await written(30 * 3_600_000 + 1000)).toEqual({ type: 'in', owner: false })
  expect(await written(30 * 3_600_000 + 2000)).toEqual({ type: 'too-fast', warn: true })
  expect(await written(30 * 3_600_000 - 2000)).toEqual({ type: 'too-fast', warn: false })
})

test('no more messages written in one minute are admitted than the limit, in any order of arrival', async () => {
  const times = fc.array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(times, fc.integer({ min: 1, max: 5 }), async (order, perMinute) => {
      const { gate } = setup({ users: ['u'], perMinute })
      const admitted: number[] = []
      for (const at of order) if ((await gate.admit({ ...sender, at }, '')).type === 'in') admitted.push(at)
      for (const from of admitted)
        expect(admitted.filter(at => at >= from && at < from + 60_000).length).toBeLessThanOrEqual(perMinute)
    }),
    { numRuns: 300 },
  )
})

test('a clock that is set back silences nobody', async () => {
  const { gate, pass } = setup({ users: ['u'], perMinute: 1 })
  await gate.admit(sender, '')
  pass(-3_600_000)
  expect(await gate.admit(sender, '')).toEqual({ type: 'in', owner: false })
})

test('the owner may write as fast as they like, and without a limit everybody may', async () => {
  const limited = setup({ owners: ['u'], perMinute: 1 })
  const free = setup({ users: ['u'], perMinute: 0 })
  for (let i = 0; i < 100; i++) {
    expect(await limited.gate.admit(sender, '')).toEqual({ type: 'in', owner: true })
    expect(await free.gate.admit(sender, '')).toEqual({ type: 'in', owner: false })
  }
})

const none: BudgetRules = { dailyUsd: null, dailyTokens: null, personUsd: null, sourceUsd: {} }
const nothing: Spent = { usd: 0, tokens: 0 }
const open = (rules: Partial<BudgetRules>, total: Partial<Spent>, of: Readonly<Record<string, number>> = {}) =>
  createBudget({
    rules: () => ({ ...none, ...rules }),
    spent: () => ({
      ...nothing,
      ...total,
      ofSource: name => ({ ...nothing, usd: of[name] ?? 0 }),
      ofPerson: name => ({ ...nothing, usd: of[name] ?? 0 }),
    }),
  })
const event = (what: EventPayload, source: string): NewEvent => ({ key: 'k', lane: 'l', what, replyTo: null, source })
const says = (id: string, owner: boolean) =>
  event({ kind: 'message', id: '1', text: 'x', author: { id, name: id, owner } }, 'discord')
const job = event({ kind: 'cron', name: 'x', instruction: 'x' }, 'cron')
const beat = event({ kind: 'heartbeat', name: 'x', instruction: 'x' }, 'heartbeat')
const hook = event({ kind: 'webhook', name: 'x', instruction: 'x', payload: '' }, 'webhook')

test('without limits nothing is ever refused', () => {
  const budget = open({}, { usd: 1e9, tokens: 1e12 })
  for (const one of [job, beat, hook, says('ada', false)]) expect(budget.objection(one)).toBeNull()
  expect(budget.view()).toBeNull()
})

test('jobs pause at 80 % of the budget, guests and webhooks at 100 %, the owner never', () => {
  const verdicts = (usd: number) => {
    const budget = open({ dailyUsd: 10 }, { usd })
    return [beat, job, hook, says('ada', false), says('me', true)].map(one => budget.objection(one))
  }
  expect(verdicts(7.9)).toEqual([null, null, null, null, null])
  expect(verdicts(8)).toEqual(['day', 'day', null, null, null])
  expect(verdicts(10)).toEqual(['day', 'day', 'day', 'day', null])
})

test('tokens count when the cost is unknown', () => {
  expect(open({ dailyTokens: 1000 }, { tokens: 900 }).objection(job)).toBe('day')
  expect(open({ dailyTokens: 1000 }, { tokens: 900 }).view()).toEqual({
    usd: null,
    tokens: { spent: 900, of: 1000 },
    level: 'paused',
  })
})

test('a source and a person have limits of their own', () => {
  const budget = open({ sourceUsd: { heartbeat: 1 }, personUsd: 2 }, {}, { heartbeat: 1, ada: 2, bob: 1.9 })
  expect(budget.objection(beat)).toBe('source')
  expect(budget.objection(job)).toBeNull()
  expect(budget.objection(says('ada', false))).toBe('person')
  expect(budget.objection(says('bob', false))).toBeNull()
  expect(budget.objection(says('ada', true))).toBeNull()
})

test('spending more never allows more', () => {
  const amounts = fc.double({ min: 0, max: 20, noNaN: true })
  fc.assert(
    fc.property(amounts, amounts, fc.constantFrom(beat, job, hook, says('ada', false)), (a, b, one) => {
      const refused = (usd: number) => open({ dailyUsd: 10 }, { usd }).objection(one) !== null
      if (refused(Math.min(a, b))) expect(refused(Math.max(a, b))).toBe(true)
    }),
    { numRuns: 200 },
  )
})
