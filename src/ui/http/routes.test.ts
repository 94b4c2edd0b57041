// Messages over HTTP: accepted, refused, waited for.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Approval } from '../../base/pairing.ts'
import type { NewMessage } from '../../base/socket.ts'
import { bearer, closeAll, open, post, token } from './server.rig.ts'

afterEach(closeAll)

test('a message is accepted with its id and conversation, which are generated if missing', async () => {
  const taken: (NewMessage & { wait: boolean })[] = []
  const { url } = await open({
    webchat: {
      message: async (message, wait) => {
        taken.push({ ...message, wait })
        return { type: 'accepted', id: message.id, conversation: message.conversation, position: 2 }
      },
    },
  })
  const full = await post(`${url}/api/messages`, { text: 'hé', id: 'm1', conversation: 'c.1' })
  expect([full.status, await full.json()]).toEqual([
    202,
    { type: 'accepted', id: 'm1', conversation: 'c.1', position: 2 },
  ])
  const bare = (await (await post(`${url}/api/messages`, { text: 'x' })).json()) as { id: string; conversation: string }
  expect(bare).toMatchObject({ conversation: 'fresh', id: expect.stringMatching(/^[\w-]{36}$/) })
  expect(taken).toMatchObject([
    { text: 'hé', id: 'm1', conversation: 'c.1', wait: false },
    { text: 'x', wait: false },
  ])
})

test('a refused message has the status of its reason', async () => {
  const cases = {
    ...{ busy: 503, full: 503, stopping: 503, 'not-stored': 503, 'too-long': 413, empty: 400 },
    ...{ stranger: 403, 'too-fast': 429 },
  } as const
  for (const [why, status] of Object.entries(cases)) {
    const { url } = await open({
      webchat: {
        message: async ({ id }) => ({ type: 'refused', id, why: why as keyof typeof cases, reason: 'in plain words' }),
      },
    })
    const answer = await post(`${url}/api/messages`, { text: 'x', id: 'm' })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, status === 503 ? '5' : null])
    expect(await answer.json()).toEqual({ type: 'refused', id: 'm', why, reason: 'in plain words' })
  }
})

test('a body that is not a message is refused with a clear reason', async () => {
  const { url } = await open()
  const cases: [unknown, string][] = [
    ['{"text":', 'not JSON'],
    ['', 'not JSON'],
    ['7', 'JSON object'],
    ['[1]', '"text" is missing'],
    [{}, '"text" is missing'],
    [{ text: 7 }, '"text" must be a string'],
    [{ text: 'x', conversation: '../etc' }, '"conversation" must match'],
    [{ text: 'x', id: '' }, '"id" must have'],
  ]
  for (const [body, words] of cases) {
    const answer = await post(`${url}/api/messages`, body)
    expect([answer.status, await answer.json()]).toEqual([400, { error: expect.stringContaining(words) }])
  }
})

test('a body over the limit is refused, with and without Content-Length', async () => {
  const { url } = await open()
  const big = JSON.stringify({ text: 'x'.repeat(5_000_000) })
  expect((await post(`${url}/api/messages`, big)).status).toBe(413)
  const stream = new Blob([big]).stream()
  const chunked = await fetch(`${url}/api/messages`, { method: 'POST', headers: bearer, body: stream, duplex: 'half' })
  expect(chunked.status).toBe(413)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})

test('waiting returns the final, and the outbox counts it as delivered', async () => {
  const delivered: boolean[] = []
  const { url } = await open({
    webchat: {
      message: async ({ id }, wait) => {
        expect(wait).toBe(true)
        await sleep(20)
        return { type: 'final', id, text: 'pong', ok: true, delivered: sent => void delivered.push(sent) }
      },
    },
  })
  const answer = await post(`${url}/api/messages?wait=true`, { text: 'ping', id: 'm1' })
  expect([answer.status, await answer.json()]).toEqual([200, { type: 'final', id: 'm1', text: 'pong', ok: true }])
  await expect.poll(() => delivered).toEqual([true])
})

