// Which backend answers: commands, routing and fallbacks, with the whole program and fake CLIs on its PATH.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Client, connect } from '../harness/client.ts'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway } from '../harness/gateway.ts'

let home: Home
let gateway: RunningGateway | null = null
let client: Client

beforeEach(async () => {
  home = await makeHome()
})
afterEach(async () => {
  await gateway?.stop()
  gateway = null
  expect(processesWith(`HOME=${home.dir}`)).toEqual([])
  await home.remove()
})

/** The fake CLIs under their real names. */
function path(...names: string[]): string {
  const bin = join(home.dir, 'bin')
  mkdirSync(bin, { recursive: true })
  for (const name of names) symlinkSync(resolve(import.meta.dirname, `../fakes/${name}.mjs`), join(bin, name))
  return [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(':')
}

async function open(env: Record<string, string>) {
  gateway = await startGateway(home, { AGENT_BACKEND: '', BACKEND_CLI_PATH: '', ...env })
  client = await connect(gateway.url, 'room')
}

let ids = 0
const ask = async (text: string) => {
  const id = `m${++ids}`
  client.say(id, text)
  return client.final(id)
}
const begun = () => home.journal().filter(entry => entry.what === 'begin')

test('/backend and /model change who answers a conversation, and the history is passed along', async () => {
  await open({ PATH: path('claude', 'codex'), BACKEND_WARM: 'false', ASK_TOOLS: 'none' })
  await ask('my cat is Mia')
  expect((await ask('/backend')).text).toContain('answered by claude')
  expect((await ask('/backend gemini')).text).toMatch(/^Not changed\..*not found/)
  expect((await ask('/backend nobody')).text).toContain('There is no backend called "nobody"')
  expect((await ask('/backend codex')).text).toContain('codex')
  expect((await ask('who is Mia?')).ok).toBe(true)
  expect(begun().at(-1)?.args).toContain('exec')
  expect(begun().at(-1)?.prompt).toMatch(/earlier-conversation[\s\S]*my cat is Mia[\s\S]*who is Mia\?$/)
  expect((await ask('/model gpt-9')).text).toContain('model gpt-9')
  await ask('and now?')
  expect(begun().at(-1)?.prompt).toBe('and now?')
  expect(JSON.stringify(begun().at(-1))).toContain('gpt-9')

  // Back again: the old session continues and gets what it missed.
  await ask('/backend default')
  await ask('still Mia?')
  expect(begun().at(-1)).toMatchObject({
    resumed: true,
    prompt: expect.stringMatching(/since your last answer[\s\S]*and now\?/),
  })
  expect(begun().at(-1)?.prompt).not.toContain('my cat is Mia')
  expect(begun().at(-1)?.prompt).not.toContain('/backend')
}, 30_000)

test('commands answer immediately while a turn runs, and /new starts over', async () => {
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude') })
  await ask('remember the number 4711')
  client.say('long', '[[hang]]')
  await expect.poll(() => begun().length).toBe(2)
  client.say('next', 'waits')
  await client.next(frame => frame.type === 'accepted' && frame.id === 'next')
  expect((await ask('/queue')).text).toBe('1. waits')
  expect((await ask('/status')).text).toMatch(/answered by claude[\s\S]*1 running, 1 waiting/)
  expect((await ask('/help')).text).toContain('/backend')
  expect((await ask('/stop')).text).toBe('Stopping.')
  expect((await client.final('long')).ok).toBe(false)
  expect((await client.final('next')).ok).toBe(true)
  expect((await ask('/new')).ok).toBe(true)
  // Sent again, as after a lost connection, it does nothing: the history since then stays.
  await ask('the number is 42 now')
  client.say(`m${ids - 1}`, '/new')
  await client.next(frame => frame.type === 'accepted' && frame.id === `m${ids - 1}`)
  await ask('which one?')
  expect(begun().at(-1)).toMatchObject({ resumed: true })
  await ask('/new')
  client.say('held', '[[tool:500]]')
  client.say('edited', 'waits')
  await client.next(frame => frame.type === 'accepted' && frame.id === 'edited')
  client.send({ type: 'edit', id: 'edited', text: '/stop' })
  expect((await client.next(frame => frame.type === 'action' && frame.id === 'edited')).label).toContain(
    'cannot become a command',
  )
  await client.final('edited')
  await ask('/new')
  await ask('/ask what was the number?')
  expect(begun().at(-1)).toMatchObject({ resumed: false, prompt: 'what was the number?' })
  expect((await ask('/etc/passwd is a file')).text).toContain('/etc/passwd is a file')
  expect((await ask('/usage')).text).toMatch(/\*\*Today\*\*\n- claude.*: \d turns/)
}, 30_000)

test('when a backend is at its limit, the fallback takes over with the history; other turns wait for the limit to end', async () => {
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude', 'codex'), BACKEND_FALLBACK: 'gemini,codex' })
  await ask('my cat is Mia')
  const limit = (seconds: number) => `[[limit:${Math.floor(Date.now() / 1000) + seconds}]]`
  const moved = await ask(`[[only:claude]] ${limit(3600)} who is Mia?`)
  expect(moved).toMatchObject({
    ok: true,
    text: expect.stringMatching(/claude has reached its usage limit\. This answer is from codex\./),
  })
  expect(begun().at(-1)).toMatchObject({ prompt: expect.stringMatching(/my cat is Mia[\s\S]*who is Mia\?$/) })
  const before = begun().length
  expect((await ask('and her age?')).text).not.toContain('usage limit')
  expect(begun().length).toBe(before + 1)
  expect(begun().at(-1)).toMatchObject({ resumed: true, prompt: 'and her age?' })
}, 30_000)

test('a backend that is not logged in is in cooldown, and choosing it by name ends that', async () => {
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude', 'codex'), BACKEND_FALLBACK: 'codex' })
  expect((await ask('[[only:claude]] [[api:401]] one')).text).toContain(
    'claude is not logged in. This answer is from codex.',
  )
  const before = begun().length
  expect((await ask('two')).ok).toBe(true)
  expect(begun().length).toBe(before + 1)
  expect((await ask('/status')).text).toContain('claude could not answer (not logged in)')
  expect((await ask('/backend claude')).text).toContain('claude, with its default model')
  expect((await ask('/status')).text).not.toContain('could not answer')
  // The earlier message would make the fake fail again.
  await ask('/new')
  expect((await ask('three')).ok).toBe(true)
  expect(begun().at(-1)?.args).toContain('--append-system-prompt-file')
}, 30_000)

test('without a fallback the message waits until the limit ends, and the person is notified', async () => {
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude') })
  const end = Math.floor(Date.now() / 1000) + 2
  client.say('l', `[[limit:${end}]]`)
  const notice = await client.next(frame => frame.type === 'action' && frame.phase === 'notice')
  expect(notice.label).toMatch(/claude has reached its usage limit\. I will try again at/)
  await expect.poll(() => begun().length).toBe(2)
  expect(Date.now()).toBeGreaterThanOrEqual(end * 1000)
}, 30_000)

test('each kind of event has its model, and options that a backend cannot enforce are logged once', async () => {
  mkdirSync(home.configDir, { recursive: true })
  writeFileSync(
    join(home.configDir, 'config.json'),
    JSON.stringify({ models: { default: { backend: 'codex', model: 'gpt-9' } } }),
  )
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude', 'codex'), BACKEND_WARM: 'false', ASK_TOOLS: 'none' })
  await ask('hello')
  expect(JSON.stringify(begun().at(-1)?.args)).toContain('gpt-9')
  await ask('hello again')
  const said = (gateway?.output() ?? '')
    .split('\n')
    .filter(line => line.includes('"backend":"codex"') && line.includes('ALLOWED_TOOLS'))
  expect(new Set(said).size).toBe(said.length)
  expect(said.length).toBeGreaterThan(0)
}, 30_000)

/** All processes in this home except the gateway. */
const others = () => processesWith(`HOME=${home.dir}`).filter(pid => pid !== gateway?.pid)

test('a warm process takes the next turn, survives a stop, and is replaced after a turn timed out', async () => {
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude'), QUERY_TIMEOUT_MS: '1500' })
  await ask('one')
  const [first] = begun()
  client.say('long', '[[hang]]')
  await expect.poll(() => begun().length).toBe(2)
  client.send({ type: 'stop' })
  expect((await client.final('long')).text).toBe('Stopped.')
  await ask('two')
  expect(begun().map(entry => entry.pid)).toEqual([first?.pid, first?.pid, first?.pid])

  expect((await ask('[[hang]]')).text).toMatch(/^Timed out/)
  expect(await ask('three')).toMatchObject({ ok: true, text: expect.stringMatching(/^turn 5: three/) })
  expect(begun().at(-1)?.pid).not.toBe(first?.pid)
  await expect.poll(() => others()).not.toContain(first?.pid)
}, 30_000)

test('soon after a gateway is killed, even in the middle of a turn, none of its processes is left', async () => {
  await open({ AGENT_BACKEND: 'claude', PATH: path('claude') })
  await ask('one')
  client.say('long', '[[hang]]')
  await expect.poll(() => begun().length).toBe(2)
  expect(others().length).toBeGreaterThan(0)
  await gateway?.stop('SIGKILL')
  gateway = null
  await expect.poll(() => others()).toEqual([])
}, 30_000)

test('with BACKEND_PREWARM, the backend of the latest conversation is started before its first message', async () => {
  const env = { AGENT_BACKEND: 'claude', PATH: path('claude'), BACKEND_PREWARM: 'true' }
  await open(env)
  await ask('one')
  await gateway?.stop()
  await open(env)
  await expect.poll(() => others().length).toBeGreaterThan(0)
  const ready = others()
  expect((await ask('two')).text).toBe('turn 2: two')
  expect(ready).toContain(begun().at(-1)?.pid)
}, 30_000)
