// What the Settings page shows and changes, with real files that guests may edit too.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { NewEvent } from '../../src/base/event.ts'
import type { Taken } from '../../src/base/lanes.ts'
import { configFixture } from '../../src/config/config.fixture.ts'
import { createLiveConfig, createSettings, showProblems } from '../../src/config/index.ts'
import { byHand, createChanges, createFileGuard, openDatabase } from '../../src/store/index.ts'

const fixture = configFixture({ beforeEach, afterEach })
let close: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of close) await end()
  close = []
})

async function open(env: Record<string, string> = {}, flags: Record<string, string> = {}) {
  mkdirSync(fixture.path('config/.aetheel'))
  const db = openDatabase(fixture.path('config/.aetheel/test.db'))
  close.unshift(db.close)
  const loaded = await fixture.good(env, flags)
  const live = await createLiveConfig({
    loaded,
    load: instead => fixture.load(env, flags, instead),
    onReload: () => undefined,
  })
  const fileGuard = createFileGuard({
    ...{
      dir: fixture.path('config'),
      changes: createChanges(db, systemClock),
      clock: systemClock,
      emit: () => undefined,
    },
    async checkConfig(file, text) {
      const next = await live.load({ [file]: text })
      return next.ok ? null : showProblems(next.problems)
    },
    async configChanged() {
      await live.reload()
    },
    ...{ notify: () => undefined, scrub: (text: string) => text },
  })
  await fileGuard.begin([])
  const name = 'bot-config.json'
  const file = {
    approved: () => fileGuard.approved(name),
    edit: (change: (text: string | null) => string | null | undefined) => fileGuard.edit(name, byHand, change),
  }
  const admin = await createSettings({ live, file })
  const row = async (key: string) => (await admin.read()).values.find(one => one.key === key)
  return { admin, live, fileGuard, row }
}

const written = () => JSON.parse(readFileSync(join(fixture.path('config'), 'bot-config.json'), 'utf8'))

test('each option has its value, its source, and whether it can be changed here', async () => {
  await fixture.writeConfig({ http: { token: 'hunter2hunter2hunter2' }, models: { cron: 'codex/gpt-5' } })
  await fixture.writeBotConfig({ 'agent.model': 'opus', 'gate.rate_limit': 5 })
  const { row } = await open({ RATE_LIMIT: '7', BACKEND_CLI_PATH: '/opt/hunter2hunter2hunter2/x' }, { port: '0' })
  // A path is shown, but not a secret in it.
  expect(await row('agent.cli_path')).toMatchObject({ value: '/opt/********/x' })
  expect(await row('agent.model')).toMatchObject({
    ...{ value: 'opus', from: 'bot-config.json', here: true, locked: null, live: true, kind: 'text', default: null },
  })
  expect(await row('gate.rate_limit')).toMatchObject({ value: 7, from: 'environment', here: true, default: 20 })
  expect((await row('gate.rate_limit'))?.locked).toContain('RATE_LIMIT in the environment')
  expect((await row('http.port'))?.locked).toContain('--port')
  expect(await row('http.token')).toMatchObject({ value: '********', secret: true, from: 'config.json' })
  expect(await row('discord.bot_token')).toMatchObject({ value: null, secret: true })
  expect(await row('mcp.servers')).toMatchObject({ value: null, secret: true })
  expect(await row('models.cron')).toMatchObject({ value: 'codex/gpt-5', kind: 'text' })
  expect(await row('discord.catchup_max_age')).toMatchObject({ value: '1d', default: '1d' })
  expect(await row('allowed_tools')).toMatchObject({ kind: 'list', value: expect.arrayContaining(['Read']) })
  expect(await row('queue.busy')).toMatchObject({ kind: 'choice', choices: ['reject', 'queue'] })
  expect(await row('log.file')).toMatchObject({ kind: 'choice', value: 'true' })
  expect((await row('config_dir'))?.locked).toContain('CONFIG_DIR')
})

test('a shown value can be written back and means the same', async () => {
  await fixture.writeConfig({
    ...{ models: { cron: '/haiku' }, budget: { source_usd: { cron: 2.5, discord: 1 } }, log: { file: 'warn' } },
    ...{ discord: { catchup_max_age: '90m' }, owner: { users: ['discord:1', '2'] }, agent: { fallback: ['codex'] } },
  })
  const { admin, live } = await open()
  const before = live.good().config
  const { values } = await admin.read()
  const set = Object.fromEntries(
    values.flatMap(one =>
      one.locked === null && one.value !== null && one.value !== '' ? [[one.key, one.value]] : [],
    ),
  )
  expect(await admin.change(set)).toMatchObject({ ok: true, applied: [], later: [] })
  expect(Object.keys(written())).toEqual(Object.keys(set))
  expect(JSON.stringify(live.good().config)).toBe(JSON.stringify(before))
})

test('a change takes effect immediately or after a restart, is in the file, and can be reset', async () => {
  const { admin, live, row } = await open()
  const changed = await admin.change({ 'agent.model': 'opus', 'http.port': 9000, 'queue.busy': 'queue' })
  expect(changed).toMatchObject({ ok: true, applied: ['agent.model'], later: ['queue.busy', 'http.port'] })
  expect(live.current().agent.model).toBe('opus')
  expect(live.current().http.port).toBe(8080)
  expect(await row('http.port')).toMatchObject({ value: 9000, waits: true, from: 'bot-config.json' })
  expect(written()).toEqual({ 'agent.model': 'opus', 'http.port': 9000, 'queue.busy': 'queue' })
  expect(await admin.change({ 'http.port': null, 'agent.model': null })).toMatchObject({
    ...{ ok: true, applied: ['agent.model'], later: ['http.port'] },
  })
  expect(written()).toEqual({ 'queue.busy': 'queue' })
  expect(await row('http.port')).toMatchObject({ value: 8080, waits: false, here: false })
})

