// The gateway as an MCP server: the real bridge process, used by the official client, with a real HTTP server.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, expect, test } from 'vitest'
import type { NewEvent } from '../../src/base/event.ts'
import type { Jobs, NewJob } from '../../src/base/jobs.ts'
import { createToolServer, createTools } from '../../src/tools/index.ts'
import { defaultLimits } from '../../src/ui/http/options.ts'
import { openHttp } from '../../src/ui/http/server.ts'
import { fakeHttp } from '../fakes/http-options.ts'
import { connect as visit } from '../harness/client.ts'
import { makeHome, startGateway } from '../harness/gateway.ts'

const root = resolve(import.meta.dirname, '../..')
const bridge = resolve(root, 'bin/mcp-bridge.mjs')
const token = 'the-token-of-the-owner'
const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const event = (owner: boolean): NewEvent => ({
  ...{ key: `discord:1:m-${owner}`, lane: 'discord:1', source: 'discord' },
  what: { kind: 'message', id: 'm', text: 'hi', author: { id: 'x', name: 'x', owner } },
  replyTo: { chat: 'discord', conversation: '1' },
})

async function openGateway() {
  const scheduled: NewJob[] = []
  const said: string[] = []
  const jobs: Jobs = {
    list: async () => ({ jobs: [], troubles: [] }),
    async add(job) {
      scheduled.push(job)
      return { ok: false, why: 'Not in this test.' }
    },
    ...{ pause: gone, remove: gone, run: gone },
  }
  const messages = {
    placeNamed: () => null,
    objection: async () => null,
    async say(_: string, __: unknown, text: string) {
      said.push(text)
      return { left: [] }
    },
    scopeOf: () => undefined,
  }
  const toolServer = createToolServer({
    tools: createTools({ formatTime: String, takeMessage: async () => null, jobs, messages }),
    newKey: () => crypto.randomUUID(),
    broke: (_, error) => void said.push(String(error)),
  })
  const listen = async (port: number) => {
    const stopping = new AbortController()
    const http = await openHttp(
      fakeHttp({ address: { port, token }, tools: toolServer }),
      { ...defaultLimits, stopMs: 100 },
      stopping.signal,
    )
    const stop = async () => {
      stopping.abort()
      await http.closed
    }
    closing.push(stop)
    return { ...http, stop }
  }
  const { url, port, stop } = await listen(0)
  const enter = (owner: boolean) =>
    toolServer.enter({ id: 1, key: event(owner).key, lane: 'discord:1', item: event(owner), earlier: [] })
  return { url, enter, stop, listenAgain: () => listen(port), scheduled, said }
}

async function gone() {
  return { ok: false, why: 'There is no such job.' } as const
}

async function connect(url: string, key: string) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bridge],
    env: { AETHEEL_URL: url, AETHEEL_KEY: key, PATH: process.env.PATH ?? '' },
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  closing.push(() => client.close())
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args })
    return { text: (content as { text: string }[])[0]?.text ?? '', isError: isError === true }
  }
  return { client, call, pid: transport.pid ?? 0 }
}

test('tools are listed with their hints and called; wrong arguments are explained', async () => {
  const { url, enter, said } = await openGateway()
  const { client, call } = await connect(url, enter(true).key)
  const { tools } = await client.listTools()
  expect(tools.map(tool => tool.name)).toEqual(['send_message', 'schedule_job', 'list_jobs', 'remove_job', 'pause_job'])
  expect(tools[0]?.inputSchema).toMatchObject({
    required: ['text'],
    properties: { text: { type: 'string' }, files: { type: 'array', items: { type: 'string' } } },
  })
  expect(tools[2]?.annotations?.readOnlyHint).toBe(true)
  expect(await call('send_message', { text: 'grüße 🎉' })).toEqual({ text: 'On its way.', isError: false })
  expect(said).toEqual(['grüße 🎉'])
  expect(await call('list_jobs')).toEqual({ text: 'There are no jobs.', isError: false })
  expect(await call('send_message', { words: 'hi' })).toEqual({
    text: expect.stringMatching(/takes no "words"; "text" is missing/),
    isError: true,
  })
  expect(await call('send_message', { text: 'x'.repeat(290_000) })).toMatchObject({ isError: true })
  expect(await call('send_message', { text: 'x'.repeat(400_000) })).toMatchObject({ isError: true })
  expect(await call('../status')).toMatchObject({ isError: true })
  expect(said).toHaveLength(1)
})

test('a guest’s turn cannot schedule, and neither can its bridge during the owner’s turn', async () => {
  const { url, enter, scheduled } = await openGateway()
  const guest = enter(false)
  const { client, call } = await connect(url, guest.key)
  expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['send_message', 'list_jobs'])
  const wanted = { name: 'x', schedule: 'every minute', instruction: 'y' }
  expect(await call('schedule_job', wanted)).toEqual({ text: expect.stringMatching(/owner only/), isError: true })
  guest.leave()
  const owner = enter(true)
  expect(await call('schedule_job', wanted)).toEqual({ text: expect.stringMatching(/is over/), isError: true })
  expect(scheduled).toEqual([])
  const { call: asOwner } = await connect(url, owner.key)
  await asOwner('schedule_job', wanted)
  expect(scheduled).toMatchObject([wanted])
})

