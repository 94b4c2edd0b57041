// What the owner sees of a message in Mission Control, and nobody else.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ActivityEntry, EventView, Overview, UsageDay } from '../../src/base/activity.ts'
import type { EventWork } from '../../src/base/work.ts'
import { eventually, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, token } from '../harness/gateway.ts'

const headers = { Authorization: `Bearer ${token}` }

async function read<Answer>({ url }: RunningGateway, path: string): Promise<Answer> {
  const answer = await fetch(`${url}${path}`, { headers })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Answer
}

/** The events that a page gets from now on. */
async function listen({ url }: RunningGateway, after = '') {
  const leaving = new AbortController()
  const answer = await fetch(`${url}/events${after}`, { headers, signal: leaving.signal })
  let text = ''
  const reading = (async () => {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk)
  })().catch(() => undefined) // we left
  const heard = () =>
    [...text.matchAll(/event: activity\ndata: (.*)\n\n/g)].map(([, data = '']) => JSON.parse(data) as ActivityEntry)
  return {
    heard,
    text: () => text,
    async leave() {
      leaving.abort()
      await reading
    },
  }
}

const secret = 'the Zanzibar affair'

test('a message has a timeline with the exact prompt, and its text is nowhere else', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ LOG_LEVEL: 'debug', BACKEND_WARM: 'false', CLAUDE_STAND_IN_STEP_MS: '5' })
  const page = await listen(gateway)
  const client = await connect(gateway.url, 'home')
  client.say('1', `what of ${secret}? [[tool]]`)
  const { text } = await client.final('1')
  await eventually('sent', () => page.heard().some(({ type }) => type === 'delivery-sent'))
  const types = page.heard().map(({ type }) => type)
  for (const type of ['event-accepted', 'turn-began', 'turn-acted', 'turn-ended', 'delivery-sent'])
    expect(types).toContain(type)
  const id = page.heard().find(({ type }) => type === 'event-accepted')?.event ?? 0
  expect(page.heard().every(({ event }) => event === id)).toBe(true)

  await eventually('written down', async () =>
    (await read<EventView>(gateway, `/api/event?id=${id}`)).steps.some(({ what }) => what === 'sent'),
  )
  const view = await read<EventView>(gateway, `/api/event?id=${id}`)
  const whats = view.steps.map(({ what }) => what)
  const order = ['queued', 'began', 'prompt', 'first word', 'ended', 'sent']
  expect(whats.filter(what => order.includes(what))).toEqual(order)
  expect(whats.indexOf('tool')).toBeGreaterThan(whats.indexOf('prompt'))
  expect(whats.indexOf('tool')).toBeLessThan(whats.indexOf('ended'))
  const [begun] = home.begun()
  const exact = `${begun?.now}\n\n${begun?.prompt}`
  expect(view.prompt).toMatchObject({ backend: 'claude', text: exact, system: begun?.system })
  expect(view).toMatchObject({ state: 'answered', asked: `what of ${secret}? [[tool]]`, answer: text, attempts: 1 })

  const work = await read<EventWork>(gateway, '/api/work?conversation=home&id=1')
  expect(work.items).toMatchObject([{ kind: 'action', ok: true, asked: null }])
  expect(view.actions).toBe(1)

  const overview = await read<Overview>(gateway, '/api/overview')
  expect(overview).toMatchObject({ running: [], waiting: [], failures: [], today: { turns: 1, failed: 0 } })
  const { days } = await read<{ days: UsageDay[] }>(gateway, '/api/usage?days=7')
  expect(days).toMatchObject([{ channel: 'webchat:home', source: 'webchat', backend: 'claude', turns: 1, spoke: 1 }])

  await client.close()
  const last = page.heard().at(-1)?.id ?? 0
  await page.leave()
  expect(await gateway.stop()).toBe(0)
  const log = join(home.configDir, 'activity-log.json')
  expect(statSync(log).mode & 0o777).toBe(0o600)
  for (const told of [readFileSync(log, 'utf8'), gateway.output(), page.text().replace(/event: status\n.*/g, '')])
    expect(told).not.toContain('Zanzibar')
  expect(gateway.output()).toContain('turn acted') // it did tell all it tells
  expect(readdirSync(home.configDir).filter(name => name.endsWith('.tmp'))).toEqual([])

  const again = await home.start({ BACKEND_WARM: 'false' })
  const { entries } = await read<{ entries: ActivityEntry[] }>(again, '/api/activity?limit=500')
  expect(entries.find(entry => entry.id === last)).toBeDefined()
  const back = await listen(again, `?after=${last}`)
  const second = await connect(again.url, 'home')
  second.say('2', 'and now?')
  await second.final('2')
  await eventually('told', () => back.heard().some(({ type }) => type === 'turn-ended'))
  expect(Math.min(...back.heard().map(entry => entry.id))).toBeGreaterThan(last)
  expect((await read<EventView>(again, `/api/event?id=${id}`)).prompt?.text).toBe(exact)
  await back.leave()
  await second.close()
  expect(await again.stop()).toBe(0)
})

test('the overview shows running, waiting and failed events', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ CLAUDE_STAND_IN_STEP_MS: '5' })
  const client = await connect(gateway.url, 'busy')
  client.say('1', `${'long '.repeat(100)}[[hang]]`)
  client.say('2', 'after it')
  let overview = await read<Overview>(gateway, '/api/overview')
  await eventually('one runs and one waits', async () => {
    overview = await read<Overview>(gateway, '/api/overview')
    return overview.running[0]?.backend === 'claude' && overview.waiting.length === 1
  })
  expect(overview.running).toMatchObject([{ lane: 'webchat:busy', kind: 'message', backend: 'claude' }])
  expect(overview.running[0]?.text).toHaveLength(120)
  expect(overview.waiting).toMatchObject([{ lane: 'webchat:busy', position: 1, notBefore: null, text: 'after it' }])
  const page = await listen(gateway)
  client.send({ type: 'cancel', id: '2' })
  client.send({ type: 'stop' })
  await client.final('1')
  await eventually('a status that says so', () => /"running":\[\]/.test(page.text()))
  const other = await connect(gateway.url, 'other')
  other.say('3', 'fail now [[api:400]]')
  await other.final('3')
  await other.close()
  await eventually('a failure', async () => (await read<Overview>(gateway, '/api/overview')).failures.length > 0)
  const { failures } = await read<Overview>(gateway, '/api/overview')
  expect(failures[0]).toMatchObject({ level: 'warn', type: 'turn-ended', lane: 'webchat:other' })
  await page.leave()
  await client.close()
  expect(await gateway.stop()).toBe(0)

  const again = await home.start()
  expect((await read<Overview>(again, '/api/overview')).failures).toEqual(failures)
  const third = await connect(again.url, 'third')
  for (const id of ['1', '2', '3', '4', '5']) {
    third.say(id, 'fail now [[api:400]]')
    await third.final(id)
  }
  await third.close()
  await eventually('the newest five', async () => {
    const now = await read<Overview>(again, '/api/overview')
    return now.failures.length === 5 && now.failures.every(({ lane }) => lane === 'webchat:third')
  })
  const { failures: newest } = await read<Overview>(again, '/api/overview')
  expect(newest.map(({ id }) => id)).toEqual(newest.map(({ id }) => id).sort((a, b) => b - a))
  expect(await again.stop()).toBe(0)
})
