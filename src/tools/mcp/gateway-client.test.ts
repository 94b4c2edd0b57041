// The bridge's client of the gateway: its requests, and every kind of failure.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createGatewayClient } from './gateway-client.ts'

const never = new AbortController().signal
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => void

async function gateway(answer: Answer, port = 0) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    answer(request, body, response)
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  closing.push(close)
  const { port: opened } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${opened}`, port: opened, close }
}

const says =
  (status: number, body: unknown): Answer =>
  (_, __, response) =>
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))

test('it lists and calls tools with its key, and returns the answer', async () => {
  const asked: unknown[] = []
  const { url } = await gateway(({ method, url: path, headers }, body, response) => {
    asked.push([method, path, headers.authorization, headers['content-type'], body])
    const answer = method === 'GET' ? { tools: [{ name: 'grüße' }] } : { ok: asked.length < 3, text: 'done ✓' }
    response.end(JSON.stringify(answer))
  })
  const far = createGatewayClient(url, 'key')
  expect(await far.list(never)).toEqual([{ name: 'grüße' }])
  expect(await far.call('a/b', { text: 'ü' }, never)).toEqual({ ok: true, text: 'done ✓' })
  expect(await far.call('c', undefined, never)).toEqual({ ok: false, text: 'done ✓' })
  expect(asked).toEqual([
    ['GET', '/api/tools', 'Bearer key', undefined, ''],
    ['POST', '/api/tools/a%2Fb', 'Bearer key', 'application/json', '{"arguments":{"text":"ü"}}'],
    ['POST', '/api/tools/c', 'Bearer key', 'application/json', '{"arguments":{}}'],
  ])
})

test('a refusal is reported in the gateway’s words; an unreadable answer is reported as such', async () => {
  const unreadable = 'The gateway gave an answer that cannot be read.'
  for (const [status, body, words] of [
    [401, { error: 'No such key.' }, 'No such key.'],
    [500, { error: 7 }, unreadable],
    [502, '<html>', unreadable],
  ] as const) {
    const { url } = await gateway(says(status, body))
    const far = createGatewayClient(url, 'key')
    await expect(far.list(never)).rejects.toThrow(words)
    expect(await far.call('a', {}, never)).toEqual({ ok: false, text: words })
  }
  const { url } = await gateway(says(200, 'not JSON'))
  expect(await createGatewayClient(url, 'key').call('a', {}, never)).toMatchObject({ ok: false })
})

test('a missing gateway is retried for the given time, and found if it comes up', async () => {
  const { url, port, close } = await gateway(says(200, { tools: [] }))
  close()
  const gone = createGatewayClient(url, 'key', { refusedMs: 200, answerMs: 60_000 })
  const notThere = 'The gateway is not running (any more), so nothing was done.'
  await expect(gone.list(never)).rejects.toThrow(notThere)
  expect(await gone.call('a', {}, never)).toEqual({ ok: false, text: notThere })
  const patient = createGatewayClient(url, 'key', { refusedMs: 60_000, answerMs: 60_000 }).list(never)
  await gateway(says(200, { tools: [] }), port)
  expect(await patient).toEqual([])
})

test('after an incomplete or late answer, the error says that the call may have been carried out', async () => {
  const broke = 'The connection to the gateway broke. It may or may not have done this.'
  const cut = await gateway((_, __, response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('{')
    setImmediate(() => response.destroy())
  })
  expect(await createGatewayClient(cut.url, 'key').call('a', {}, never)).toEqual({ ok: false, text: broke })
  const mute = await gateway((_, __, response) => response.socket?.destroy())
  expect(await createGatewayClient(mute.url, 'key').call('a', {}, never)).toEqual({ ok: false, text: broke })
  const slow = await gateway(() => undefined)
  const far = createGatewayClient(slow.url, 'key', { refusedMs: 0, answerMs: 100 })
  expect(await far.call('a', {}, never)).toEqual({
    ...{ ok: false, text: 'The gateway did not answer in time. It may or may not have done this.' },
  })
})

test('an aborted call returns immediately, with or without a gateway', async () => {
  const stop = new AbortController()
  const { url, close } = await gateway(() => stop.abort())
  await expect(createGatewayClient(url, 'key').list(stop.signal)).rejects.toThrow('broke')
  close()
  const patient = createGatewayClient(url, 'key', { refusedMs: 600_000, answerMs: 600_000 })
  expect(await patient.call('a', {}, AbortSignal.timeout(150))).toMatchObject({ ok: false })
})
