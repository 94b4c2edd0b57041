// A person writes, the agent answers: the whole program over its real socket.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { statusOf } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type Home, makeHome, type RunningGateway, startGateway, token } from '../harness/gateway.ts'

let home: Home
let gateway: RunningGateway
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

beforeAll(async () => {
  home = await makeHome()
  gateway = await startGateway(home, {
    CLAUDE_STAND_IN_STEP_MS: '15',
    BACKEND_ENV: 'CANARY_ALLOWED',
    CANARY_ALLOWED: '1',
    CANARY_SECRET: '1',
    DISCORD_BOT_TOKEN: 'not.for.the-child',
  })
})
afterAll(async () => {
  await gateway.stop()
  await home.remove()
})

test('a message is accepted, drafted and answered, and the next one continues in the same session', async () => {
  const client = await connect(gateway.url, 'first')
  client.say('1', 'hello there')
  expect((await client.final('1')).text).toBe('turn 1: hello there')
  const types = client.frames.filter(frame => frame.id === '1').map(frame => frame.type)
  expect(types[0]).toBe('accepted')
  expect(types.slice(1, -1).every(type => type === 'draft')).toBe(true)
  expect(types.length).toBeGreaterThan(3)
  client.say('2', 'and again')
  expect(await client.final('2')).toMatchObject({ text: 'turn 2: and again', ok: true })
  await client.close()
})

test('a repeated id is one message', async () => {
  const client = await connect(gateway.url, 'repeat')
  for (let i = 0; i < 5; i++) client.say('same', 'only once')
  await client.final('same')
  client.say('same', 'only once')
  await client.next(
    frame => client.frames.filter(one => one.type === 'accepted').length === 6 && frame.type === 'accepted',
  )
  expect(home.journal().filter(entry => entry.what === 'begin' && entry.prompt === 'only once')).toHaveLength(1)
  expect(client.frames.filter(frame => frame.type === 'final')).toHaveLength(1)
  await client.close()
})

test('an answer that arrived while nobody was connected is delivered on reconnect, once', async () => {
  const gone = await connect(gateway.url, 'away')
  gone.say('late', 'I leave before the answer')
  await gone.next(frame => frame.type === 'accepted')
  gone.socket.terminate()
  await expect
    .poll(async () => (await statusOf(gateway)).events, { timeout: 10_000 })
    .toMatchObject({ waiting: 0, running: 0 })
  const back = await connect(gateway.url, 'away')
  expect((await back.final('late')).text).toContain('I leave before the answer')
  const history = await back.next(frame => frame.type === 'history')
  expect(back.frames.findIndex(frame => frame.type === 'final')).toBeLessThan(back.frames.indexOf(history))
  expect(history.messages?.map(one => [one.role, one.state])).toEqual([
    ['user', 'answered'],
    ['agent', 'answered'],
  ])
  await back.close()
  const third = await connect(gateway.url, 'away')
  await third.next(frame => frame.type === 'history')
  expect(third.frames.filter(frame => frame.type === 'final')).toHaveLength(0)
  await third.close()
})

test('while one message is answered the next ones wait, can be edited and cancelled, and are answered in order', async () => {
  const client = await connect(gateway.url, 'waiting')
  client.say('a', 'first [[tool:400]]')
  await client.next(frame => frame.type === 'action')
  client.say('b', 'second')
  client.say('c', 'third')
  client.say('d', 'fourth')
  expect(await client.next(frame => frame.type === 'waiting' && frame.id === 'c')).toMatchObject({ position: 2 })
  client.send({ type: 'edit', id: 'b', text: 'second, edited' })
  client.send({ type: 'cancel', id: 'c' })
  expect(await client.next(frame => frame.type === 'refused' && frame.id === 'c')).toMatchObject({
    reason: 'cancelled',
  })
  client.send({ type: 'edit', id: 'a', text: 'too late' })
  expect((await client.next(frame => frame.type === 'action' && frame.phase === 'failed')).id).toBe('a')
  await client.final('d')
  const finals = client.frames.filter(frame => frame.type === 'final')
  expect(finals.map(frame => [frame.id, frame.text])).toEqual([
    ['a', 'turn 1: first [[tool:400]]'],
    ['b', 'turn 2: second, edited'],
    ['d', 'turn 3: fourth'],
  ])
  expect(client.frames.some(frame => frame.type === 'action' && frame.label === 'Read: memory.md')).toBe(true)
  await client.close()
})

