// `npm run dashboard`: the real gateway with sample data. Every page has its data, and nothing is left behind.
import { existsSync, readlinkSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { afternoon, startDashboard } from '../../demo/started.ts'
import type { ActivityEntry, Overview, UsageDay } from '../../src/base/activity.ts'
import type { JobTrouble, JobView } from '../../src/base/jobs.ts'
import type { MemoryChange } from '../../src/base/memory.ts'
import type { SessionView } from '../../src/base/sessions.ts'

const open = async (env: Record<string, string> = {}) => {
  const dashboard = await startDashboard({ TZ: afternoon(Date.now()), ...env })
  onTestFinished(async () => void (await dashboard.stop()))
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${dashboard.token}` }
    const options = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    const answer = await fetch(`${dashboard.url}${path}`, options)
    expect(answer.status, path).toBe(200)
    return (await answer.json()) as T
  }
  return { dashboard, ask, dir: readlinkSync(`/proc/${dashboard.pid}/cwd`) }
}

test('the sample has three weeks of data, the gateway is real, and Ctrl-C leaves nothing behind', async () => {
  const { dashboard, ask, dir } = await open()
  const { status, waiting, today, failures, next } = await ask<
    Overview & { status: { events: Record<string, number> } }
  >('/api/overview')
  expect(status).toMatchObject({ ready: true, backend: 'echo', budget: { level: 'within' } })
  expect(waiting.map(({ lane }) => lane)).toEqual(['cron:site-check', 'agent:m7q2'])
  expect(today.turns).toBeGreaterThan(10)
  expect(today.costUsd).toBeGreaterThan(0.1)
  expect(failures.length).toBeGreaterThan(3)
  expect(new Set(failures.map(({ text, event }) => event ?? text)).size).toBe(failures.length)
  expect(next).toHaveLength(3)
  const { received, ...others } = status.events
  expect(received).toBe(Object.values(others).reduce((sum, n) => sum + n))

  const { days } = await ask<{ days: UsageDay[] }>('/api/usage?days=30')
  expect(new Set(days.map(({ day }) => day)).size).toBe(22)
  expect(new Set(days.map(({ backend }) => backend))).toEqual(new Set(['claude', 'codex', 'gemini']))
  expect((await ask<{ sessions: SessionView[] }>('/api/sessions')).sessions.length).toBeGreaterThan(5)
  expect((await ask<{ entries: ActivityEntry[] }>('/api/activity?limit=500')).entries).toHaveLength(500)
  const { jobs, troubles } = await ask<{ jobs: JobView[]; troubles: JobTrouble[] }>('/api/jobs')
  expect(jobs.filter(({ last }) => last !== null).length).toBeGreaterThan(2)
  expect(troubles).toMatchObject([{ name: 'water-the-plants' }])
  expect(await ask('/api/agents')).toMatchObject({ agents: [{ state: 'waiting' }, { state: 'done' }] })
  expect(await ask('/api/pairing')).toMatchObject({
    requests: [{}, {}],
    people: [{ as: 'owner' }, { as: 'guest' }, {}],
  })
  const { changes } = await ask<{ changes: MemoryChange[] }>('/api/memory/log')
  expect(changes.map(({ state }) => state)).toEqual(['waiting', 'made', 'made', 'made', 'made'])
  expect(await ask(`/api/event?id=${changes[0]!.events[0]}`)).toMatchObject({
    person: 'Kim',
    prompt: { backend: expect.any(String) },
  })

  expect(await ask('/api/messages?wait=true', { conversation: 'desk', text: 'are you real?' })).toMatchObject({
    ok: true,
    text: expect.stringContaining('are you real?'),
  })
  expect(await ask('/api/memory', { approve: changes[0]!.id })).toMatchObject({ ok: true })

  expect(existsSync(dir)).toBe(true)
  expect(await dashboard.stop()).toBe(0)
  expect(existsSync(dir)).toBe(false)
})

test('the sample is the same each time, and takes nothing from the environment of the owner’s own gateway', async () => {
  const env = {
    DISCORD_BOT_TOKEN: 'not.a.token',
    DISCORD_ENABLED: 'true',
    AGENT_BACKEND: 'nobody',
    CONFIG_DIR: '/nowhere',
  }
  const [one, other] = [await open(env), await open()]
  const shown = async ({ ask }: typeof one) => {
    const { days } = await ask<{ days: UsageDay[] }>('/api/usage?days=30')
    const { sessions } = await ask<{ sessions: SessionView[] }>('/api/sessions')
    // The last day ends now.
    const past = days.filter(({ day }) => day !== days[0]?.day)
    return { past, sessions: sessions.map(({ lane, backend, session }) => `${lane} ${backend} ${session}`).sort() }
  }
  expect(await shown(one)).toEqual(await shown(other))
})
