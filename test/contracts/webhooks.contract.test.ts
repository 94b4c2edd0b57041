// Webhooks from the wire to the event: real HTTP, signatures as GitHub and Stripe make them, and an attack list.
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { EventSink, NewEvent, Refused } from '../../src/base/event.ts'
import type { Signal } from '../../src/base/signal.ts'
import { createWebhooks } from '../../src/hooks/index.ts'
import { defaultLimits } from '../../src/ui/http/options.ts'
import { openHttp } from '../../src/ui/http/server.ts'
import { fakeHttp } from '../fakes/http-options.ts'

const secret = 'a long secret, known to both sides'
const now = Date.parse('2026-03-04T05:06:07Z')
const agents = `# Rules

## Webhooks

### github
Instruction: Look at {{payload}}
Secret: HOOK_SECRET
Channel: discord:7

### unset
Instruction: x
Secret: NOT_SET

### pinned
Instruction: x
Secret: HOOK_SECRET
Signature: stripe
`
const stops: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const start = async (changes: { refuse?: Refused; requestMs?: number; unprovenBytes?: number } = {}) => {
  const events = new Map<string, NewEvent>()
  const signals: Signal[] = []
  const warnings: string[] = []
  const accept: EventSink = async event => {
    if (changes.refuse) return changes.refuse
    const known = [...events.keys()].indexOf(event.key)
    if (known >= 0) return { type: 'duplicate', id: known + 1 }
    events.set(event.key, event)
    return { type: 'accepted', id: events.size, position: 0 }
  }
  const { receive } = createWebhooks({
    read: async () => agents,
    secret: name => (name === 'HOOK_SECRET' ? secret : null),
    accept,
    placeOf: channel => (channel === null ? null : { chat: 'discord', conversation: channel.slice(8) }),
    emit: signal => void signals.push(signal),
    now: () => now,
  })
  const stopping = new AbortController()
  const http = await openHttp(
    fakeHttp({ address: { token: 'our-token' }, webhook: receive, warn: (_, text) => void warnings.push(text) }),
    {
      ...defaultLimits,
      ...{ wrongTokenMs: 1, headersMs: 300, requestMs: changes.requestMs ?? 30_000, stopMs: 300 },
      ...{ unprovenBytes: changes.unprovenBytes ?? 32 * 1024 * 1024 },
    },
    stopping.signal,
  )
  stops.push(async () => {
    stopping.abort()
    await http.closed
  })
  return { ...http, events, signals, warnings }
}

const hex = (text: string | Uint8Array, key = secret) => createHmac('sha256', key).update(text).digest('hex')
const github = (body: string | Uint8Array, delivery = 'd-1') => ({
  'X-Hub-Signature-256': `sha256=${hex(body)}`,
  'X-GitHub-Delivery': delivery,
})
const stripe = (body: string, at = now / 1000) => ({
  'Stripe-Signature': `t=${at},v1=${'0'.repeat(64)},v1=${hex(`${at}.${body}`)},v0=${'1'.repeat(64)}`,
})
const post = async (url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, { method: 'POST', body, headers })
  return [answer.status, await answer.json(), answer.headers.get('retry-after')] as const
}

/** The whole response until the server closed the connection. */
const raw = (port: number, ...parts: readonly string[]): Promise<string> =>
  new Promise((done, fail) => {
    let got = ''
    const stream = connect(port, '127.0.0.1', async () => {
      for (const part of parts) {
        if (stream.destroyed) break
        stream.write(part)
        await sleep(50)
      }
    })
    stream.on('data', chunk => {
      got += chunk
    })
    stream.on('close', () => done(got))
    stream.on('error', error => (got === '' ? fail(error) : undefined))
  })

test('a delivery signed as GitHub signs it becomes one event, however often it comes', async () => {
  const { url, events } = await start()
  const body = '{"action":"opened","issue":{"title":"Grüße"}}'
  expect(await post(`${url}/hooks/github`, body, github(body))).toEqual([202, { event: 1 }, null])
  expect(await post(`${url}/hooks/GitHub`, body, github(body))).toEqual([200, { event: 1, duplicate: true }, null])
  expect(await post(`${url}/hooks/github`, body, github(body, 'd-2'))).toEqual([202, { event: 2 }, null])
  expect(events.get('webhook:github:d-1')).toEqual({
    key: 'webhook:github:d-1',
    lane: 'webhook:github',
    what: { kind: 'webhook', name: 'github', instruction: 'Look at {{payload}}', payload: body },
    replyTo: { chat: 'discord', conversation: '7' },
    source: 'webhook',
  })
})