test('waiting messages get their new position, and the last one reported is correct', async () => {
  const client = await connect(gateway.url, 'steps')
  client.say('a', 'first [[tool:600]]')
  await client.next(frame => frame.type === 'action')
  for (const id of ['b', 'c', 'd']) client.say(id, `${id} [[tool:600]]`)
  const stepTo = (id: string, position: number) =>
    client.next(frame => frame.type === 'waiting' && frame.id === id && frame.position === position)
  await stepTo('d', 3)
  await client.final('a')
  await stepTo('d', 2)
  await client.final('b')
  await stepTo('d', 1)
  await client.final('d')
  await client.close()
})

test('stop ends the running turn and says so', async () => {
  const client = await connect(gateway.url, 'stop')
  client.say('x', '[[hang]]')
  // If it were stopped before it started, the next turn would get it as history, and the fake would obey it again.
  await vi.waitFor(() => expect(home.journal().at(-1)?.prompt).toBe('[[hang]]'), 15_000)
  client.send({ type: 'stop' })
  expect(await client.final('x')).toMatchObject({ ok: false, text: 'Stopped.' })
  client.say('y', 'still there?')
  expect((await client.final('y')).ok).toBe(true)
  await client.close()
})

test('over HTTP: accepted after the commit, with wait=true the final, and a repeat gets the same', async () => {
  const ask = (query: string, body: object) =>
    fetch(`${gateway.url}/api/messages${query}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await ask('?wait=true', { conversation: 'http', id: 'h1', text: 'over http' })
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ id: 'h1', text: 'turn 1: over http', ok: true })
  expect(await (await ask('?wait=true', { conversation: 'http', id: 'h1', text: 'over http' })).json()).toMatchObject({
    text: 'turn 1: over http',
  })
  expect((await ask('', { conversation: 'http', id: 'h2', text: 'do not wait' })).status).toBe(202)
  const client = await connect(gateway.url, 'http')
  expect((await client.final('h2')).text).toBe('turn 2: do not wait')
  expect(client.frames.filter(frame => frame.type === 'final' && frame.id === 'h1')).toHaveLength(0)
  await client.close()
})

test('the markdown files are read afresh for every turn', async () => {
  const client = await connect(gateway.url, 'fresh')
  writeFileSync(join(home.configDir, 'soul.md'), 'You speak like a pirate.')
  client.say('1', 'one')
  await client.final('1')
  writeFileSync(join(home.configDir, 'soul.md'), 'You speak like a poet.')
  client.say('2', 'two')
  await client.final('2')
  const systems = home
    .journal()
    .filter(entry => entry.what === 'begin' && ['one', 'two'].includes(entry.prompt ?? ''))
    .map(entry => String(entry.system))
  expect(systems[0]).toContain('like a pirate')
  expect(systems[1]).toContain('like a poet')
  expect(systems[1]).not.toContain('like a pirate')
  await client.close()
})

test('the CLI gets only the variables that were named, and no secret of another part', () => {
  const names = home.journal().flatMap(entry => (entry.env as string[] | undefined) ?? [])
  expect(names).toContain('PATH')
  expect(names).toContain('CANARY_ALLOWED')
  for (const secret of ['CANARY_SECRET', 'DISCORD_BOT_TOKEN', 'HTTP_TOKEN', 'CONFIG_DIR'])
    expect(names).not.toContain(secret)
})

test('every received message has an end, and status shows it', async () => {
  const client = await connect(gateway.url, 'sum')
  client.say('empty', '   ')
  expect((await client.next(frame => frame.type === 'refused')).id).toBe('empty')
  await client.close()
  const status = (await (await fetch(`${gateway.url}/api/status`, { headers })).json()) as {
    events: Record<string, number>
  }
  const { received, answered, waiting, running, refused, failed } = status.events as Record<string, number>
  expect(received).toBe(answered! + waiting! + running! + refused! + failed!)
  expect(received).toBeGreaterThan(10)
  expect(status).toMatchObject({ ready: true, backend: 'claude', pid: gateway.pid })
})
