// Requests over real connections: none is left open, and none waits for ever.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { openRequests } from './http.ts'

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

test.each([204, 429, 502])('an answer %i whose body nobody reads does not hold its connection', async status => {
  const { url, connections } = await serve((_, answer) => answer.writeHead(status).end(status === 204 ? '' : '{}'))
  const request = openRequests()
  for (let n = 0; n < 5; n++) {
    expect((await request(url, {})).status).toBe(status)
    await pause(20)
  }
  expect(connections()).toBe(1)
})

test('one that is never answered, or only by half, is given up', async () => {
  const { url } = await serve((asked, answer) => {
    if (asked.method === 'GET') answer.writeHead(200, { 'content-length': '10' }).write('half')
  })
  const request = openRequests(100)
  await expect(request(url, { method: 'POST', body: '{}' })).rejects.toThrow('no answer')
  const half = await request(url, {})
  await expect(half.text()).rejects.toThrow()
})

test('one that moves may take longer than that', async () => {
  const { url } = await serve(async (_, answer) => {
    answer.writeHead(200)
    for (let n = 0; n < 6; n++) {
      answer.write('x')
      await pause(50)
    }
    answer.end()
  })
  const answer = await openRequests(150)(url, {})
  expect(await answer.text()).toBe('xxxxxx')
})