test('with one mistake nothing is written; all mistakes are reported by key', async () => {
  const { admin } = await open({ RATE_LIMIT: '7' })
  const refused = await admin.change({
    ...{ 'agent.model': 'opus', 'http.port': 'x', 'agent.max_turns': -1, 'http.token': 'hunter2hunter2hunter2' },
    ...{ 'gate.rate_limit': 3, nonsense: 1, 'owner.users': [''], __proto__: 1 },
  })
  expect(refused.ok).toBe(false)
  expect(refused.ok || refused.problems.map(({ key }) => key).toSorted()).toEqual([
    ...['agent.max_turns', 'gate.rate_limit', 'http.port', 'http.token', 'nonsense', 'owner.users'],
  ])
  expect(JSON.stringify(refused)).not.toContain('hunter2')
  expect(() => written()).toThrow('ENOENT')
  // A mistake that only appears when all values are combined.
  expect(await admin.change({ 'http.host': '0.0.0.0' })).toMatchObject({ ok: false, problems: [{ key: 'http.token' }] })
  expect(() => written()).toThrow('ENOENT')
})

test('two simultaneous changes of different options are both kept, and so are manual edits', async () => {
  await fixture.writeBotConfig({ 'agent.model': 'a', later_version: { x: 1 } })
  const { admin } = await open()
  const changes = Array.from({ length: 10 }, (_, i) =>
    admin.change(i % 2 ? { 'http.port': 9000 + i } : { 'queue.max_depth': 10 + i }),
  )
  expect((await Promise.all(changes)).every(({ ok }) => ok)).toBe(true)
  expect(written()).toEqual({ 'agent.model': 'a', later_version: { x: 1 }, 'queue.max_depth': 18, 'http.port': 9009 })
})

test('a file with mistakes is reported with the last good values, and can be repaired key by key', async () => {
  const { admin, row } = await open()
  await fixture.writeBotConfig({ 'agent.model': 'opus', 'query.max_ms': 'soon' })
  expect(await admin.read()).toMatchObject({ trouble: expect.stringMatching(/query\.max_ms.*bot-config\.json/) })
  expect(await row('agent.model')).toMatchObject({ value: null })
  expect(await admin.change({ 'agent.model': 'haiku' })).toMatchObject({
    ok: false,
    problems: [{ key: 'query.max_ms' }],
  })
  expect(await admin.change({ 'query.max_ms': 5000 })).toMatchObject({ ok: true })
  expect(await admin.read()).toMatchObject({ trouble: null })
  await fixture.writeBotConfig('not json')
  expect(await admin.change({ 'agent.model': 'haiku' })).toMatchObject({
    ok: false,
    why: expect.stringContaining('by hand'),
  })
})

function turnOfAGuest(): Taken<NewEvent> {
  const item: NewEvent = {
    ...{ key: 'k', lane: 'discord:7', replyTo: null, source: 'discord' },
    what: { kind: 'message', id: 'm', text: 'hi', author: { id: 'eve', name: 'eve', owner: false } },
  }
  return {
    ...{
      id: 1,
      lane: item.lane,
      key: item.key,
      item,
      at: 1,
      attempt: 1,
      retries: 0,
      interrupted: false,
      putOff: false,
      earlier: [],
    },
  }
}

test('a guest’s change has no effect, is reverted, and does not affect what the owner changes meanwhile', async () => {
  const { admin, live, fileGuard } = await open()
  const ended = fileGuard.guardTurn(turnOfAGuest())
  await fixture.writeBotConfig({ 'agent.model': 'evil' })
  await live.reload()
  // The gateway asks the file guard which text is in effect; here the test does it.
  expect(fileGuard.approved('bot-config.json')).toBeNull()
  expect(await admin.change({ 'gate.rate_limit': 3 })).toMatchObject({ ok: true })
  expect(fileGuard.approved('bot-config.json')).toBe('{\n  "gate.rate_limit": 3\n}\n')
  await ended()
  expect(written()).toEqual({ 'gate.rate_limit': 3 })
  expect((await fileGuard.list(5)).map(({ file, state }) => [file, state])).toEqual([
    ['bot-config.json', 'waiting'],
    ['bot-config.json', 'made'],
  ])
  expect(await admin.change({ 'queue.busy': 'queue' })).toMatchObject({ ok: true })
  expect(written()).toEqual({ 'gate.rate_limit': 3, 'queue.busy': 'queue' })
})

test('a setting by the owner stays, even if a guest’s turn writes the same at that moment', async () => {
  const { admin, fileGuard } = await open()
  const ended = fileGuard.guardTurn(turnOfAGuest())
  await fixture.writeBotConfig('{\n  "gate.rate_limit": 3\n}\n')
  expect(await admin.change({ 'gate.rate_limit': 3 })).toMatchObject({ ok: true, applied: ['gate.rate_limit'] })
  await ended()
  expect(written()).toEqual({ 'gate.rate_limit': 3 })
})