test('a delivery signed as Stripe signs it is identified by its event, and no header changes that', async () => {
  const { url, events } = await start()
  const body = '{"id":"evt_1","type":"invoice.paid"}'
  const at = now / 1000
  expect(await post(`${url}/hooks/pinned`, body, stripe(body, at - 299))).toEqual([202, { event: 1 }, null])
  const again = { ...stripe(body, at), 'X-GitHub-Delivery': 'new', 'Idempotency-Key': 'new', 'X-Request-Id': 'new' }
  expect(await post(`${url}/hooks/pinned`, body, again)).toEqual([200, { event: 1, duplicate: true }, null])
  for (const old of [at - 301, at + 301, 0])
    expect((await post(`${url}/hooks/pinned`, body, stripe(body, old)))[0]).toBe(401)
  const moved = stripe(body, at - 1000)['Stripe-Signature'].replace(`t=${at - 1000}`, `t=${at}`)
  expect((await post(`${url}/hooks/pinned`, body, { 'Stripe-Signature': moved }))[0]).toBe(401)
  expect([...events.keys()]).toEqual(['webhook:pinned:evt_1'])
})

test('a bearer token is accepted, and repeats are recognised by their id', async () => {
  const { url, events } = await start()
  const headers = { Authorization: `Bearer ${secret}` }
  expect((await post(`${url}/hooks/github`, 'not JSON', { ...headers, 'Idempotency-Key': 'a' }))[0]).toBe(202)
  expect((await post(`${url}/hooks/github`, 'not JSON', { ...headers, 'Idempotency-Key': 'a' }))[0]).toBe(200)
  expect((await post(`${url}/hooks/github`, 'not JSON', { ...headers, 'Idempotency-Key': 'b'.repeat(999) }))[0]).toBe(
    202,
  )
  expect((await post(`${url}/hooks/github`, 'not JSON', headers))[0]).toBe(202)
  expect((await post(`${url}/hooks/github`, 'not JSON', headers))[0]).toBe(200)
  expect(Math.max(...[...events.keys()].map(key => key.length))).toBeLessThan(100)
})

