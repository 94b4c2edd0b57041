// Disconnecting from a gateway: with a proper close, and not before the delivery is acknowledged.
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { visit } from './connection.ts'
import type { Frame } from './wire.ts'

/** Sends hello and a final, pings after `pingAfterMs` (null: never), and returns what it received until the end. */
async function visited(pingAfterMs: number | null) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => void server.close())
  await new Promise(resolve => server.once('listening', resolve))
  const seen: string[] = []
  const closed = new Promise(resolve => {
    server.on('connection', socket => {
      socket.on('pong', payload => seen.push(`pong ${payload}`))
      socket.on('close', code => resolve(seen.push(`close ${code}`)))
      socket.send('{"type":"hello","conversation":"c"}')
      socket.send('{"type":"final","id":"1","text":"a letter","ok":true}')
      if (pingAfterMs !== null) setTimeout(() => socket.ping('reached'), pingAfterMs)
    })
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const leaving = new AbortController()
  await visit(
    { url: `http://127.0.0.1:${address.port}`, token: 't' },
    {
      ...{ conversation: 'c', helloMs: 60_000, settledAfterMs: 60_000, greeted: () => {} },
      received: (frame: Frame) => frame.type === 'final' && leaving.abort(),
    },
    leaving.signal,
  )
  await closed
  return seen
}

test('a client that leaves right after a delivery still acknowledges it, and then closes properly', async () => {
  expect(await visited(0)).toEqual(['pong reached', 'close 1000'])
  expect(await visited(40)).toEqual(['pong reached', 'close 1000'])
})

test('a gateway that never pings does not delay the close', async () => {
  expect(await visited(null)).toEqual(['close 1000'])
})
