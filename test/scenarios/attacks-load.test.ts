// Attacks, part two: invalid bodies, floods and slow clients. Nothing crashes, and memory stays bounded.
import type { Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually, pause, statusOf } from '../fakes/temporary.ts'
import { type Home, makeHome, type RunningGateway, startGateway, token } from '../harness/gateway.ts'
import { rows } from '../harness/paths.ts'
import { type Answer, ask, dial, type Question, say } from '../harness/raw.ts'

const writing = rows.filter(({ method, access }) => method !== 'GET' && access === 'token')
const bearer = { Authorization: `Bearer ${token}` }
const megabyte = 1024 * 1024
/** Paths that ignore the body, or take whole files and check their parameters first. */
const readsNone = /^DELETE |\/api\/attachments/
/** How much memory may grow during a test: garbage is collected late. */
const mostGrowth = 150 * megabyte

let home: Home
let gateway: RunningGateway
let before: number
const sockets: Socket[] = []

beforeAll(async () => {
  home = await makeHome()
  gateway = await startGateway(home, { AGENT_BACKEND: 'echo', BACKEND_CLI_PATH: '' })
  // What is loaded with the first body, socket and listener does not count as growth.
  for (const text of ['one', 'two'])
    await ask(gateway.url, {
      method: 'POST',
      path: '/api/messages?wait=true',
      headers: bearer,
      body: JSON.stringify({ text }),
    })
})
beforeEach(async () => {
  before = await rss()
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  expect(await gateway.stop()).toBe(0)
  await home.remove()
})

const rss = async () => ((await statusOf(gateway)) as unknown as { rssBytes: number }).rssBytes
const isWell = async () => (await ask(gateway.url, { path: '/healthz' })).status === 200

const opened = async (): Promise<Socket> => {
  const socket = await dial(gateway.url)
  socket.on('error', () => {}) // cut off by the gateway, which is looked at
  sockets.push(socket)
  return socket
}

/** Sends each body to each path that takes one, a few at a time. */
const answersTo = async (bodies: readonly (Omit<Question, 'path' | 'method'> & { what: string })[]) => {
  const found: { readonly what: string; readonly answer: Answer }[] = []
  for (const { what, headers, body } of bodies) {
    const answers = await Promise.all(
      writing.map(({ path, method }) =>
        ask(gateway.url, {
          path: `${path}?id=nobody`,
          method,
          headers: { ...bearer, ...headers },
          ...(body !== undefined && { body }),
        }),
      ),
    )
    found.push(...answers.map((answer, i) => ({ what: `${writing[i]?.method} ${writing[i]?.path}, ${what}`, answer })))
  }
  return found
}

test('an invalid body is refused on every path that takes one, and has no effect', {
  timeout: 60_000,
}, async () => {
  const received = (await statusOf(gateway)).events.received
  const nested = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000)
  const found = await answersTo([
    { what: 'nothing', body: '' },
    { what: 'half of it', body: '{"text":"a' },
    { what: 'no object', body: '[]' },
    { what: 'a number', body: '7' },
    { what: 'null', body: 'null' },
    {
      what: 'a form',
      body: 'text=hello&approve=all',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    },
    { what: 'not UTF-8', body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]) },
    { what: 'deep lists', body: nested('[', ']') },
    { what: 'deep objects', body: `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}` },
    {
      what: 'prototypes',
      body: '{"__proto__":{"isAdmin":true,"text":"x"},"constructor":{"prototype":{"text":"x"}},"prototype":{}}',
    },
    {
      what: 'wrong kinds',
      body: JSON.stringify(
        Object.fromEntries(
          ['text', 'name', 'add', 'clear', 'stop', 'approve', 'undo', 'content', 'title', 'change', 'run'].map(name => [
            name,
            { toString: 'x', length: -1 },
          ]),
        ),
      ),
    },
    { what: 'garbage', body: Buffer.alloc(megabyte - 16, '\u0001\u0080{[";') },
    { what: 'compressed', body: Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), headers: { 'Content-Encoding': 'gzip' } },
    { what: 'too much', body: Buffer.alloc(4 * megabyte, 0x20) },
    {
      what: 'too much without saying how much',
      body: Buffer.alloc(4 * megabyte, 0x20),
      headers: { 'Transfer-Encoding': 'chunked' },
    },
  ])
  const wrong = found.filter(
    ({ answer: { status, text } }) => status < 400 || status >= 500 || /\bat .*\.ts|node:|\/src\//.test(text),
  )
  expect(wrong.map(({ what, answer }) => `${what}: ${answer.status} ${answer.text.slice(0, 200)}`)).toEqual([])
  expect(
    found
      .filter(
        ({ what, answer }) =>
          what.includes('too much') &&
          answer.status !== (readsNone.test(what) ? 400 : 413) &&
          answer.status !== (readsNone.test(what) ? 404 : 413),
      )
      .map(({ what, answer }) => `${what}: ${answer.status}`),
  ).toEqual([])
  const { events } = await statusOf(gateway)
  expect(events.received).toBe(received)
  expect(Object.keys(await statusOf(gateway))).not.toContain('isAdmin')
  expect(await isWell()).toBe(true)
})