test('wrong, missing and misplaced signatures and secrets are refused, and so is the gateway’s token', async () => {
  const { url, events } = await start()
  const body = '{"a":1}'
  const { 'X-Hub-Signature-256': right } = github(body)
  const wrong: Record<string, string>[] = [
    {},
    { Authorization: 'Bearer our-token' },
    { Authorization: 'Bearer ' },
    { Authorization: `Basic ${secret}` },
    { Cookie: 'aetheel_token=our-token' },
    github(`${body} `),
    { 'X-Hub-Signature-256': right.slice(7) },
    { 'X-Hub-Signature-256': right.slice(0, -1) },
    { 'X-Hub-Signature-256': `${right}, ${right}` },
    { 'X-Hub-Signature-256': `sha256=${hex(body, '')}` },
    { 'X-Hub-Signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}` },
    { 'Stripe-Signature': `t=${now / 1000}` },
    { 'Stripe-Signature': `v1=${hex(`.${body}`)}` },
    { 'Stripe-Signature': `t=NaN,v1=${hex(`NaN.${body}`)}` },
  ]
  for (const headers of wrong) {
    const [status, answer] = await post(`${url}/hooks/github`, body, headers)
    expect([status, answer], JSON.stringify(headers)).toEqual([401, { error: expect.any(String) }])
  }
  expect((await post(`${url}/hooks/pinned`, body, github(body)))[0]).toBe(401)
  expect((await post(`${url}/hooks/pinned`, body, { Authorization: `Bearer ${secret}` }))[0]).toBe(401)
  expect((await post(`${url}/hooks/github?token=our-token`, body))[0]).toBe(401)
  expect(events.size).toBe(0)
})

test('an intercepted Stripe delivery cannot be passed off as one of GitHub', async () => {
  const { url, events } = await start()
  const at = now / 1000 - 100_000
  const signed = `${at}.{"id":"evt_1"}`
  expect((await post(`${url}/hooks/github`, signed, github(signed)))[0]).toBe(401)
  expect(events.size).toBe(0)
})

test('an unknown webhook, or one whose secret is not set, accepts nothing; only the log names the variable', async () => {
  const { url, events, signals } = await start()
  expect(await post(`${url}/hooks/nobody`, 'x', github('x'))).toEqual([404, { error: expect.any(String) }, null])
  const [status, answer, retry] = await post(`${url}/hooks/unset`, 'x', github('x'))
  expect([status, retry]).toEqual([503, '60'])
  expect(JSON.stringify(answer)).not.toContain('NOT_SET')
  await post(`${url}/hooks/unset`, 'x', { 'X-Hub-Signature-256': `sha256=${hex('x', '')}` })
  expect(signals).toEqual([
    { type: 'workspace-trouble', file: 'agents.md', why: expect.stringContaining('NOT_SET is not set') },
  ])
  expect(events.size).toBe(0)
})

test('a refusal by the intake is returned with Retry-After', async () => {
  const cases = { busy: 503, stopping: 503, 'not-stored': 503, 'too-fast': 429, 'over-budget': 429 } as const
  for (const [why, status] of Object.entries(cases)) {
    const { url } = await start({ refuse: { type: 'refused', why: why as keyof typeof cases, reason: 'Not now.' } })
    const got = await post(`${url}/hooks/github`, 'x', github('x'))
    expect(got, why).toEqual([status, { error: 'Not now.' }, status === 429 ? '60' : '5'])
  }
})

test('a body that is too long is refused, announced or in chunks; one that just fits is accepted', async () => {
  const { url, port, events } = await start()
  const full = 'x'.repeat(1024 * 1024)
  expect((await post(`${url}/hooks/github`, full, github(full)))[0]).toBe(202)
  expect((await post(`${url}/hooks/github`, `${full}x`, github(`${full}x`)))[0]).toBe(413)
  const head = `POST /hooks/github HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Hub-Signature-256: ${github('ab')['X-Hub-Signature-256']}\r\n`
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
  expect(await raw(port, chunked, '1\r\na\r\n', '1\r\nb\r\n0\r\n\r\n')).toMatch(/^HTTP\/1\.1 202 /)
  const mega = `100000\r\n${full}\r\n`
  expect(await raw(port, chunked, mega, mega, '0\r\n\r\n')).toMatch(/^HTTP\/1\.1 413 /)
  expect(await raw(port, `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
  expect(events.size).toBe(2)
})

test('a body that arrives too slowly is cut off and becomes no event', async () => {
  const { url, port, events, warnings } = await start({ requestMs: 600 })
  const head = 'POST /hooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'
  const began = performance.now()
  expect(await raw(port, head, ...Array(100).fill('x'))).toMatch(/^HTTP\/1\.1 408 /)
  expect(performance.now() - began).toBeLessThan(3_000)
  expect((await post(`${url}/hooks/github`, 'x', github('x')))[0]).toBe(202)
  expect([events.size, warnings]).toEqual([1, []])
})

test('unauthenticated bodies share a limited amount of memory; one that never ends makes room for the next', async () => {
  const { url, port } = await start({ unprovenBytes: 1_500_000, requestMs: 1_000 })
  const half = `POST /hooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\n\r\n${'x'.repeat(1_000_000)}`
  const held = raw(port, half)
  await sleep(200)
  const body = 'y'.repeat(600_000)
  expect((await post(`${url}/hooks/github`, body, github(body, 'first')))[0]).toBe(202)
  expect(await held).toMatch(/^HTTP\/1\.1 503 /)
  for (const delivery of ['a', 'b', 'c', 'd'])
    expect((await post(`${url}/hooks/github`, body, github(body, delivery)))[0]).toBe(202)
})

test('only POST is accepted, and only for the name of a webhook', async () => {
  const { port, events } = await start()
  const body = '{}'
  const proof = `X-Hub-Signature-256: ${github(body)['X-Hub-Signature-256']}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n${body}`
  const ask = (line: string, host = 'localhost') => raw(port, `${line} HTTP/1.1\r\nHost: ${host}\r\n${proof}`)
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
    expect(await ask(`${method} /hooks/github`), method).toMatch(/^HTTP\/1\.1 405 [\s\S]*Allow: POST\r\n/)
  for (const path of [
    ...['/hooks', '/hooks/', '/hooks//github', '/hooks/github/', '/hooks/../hooks', '/hooks/.github'],
    ...['/hooks/%67ithub', '/hooks/..%2fgithub', '/hooks/github%00', '/hooks/__proto__', '/hooks/constructor'],
    ...[`/hooks/${'x'.repeat(65)}`, '/hooks/a\\..\\b', '/hooks/%2e%2e/x'],
  ])
    expect(await ask(`POST ${path}`), path).toMatch(/^HTTP\/1\.1 404 /)
  expect(await ask('POST /hooks/./github')).toMatch(/^HTTP\/1\.1 202 /)
  expect(events.size).toBe(1)
})

test('through a tunnel only webhooks are reachable, and never from a page of another site', async () => {
  const { port, events } = await start()
  const tail = `X-Hub-Signature-256: ${github('{}')['X-Hub-Signature-256']}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`
  const ask = (line: string, more = '') =>
    raw(port, `${line} HTTP/1.1\r\nHost: abc.tunnel.example\r\n${more}Authorization: Bearer our-token\r\n${tail}`)
  expect(await ask('POST /hooks/github')).toMatch(/^HTTP\/1\.1 202 /)
  for (const line of [
    'POST /hooks/../api/messages',
    'POST /hooks/%2e%2e/api/messages',
    'GET /api/status',
    'GET /hooks/',
  ])
    expect(await ask(line), line).toMatch(/^HTTP\/1\.1 421 /)
  expect(await ask('POST /hooks/github', 'Origin: https://evil.example\r\n')).toMatch(/^HTTP\/1\.1 403 /)
  expect(events.size).toBe(1)
})

test('bytes that are not text are refused; deep, polluting and odd JSON does no harm', async () => {
  const { url, events } = await start()
  const noText = new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])
  expect((await post(`${url}/hooks/github`, noText, github(noText)))[0]).toBe(400)
  const bodies = [
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"id":"evt_p"}',
    `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    `{"id":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
    '{"id":7}',
    'null',
    '',
    '\u0000\ufeff{"id":"e"}',
  ]
  for (const body of bodies)
    expect((await post(`${url}/hooks/pinned`, body, stripe(body)))[0], body.slice(0, 60)).toBe(202)
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  expect([...events.values()].map(({ what }) => (what.kind === 'webhook' ? what.payload : null))).toEqual(bodies)
})

test('a thousand invalid requests in a row make eleven lines in the log and no event, and do not delay a valid one', async () => {
  const { url, events, warnings } = await start()
  for (let i = 0; i < 1000; i += 50) {
    const batch = Array.from({ length: 50 }, (_, j) =>
      post(`${url}/hooks/${j % 2 === 0 ? 'github' : `guess-${i + j}`}`, 'x', github(`wrong ${j}`)),
    )
    for (const [status] of await Promise.all(batch)) expect([401, 404]).toContain(status)
  }
  const began = performance.now()
  expect((await post(`${url}/hooks/github`, 'x', github('x')))[0]).toBe(202)
  expect(performance.now() - began).toBeLessThan(500)
  expect([events.size, warnings.length, new Set(warnings)]).toEqual([1, 11, new Set(['webhook refused'])])
})

test('forty bodies that are never finished do not keep a webhook out', async () => {
  const { url, port } = await start({ requestMs: 20_000 })
  const half = `POST /hooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\n\r\n${'x'.repeat(1_000_000)}`
  const held = Array.from({ length: 40 }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(half))
    socket.on('error', () => undefined)
    return socket
  })
  await sleep(500)
  const body = 'y'.repeat(600_000)
  for (const delivery of ['a', 'b', 'c'])
    expect((await post(`${url}/hooks/github`, body, github(body, delivery)))[0]).toBe(202)
  for (const socket of held) socket.destroy()
})
