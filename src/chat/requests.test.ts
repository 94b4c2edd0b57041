// Requests over real connections: none is left open, and none waits forever.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createRequests } from './requests.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(answer: RequestListener) {
  let connections = 0
  const server = createServer(answer).on('connection', () => connections++)
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, connections: () => connections }
}

test.each([204, 429, 502])('a response %i with an unread body does not block its connection', async status => {
  const { url, connections } = await serve((_, answer) => answer.writeHead(status).end(status === 204 ? '' : '{}'))
  const request = createRequests()
  for (let n = 0; n < 5; n++) {
    expect((await request(url, {})).status).toBe(status)
    await pause(20)
  }
  expect(connections()).toBe(1)
})

test('a request without a complete response is given up', async () => {
  const { url } = await serve((incoming, answer) => {
    if (incoming.method === 'GET') answer.writeHead(200, { 'content-length': '10' }).write('half')
  })
  const request = createRequests(100)
  await expect(request(url, { method: 'POST', body: '{}' })).rejects.toThrow('no answer')
  const half = await request(url, {})
  await expect(half.text()).rejects.toThrow()
})

test('a slow response that keeps sending may take longer than the timeout', async () => {
  const { url } = await serve(async (_, answer) => {
    answer.writeHead(200)
    for (let n = 0; n < 6; n++) {
      answer.write('x')
      await pause(50)
    }
    answer.end()
  })
  const answer = await createRequests(150)(url, {})
  expect(await answer.text()).toBe('xxxxxx')
})