test('a key is refused after its turn and gives access to nothing else; the owner’s token gives no access to tools', async () => {
  const { url, enter } = await openGateway()
  const { key, leave } = enter(true)
  const { call } = await connect(url, key)
  expect((await call('list_jobs')).isError).toBe(false)
  leave()
  expect(await call('list_jobs')).toEqual({
    text: expect.stringMatching(/is over, so nothing was done/),
    isError: true,
  })
  const status = async (path: string, bearer: string, method = 'GET') =>
    (await fetch(`${url}${path}`, { method, headers: { Authorization: `Bearer ${bearer}` } })).status
  expect(await status('/api/status', key)).toBe(401)
  expect(await status('/metrics', key)).toBe(401)
  expect(await status('/api/tools', key)).toBe(200)
  expect(await status('/api/tools', token)).toBe(401)
  expect(await status('/api/tools/list_jobs', token, 'POST')).toBe(401)
  expect(await status(`/api/tools?token=${key}`, 'x')).toBe(401)
  expect((await fetch(`${url}/api/tools`)).status).toBe(401)
  const foreign = { Authorization: `Bearer ${key}`, Origin: 'http://evil.example' }
  expect((await fetch(`${url}/api/tools/list_jobs`, { method: 'POST', headers: foreign })).status).toBe(403)
})

test('a gateway that is down is reported in plain words', async () => {
  const { url, enter, stop } = await openGateway()
  const { client, call } = await connect(url, enter(true).key)
  await client.listTools()
  await stop()
  expect(await call('list_jobs')).toEqual({
    text: 'The gateway is not running (any more), so nothing was done.',
    isError: true,
  })
  await expect(client.listTools()).rejects.toThrow(/The gateway is not running/)
})

test('a gateway that is down for a moment is waited for', async () => {
  const { url, enter, stop, listenAgain } = await openGateway()
  const { call } = await connect(url, enter(true).key)
  await stop()
  const waiting = call('list_jobs')
  await new Promise(done => setTimeout(done, 500))
  await listenAgain()
  expect(await waiting).toEqual({ text: 'There are no jobs.', isError: false })
})

function raw(url: string, key: string) {
  const child: ChildProcess = spawn(process.execPath, [bridge], { env: { AETHEEL_URL: url, AETHEEL_KEY: key } })
  let out = ''
  child.stdout?.on('data', chunk => {
    out += chunk
  })
  const exit = new Promise<number | null>(done => child.on('exit', done))
  closing.push(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, exit, out: () => out }
}

