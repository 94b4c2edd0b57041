// Editing config.json while the gateway runs.
import { rename, writeFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Clock } from '../base/time.ts'
import { configFixture, sampleFor } from './config.fixture.ts'
import { createLiveConfig, watchConfig } from './live.ts'
import { eachOption } from './options/index.ts'
import { type Reloaded, reloadInWords } from './report.ts'

const fixture = configFixture({ beforeEach, afterEach })

const clock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => undefined),
}

async function open() {
  const reloads: Reloaded[] = []
  const loaded = await fixture.good()
  const live = createLiveConfig({ loaded, load: () => fixture.load(), onReload: reloaded => reloads.push(reloaded) })
  return { live, reloads }
}

test('live options take effect immediately, the others after a restart, and both are named', async () => {
  const { live, reloads } = await open()
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
  expect(reloads).toEqual([reloaded])
  const { agent, budget, http, mcp, views } = live.current()
  expect({ model: agent.model, warm: views.warm?.most, usd: budget.dailyUsd, port: http.port }).toEqual({
    ...{ model: 'opus', warm: 4, usd: 5, port: 8080 },
  })
  expect(mcp.servers).toHaveLength(1)
  expect(reloadInWords(reloaded)).toMatch(/immediately: agent.model, .*\nTakes effect after a restart: agent.warm_max/)
  expect(reloadInWords(await live.reload())).toContain('Nothing')
})

describe('each option by itself, changed in config.json while running', () => {
  const tokens = {
    ...{ 'discord.bot_token': 'token-of-the-bot', 'telegram.bot_token': 'token-of-the-other-bot' },
    ...{ 'slack.bot_token': 'xoxb', 'slack.app_token': 'xapp' },
  }
  const before = { ...tokens, timezone: 'UTC' }
  // The sample of all other options is not the default.
  const samples = new Map([
    ['discord.enabled', 'yes'],
    ['telegram.enabled', 'yes'],
    ['slack.enabled', 'yes'],
  ])
  const inFile = eachOption().filter(([, { outsideFile }]) => !outsideFile)

  async function change(key: string) {
    await fixture.writeConfig(before)
    const { live } = await open()
    const start = live.current()
    await fixture.writeConfig({ ...before, [key]: samples.get(key) ?? sampleFor(key) })
    const reloaded = await live.reload()
    const { config: fresh } = await fixture.good()
    // Otherwise the test would prove nothing.
    expect(fresh).not.toEqual(start)
    return { start, fresh, current: live.current(), reloaded }
  }
  const keys = (live: boolean) => inFile.flatMap(([key, option]) => ((option.live ?? false) === live ? [key] : []))

  test.each(keys(true))('%s takes effect', async key => {
    const { fresh, current, reloaded } = await change(key)
    expect(current).toEqual(fresh)
    expect(reloaded).toEqual({ ok: true, applied: [key], later: [] })
  })

  test.each(keys(false))('%s stays as it was at the start', async key => {
    const { start, current, reloaded } = await change(key)
    expect(current).toEqual(start)
    expect(reloaded).toEqual({ ok: true, applied: [], later: [key] })
  })
})

test('changed secrets and variables are named, but their values are never shown', async () => {
  const before = { discord: { bot_token: 'token-of-yesterday' }, env: { vars: { API_URL: 'one', GONE: 'x' } } }
  await fixture.writeConfig(before)
  const { live, reloads } = await open()
  await fixture.writeConfig({
    discord: { bot_token: 'token-of-today' },
    env: { vars: { API_URL: 'two', NEW_KEY: 'secret-value' } },
  })
  await writeFile(fixture.path('.env'), 'OPENAI_API_KEY=sk-other\nHTTP_TOKEN=0123456789abcdef0123\n')
  const words = reloadInWords(await live.reload())
  expect(words).toBe(
    'Takes effect after a restart: discord.bot_token, http.token, env.vars.API_URL, env.vars.GONE, env.vars.NEW_KEY, OPENAI_API_KEY.',
  )
  expect(reloads).toHaveLength(1)
  expect(JSON.stringify(reloads)).not.toMatch(/token-of|secret-value|sk-other/)
})

test('a reload request reports earlier edits once, and pending restarts until the edit is reverted', async () => {
  const { live } = await open()
  await fixture.writeConfig({ agent: { model: 'opus', warm_max: 2 } })
  await live.reload()
  expect(await live.reloadOnRequest()).toEqual({ ok: true, applied: ['agent.model'], later: ['agent.warm_max'] })
  expect(await live.reloadOnRequest()).toEqual({ ok: true, applied: [], later: ['agent.warm_max'] })
  await fixture.writeConfig({ agent: { model: 'opus' } })
  expect(reloadInWords(await live.reloadOnRequest())).toContain('Nothing')
})

test('an invalid edit keeps the last good configuration and reports all mistakes', async () => {
  const { live } = await open()
  await fixture.writeConfig({ agent: { model: 'opus' } })
  await live.reload()
  await fixture.writeConfig({ agent: { model: 'sonnet' }, budget: { daily_usd: 'lots' } })
  const reloaded = await live.reload()
  expect(reloaded).toMatchObject({ ok: false, why: expect.stringContaining('budget.daily_usd') })
  expect(live.current().agent.model).toBe('opus')
  expect(reloadInWords(reloaded)).toContain('The last good configuration stays in use')
})

test('an edit is noticed, also from an editor that saves by renaming', async () => {
  const { live, reloads } = await open()
  const stop = new AbortController()
  const watching = watchConfig(live, clock, stop.signal)
  await setTimeout(100)
  await writeFile(fixture.path('config/config.json.tmp'), '{"agent":{"model":"haiku"}}')
  await rename(fixture.path('config/config.json.tmp'), fixture.path('config/config.json'))
  await vi.waitFor(() => expect(live.current().agent.model).toBe('haiku'), 5000)
  await fixture.writeConfig('{ "agent": { "model": ')
  await vi.waitFor(() => expect(reloads.at(-1)?.ok).toBe(false), 5000)
  expect(live.current().agent.model).toBe('haiku')
  stop.abort()
  await watching
})

test('an edit of bot-config.json is noticed as well, and an invalid one keeps the last good configuration', async () => {
  const { live, reloads } = await open()
  const stop = new AbortController()
  const watching = watchConfig(live, clock, stop.signal)
  await setTimeout(100)
  await fixture.writeBotConfig({ 'agent.model': 'haiku' })
  await vi.waitFor(() => expect(live.current().agent.model).toBe('haiku'), 5000)
  await fixture.writeBotConfig({ 'agent.model': 'opus', 'query.max_ms': 'soon' })
  await vi.waitFor(() => expect(reloads.at(-1)?.ok).toBe(false), 5000)
  expect(live.current().agent.model).toBe('haiku')
  stop.abort()
  await watching
})
