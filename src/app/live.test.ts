// An edit of config.json while the gateway runs.
import { rename, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'
import { configFixture } from './config.fixture.ts'
import { openLiveConfig, type Reloaded, reloadInWords, watchConfig } from './live.ts'

const fixture = configFixture({ beforeEach, afterEach })

async function open() {
  const told: Reloaded[] = []
  const loaded = await fixture.good()
  const live = openLiveConfig({ loaded, load: () => fixture.load(), told: reloaded => told.push(reloaded) })
  return { live, told }
}

test('what may change counts at once, what is built at the start stays, and both are named', async () => {
  const { live, told } = await open()
  await fixture.writeConfig({
    agent: { model: 'opus', warm_max: 2 },
    budget: { daily_usd: 5 },
    http: { port: 9999 },
    mcp: { servers: { notes: { command: 'notes' } } },
  })
  const reloaded = await live.reload()
  expect(reloaded).toEqual({
    ok: true,
    applied: ['agent.model', 'mcp.servers', 'budget.daily_usd'],
    later: ['agent.warm_max', 'http.port'],
  })
  expect(told).toEqual([reloaded])
  const { agent, budget, http, mcpServers } = live.current()
  expect({ model: agent.model, warm: agent.warm?.most, usd: budget.dailyUsd, port: http.port }).toEqual({
    ...{ model: 'opus', warm: 4, usd: 5, port: 8080 },
  })
  expect(mcpServers).toHaveLength(1)
  expect(reloadInWords(reloaded)).toMatch(/from now on: agent.model, .*\nCounts after the next start: agent.warm_max/)
  expect(reloadInWords(await live.reload())).toContain('Nothing')
})

test('a bad edit keeps the last good configuration and says all that is wrong', async () => {
  const { live } = await open()
  await fixture.writeConfig({ agent: { model: 'opus' } })
  await live.reload()
  await fixture.writeConfig({ agent: { model: 'sonnet' }, budget: { daily_usd: 'lots' } })
  const reloaded = await live.reload()
  expect(reloaded).toMatchObject({ ok: false, why: expect.stringContaining('budget.daily_usd') })
  expect(live.current().agent.model).toBe('opus')
  expect(reloadInWords(reloaded)).toContain('the last good one stays')
})

test('an edit is noticed, also by an editor that saves under another name and renames', async () => {
  const { live, told } = await open()
  const stop = new AbortController()
  const watching = watchConfig(live, systemClock, stop.signal)
  await new Promise(resolve => setTimeout(resolve, 100))
  await writeFile(fixture.path('config/config.json.tmp'), '{"agent":{"model":"haiku"}}')
  await rename(fixture.path('config/config.json.tmp'), fixture.path('config/config.json'))
  await vi.waitFor(() => expect(live.current().agent.model).toBe('haiku'), 5000)
  await fixture.writeConfig('{ "agent": { "model": ')
  await vi.waitFor(() => expect(told.at(-1)?.ok).toBe(false), 5000)
  expect(live.current().agent.model).toBe('haiku')
  stop.abort()
  await watching
})

test('an edit of bot-config.json is noticed as well, and a bad one keeps the last good', async () => {
  const { live, told } = await open()
  const stop = new AbortController()
  const watching = watchConfig(live, systemClock, stop.signal)
  await new Promise(resolve => setTimeout(resolve, 100))
  await fixture.writeBotConfig({ 'agent.model': 'haiku' })
  await vi.waitFor(() => expect(live.current().agent.model).toBe('haiku'), 5000)
  await fixture.writeBotConfig({ 'agent.model': 'opus', 'query.max_ms': 'soon' })
  await vi.waitFor(() => expect(told.at(-1)?.ok).toBe(false), 5000)
  expect(live.current().agent.model).toBe('haiku')
  stop.abort()
  await watching
})