test('wrong and duplicate lengths, and smuggled requests, are refused', async () => {
  const head = (...lines: readonly string[]) =>
    ['POST /api/messages HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, ...lines, '', ''].join('\r\n')
  const body = '{"text":"smuggled","conversation":"smuggled"}'
  const hidden = `POST /api/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const lies = [
    `${head('Content-Length: 3')}${body}`,
    `${head('Content-Length: 10', 'Content-Length: 45')}${body}`,
    `${head('Content-Length: 45', 'Transfer-Encoding: chunked')}0\r\n\r\n${hidden}`,
    `${head('Content-Length: -1')}${body}`,
    `${head('Content-Length: 1e3')}${body}`,
    `${head('Transfer-Encoding: chunked, identity')}${body}`,
    `${head('Transfer-Encoding: chunked')}ffffffffffffffff\r\n${body}`,
    `${head('Transfer-Encoding: chunked')}zz\r\n${body}`,
    `${head('Transfer-Encoding : chunked')}0\r\n\r\n`,
    head('Content-Length: 45', ' folded: yes'),
  ]
  const received = (await statusOf(gateway)).events.received
  for (const bytes of lies) {
    const text = await say(gateway.url, bytes, 1500)
    expect(text, bytes.slice(0, 200)).not.toMatch(/HTTP\/1\.1 (?:2|5)\d\d/)
  }
  expect((await statusOf(gateway)).events.received).toBe(received)
})

test('floods of headers, pipelined requests and silent connections do no harm', {
  timeout: 60_000,
}, async () => {
  const many = Array.from({ length: 5000 }, (_, i) => `X-${i}: ${i}`).join('\r\n')
  expect(await say(gateway.url, `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n${many}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  )
  expect(
    await say(gateway.url, `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${'a'.repeat(20_000)}\r\n\r\n`),
  ).toMatch(/^HTTP\/1\.1 431 /)
  expect(await say(gateway.url, `GET /${'a'.repeat(64_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  )
  const one = `GET /api/overview HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`
  // The responses are not read.
  for (let i = 0; i < 60; i += 1) (await opened()).pause().write(one.repeat(500))
  for (let i = 0; i < 300; i += 1) await opened()
  expect(await isWell()).toBe(true)
  expect((await rss()) - before).toBeLessThan(mostGrowth)
})

test('clients that send a byte now and then are disconnected, and all others are served meanwhile', {
  timeout: 60_000,
}, async () => {
  const slow = await Promise.all(Array.from({ length: 150 }, opened))
  let gone = 0
  for (const socket of slow) socket.resume().on('close', () => (gone += 1))
  const drip = setInterval(() => {
    for (const socket of slow) if (socket.writable) socket.write('X')
  }, 500)
  for (const socket of slow) socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ')
  let answered = 0
  await eventually(
    'the slow ones are gone',
    async () => {
      expect(await isWell()).toBe(true)
      if (gone < slow.length) answered++
      return gone === slow.length
    },
    20_000,
  )
  clearInterval(drip)
  expect(answered).toBeGreaterThan(0)
})

test('of a thousand listeners, half of which never read, each gets a message or is disconnected', {
  timeout: 60_000,
}, async () => {
  const listen = `GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const all: Socket[] = []
  for (let i = 0; i < 20; i += 1) all.push(...(await Promise.all(Array.from({ length: 50 }, opened))))
  const heard = new Map(all.map(socket => [socket, '']))
  all.forEach((socket, i) => {
    if (i % 2 === 0) socket.on('data', chunk => heard.set(socket, (heard.get(socket) ?? '') + chunk))
    else socket.pause()
    socket.write(listen)
  })
  const readers = all.filter((_, i) => i % 2 === 0)
  await eventually(
    'all listen',
    () => readers.every(socket => heard.get(socket)?.includes('event: status') === true),
    20_000,
  )
  for (let i = 0; i < 20; i += 1) {
    const body = JSON.stringify({ conversation: 'told-to-all', text: 'hello' })
    expect(
      (await ask(gateway.url, { method: 'POST', path: '/api/messages?wait=true', headers: bearer, body })).status,
    ).toBe(200)
  }
  const ends = (text = '') => text.split('"type":"turn-ended"').length - 1
  await eventually('all have heard of it', () => readers.every(socket => ends(heard.get(socket)) === 20), 20_000)
  expect((await rss()) - before).toBeLessThan(mostGrowth)
  for (const socket of all) socket.destroy()
  expect(await isWell()).toBe(true)
})

test('abandoned sockets and invalid frames do no harm', {
  timeout: 60_000,
}, async () => {
  const handshake = `GET /ws?token=${token} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
  const frames = {
    'not masked': [0x81, 0x02, 0x68, 0x69],
    'reserved bits': [0xf1, 0x80, 0, 0, 0, 0],
    'unknown kind': [0x83, 0x80, 0, 0, 0, 0],
    'longer than anything': [0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
    'longer than allowed': [0x81, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0],
    'a long ping': [0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0],
    'not UTF-8': [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
    'a rest of nothing': [0x80, 0x80, 0, 0, 0, 0],
  }
  for (const [what, bytes] of Object.entries(frames)) {
    const socket = await opened()
    const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
    socket.resume().write(handshake)
    await pause(20)
    socket.write(Buffer.from(bytes))
    await Promise.race([closed, pause(5000).then(() => Promise.reject(new Error(`${what} was taken`)))])
  }
  for (let i = 0; i < 200; i += 1) (await opened()).pause().write(handshake)
  const pings = await opened()
  pings.pause().write(handshake)
  for (let i = 0; i < 1000; i += 1) pings.write(Buffer.alloc(6 * 1000, Buffer.from([0x89, 0x80, 0, 0, 0, 0])))
  expect(await isWell()).toBe(true)
  const answer = await ask(gateway.url, {
    method: 'POST',
    path: '/api/messages?wait=true',
    headers: bearer,
    body: '{"text":"still there?"}',
  })
  expect(answer.status).toBe(200)
  expect((await rss()) - before).toBeLessThan(mostGrowth)
})