test('a client that leaves while waiting is noticed, and its final counts as not delivered', async () => {
  const delivered: boolean[] = []
  const arrived = Promise.withResolvers<void>()
  let finish = () => {}
  let left = false
  const { url } = await open({
    webchat: {
      message: ({ id }, _, signal) =>
        new Promise(done => {
          arrived.resolve()
          signal.addEventListener('abort', () => {
            left = true
          })
          finish = () =>
            done({ type: 'final', id, text: 'late', ok: true, delivered: sent => void delivered.push(sent) })
        }),
    },
  })
  const leaving = new AbortController()
  const request = fetch(`${url}/api/messages?wait=true`, {
    method: 'POST',
    headers: bearer,
    body: '{"text":"x"}',
    signal: leaving.signal,
  })
  await arrived.promise
  leaving.abort()
  await expect(request).rejects.toThrow()
  await expect.poll(() => left).toBe(true)
  finish()
  await expect.poll(() => delivered).toEqual([false])
})

test('a final that is only partly sent counts as not delivered', async () => {
  const delivered: boolean[] = []
  const { port } = await open({
    webchat: {
      message: async ({ id }) => ({
        type: 'final',
        id,
        text: 'x'.repeat(50_000_000),
        ok: true,
        delivered: sent => void delivered.push(sent),
      }),
    },
  })
  const request = `POST /api/messages?wait=true&token=${token} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{"text":"x"}`
  const stream = connect(port, '127.0.0.1', () => stream.write(request))
  stream.once('data', () => stream.destroy())
  await expect.poll(() => delivered).toEqual([false])
})

const eve = { chat: 'discord', user: '66', name: 'Eve' }

test('pairing requests are listed and decided, and the status code tells the result', async () => {
  const decided: unknown[] = []
  const answers: Approval[] = [
    { type: 'approved', person: eve, owner: true },
    { type: 'unknown' },
    { type: 'expired', person: eve },
    { type: 'locked', leftMs: 599_500 },
  ]
  const { url } = await open({
    admin: {
      pairing: {
        list: async () => ({ requests: [], people: [{ ...eve, as: 'guest', since: 7 }] }),
        async approve(code, owner) {
          decided.push([code, owner])
          return answers.shift() ?? { type: 'unknown' }
        },
        async deny(whom) {
          decided.push(whom)
          return whom === 'discord:66' ? { type: 'denied', person: eve } : { type: 'unknown' }
        },
      },
    },
  })
  const decide = async (body: object) => {
    const answer = await post(`${url}/api/pairing`, body)
    const { type, reason } = (await answer.json()) as { type: string; reason: string }
    return [answer.status, type, reason.length > 20, answer.headers.get('retry-after')]
  }
  const listed = await fetch(`${url}/api/pairing`, { headers: bearer })
  expect(await listed.json()).toEqual({ requests: [], people: [{ ...eve, as: 'guest', since: 7 }] })
  expect(await decide({ approve: 'CODE', owner: true })).toEqual([200, 'approved', true, null])
  expect(await decide({ approve: 'CODE' })).toEqual([404, 'unknown', true, null])
  expect(await decide({ approve: 'CODE' })).toEqual([410, 'expired', true, null])
  expect(await decide({ approve: 'CODE' })).toEqual([429, 'locked', true, '600'])
  expect(await decide({ deny: 'discord:66' })).toEqual([200, 'denied', true, null])
  expect(await decide({ deny: 'x' })).toEqual([404, 'unknown', true, null])
  expect(decided).toEqual([['CODE', true], ...Array(3).fill(['CODE', false]), 'discord:66', 'x'])
})

test('nobody decides without the token, from another site, or with an incomplete decision', async () => {
  const refuse = async () => expect.fail('decided')
  const { url } = await open({ admin: { pairing: { list: refuse, approve: refuse, deny: refuse } } })
  const to = `${url}/api/pairing`
  expect((await fetch(to)).status).toBe(401)
  expect((await post(to, { approve: 'x' }, {})).status).toBe(401)
  expect((await post(to, { approve: 'x' }, { ...bearer, Origin: 'http://evil.example' })).status).toBe(403)
  const put = await fetch(to, { method: 'PUT', headers: bearer })
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  const cases: [unknown, number][] = [
    ...[{}, { approve: 'x', deny: 'y' }, { approve: 7 }, { approve: 'x', owner: 'yes' }, 'no json', '[]'].map(
      (body): [unknown, number] => [body, 400],
    ),
    [{ deny: 'x'.repeat(201) }, 400],
    [{ deny: 'x'.repeat(2_000_000) }, 413],
  ]
  for (const [body, status] of cases) {
    const answer = await post(to, body)
    expect([answer.status, await answer.json()]).toEqual([status, { error: expect.stringMatching(/body|must/) }])
  }
})