const hello = (id: number) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } })}\n`

test('garbage on its input does not end it, its output is always MCP, and it exits when its input ends', async () => {
  const { url, enter } = await openGateway()
  const { child, exit, out } = raw(url, enter(true).key)
  child.stdin?.write(hello(1))
  child.stdin?.write('garbage\n{"jsonrpc":\n[]\n7\nnull\n\u0000\u0001\n')
  child.stdin?.write(`${'x'.repeat(1_000_000)}\n`)
  child.stdin?.write('{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n')
  await expect.poll(out).toContain('schedule_job')
  for (const line of out().trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
  child.stdin?.end()
  expect(await exit).toBe(0)
})

test('it exits when its input ends, also in the middle of a call and before initialization', async () => {
  const { url, enter } = await openGateway()
  const { key } = enter(true)
  const early = raw(url, key)
  early.child.stdin?.end()
  expect(await early.exit).toBe(0)
  expect(early.out()).toBe('')
  const late = raw('http://127.0.0.1:9', key)
  late.child.stdin?.write(hello(1))
  late.child.stdin?.write('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{}}}\n')
  await expect.poll(late.out).toContain('"id":1')
  late.child.stdin?.end()
  expect(await late.exit).toBe(0)
  // It did not wait for the gateway; then there would have been a response.
  expect(late.out()).not.toContain('"id":2')
})

test('in the whole gateway, an interim message of an agent arrives once, before its answer, and none after its turn', async () => {
  const home = await makeHome()
  closing.push(() => home.remove())
  const gateway = await startGateway(home, { BACKEND_WARM: 'false' })
  closing.push(() => gateway.stop())
  const person = await visit(gateway.url, 'c')
  closing.push(() => person.close())
  person.say('1', 'work [[hang]]')
  const config = () => home.journal().find(one => one.what === 'begin')?.mcpConfig as string | undefined
  await expect.poll(config).toBeTruthy()
  const { aetheel } = (
    JSON.parse(config() ?? '') as { mcpServers: Record<string, { args: string[]; env: Record<string, string> }> }
  ).mcpServers
  expect(aetheel?.args).toEqual([bridge])
  expect(aetheel?.env.AETHEEL_URL).toBe(gateway.url)
  const { call } = await connect(aetheel?.env.AETHEEL_URL ?? '', aetheel?.env.AETHEEL_KEY ?? '')
  expect(await call('send_message', { text: 'half way' })).toEqual({ text: 'On its way.', isError: false })
  const told = await person.next(frame => frame.type === 'final' && frame.text === 'half way')
  expect(told).toMatchObject({ ok: true, id: expect.stringMatching(/^webchat:c:1#said-/) })
  expect(await call('remember', { text: 'Ada likes tea' })).toMatchObject({ isError: false })
  expect(readFileSync(join(home.configDir, 'memory.md'), 'utf8')).toContain('Ada likes tea')
  const job = { name: 'tea', schedule: 'every Monday at 8:00', instruction: 'Make tea.' }
  expect((await call('schedule_job', job)).text).toMatch(/^tea runs .* The next runs: Mon, .*; Mon, .*; Mon, /)
  expect((await call('list_jobs')).text).toMatch(/- tea \(.*to webchat:c: Make tea\./)
  expect((await call('brain_add', { content: 'Tea is hot' })).isError).toBe(false)
  expect((await call('brain_search', { query: 'tea' })).text).toMatch(/Tea is hot/)
  expect((await call('tasks_add', { title: 'Buy tea' })).isError).toBe(false)
  expect((await call('publish', { channel: 'kitchen', text: 'tea is ready' })).text).toBe('Posted.')
  expect((await call('read_channel', { channel: 'kitchen' })).text).toMatch(/tea is ready/)
  expect((await call('list_agents')).text).toBe('There are none.')
  expect((await call('memory_search', { query: 'nothing-like-this' })).isError).toBe(false)
  person.send({ type: 'stop' })
  await person.final('1')
  expect(await call('send_message', { text: 'too late' })).toMatchObject({ isError: true })
  expect(person.frames.filter(frame => frame.type === 'final').map(frame => frame.id)).toEqual([told.id, '1'])
})

test('with one place for all, an agent can wait for another and for a channel, and a stop of the turn or the gateway ends the wait', async () => {
  const home = await makeHome()
  closing.push(() => home.remove())
  const gateway = await startGateway(home, {
    BACKEND_WARM: 'false',
    MAX_CONCURRENT_QUERIES: '1',
    STOP_TIMEOUT_MS: '500',
  })
  closing.push(() => gateway.stop())
  const person = await visit(gateway.url, 'c')
  closing.push(() => person.close())
  const begun = (part: string) =>
    home.journal().filter(one => one.what === 'begin' && String(one.prompt).includes(part))
  const turn = async (words: string) => {
    await expect.poll(() => begun(words).length).toBe(1)
    const config = JSON.parse(String(begun(words)[0]?.mcpConfig))
    return connect(gateway.url, config.mcpServers.aetheel.env.AETHEEL_KEY)
  }

  person.say('1', 'dig [[hang]]')
  const { call, client } = await turn('dig')
  const [, id] = /\((\w+)\)/.exec((await call('spawn_agent', { task: 'count', name: 'scout' })).text) ?? []
  const asked = await call('ask_agent', { agent: id, question: 'how many?', wait: 60 })
  expect(asked).toEqual({
    text: expect.stringMatching(/^scout \(\w+\) answers:\nturn 2: .*how many\?/s),
    isError: false,
  })
  const next = call('read_channel', { channel: 'kitchen', wait: 60 })
  await call('publish', { channel: 'kitchen', text: 'tea is ready' })
  expect((await next).text).toMatch(/tea is ready/)
  // After giving up the wait, the answer arrives as a report.
  const given = client.callTool(
    { name: 'ask_agent', arguments: { agent: id, question: 'slowly [[tool:1500]]', wait: 60 } },
    { timeout: 500 },
  )
  await expect(given).rejects.toThrow()
  await expect.poll(() => begun('slowly').length).toBe(1)
  const silent = call('read_channel', { channel: 'kitchen', wait: 60 })
  person.send({ type: 'stop' })
  await person.final('1')
  await silent
  await expect.poll(() => begun('reports:').map(one => /count|slowly/.exec(String(one.prompt))?.[0])).toHaveLength(2)
  expect(begun('reports:').map(one => /how many|slowly/.exec(String(one.prompt))?.[0])).toEqual([undefined, 'slowly'])

  person.say('2', 'wait [[hang]]')
  const late = await turn('wait')
  const waiting = late.call('ask_agent', { agent: id, question: 'never [[hang]]', wait: 300 })
  await expect.poll(() => begun('never').length).toBe(1)
  const stopped = gateway.stop()
  expect((await waiting).text).toContain('The gateway is stopping')
  await stopped
}, 60_000)
