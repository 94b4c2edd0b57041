// WebSockets as their clients see them: access, limits, and detection of dead peers.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type WebSocket from 'ws'
import type { Socket } from '../../base/socket.ts'
import type { HttpLimits } from './options.ts'
import { bearer, client, closeAll, open, raw, token } from './server.rig.ts'

afterEach(closeAll)

test('a socket that never answers the close frame is terminated', async () => {
  const joined = Promise.withResolvers<void>()
  const { port, stop } = await open({ webchat: { connect: () => joined.resolve() } })
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
  const head = `GET /ws?token=${token} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n\r\n`
  const mute = raw(port, head)
  await joined.promise
  await stop()
  expect(await mute).toMatch(/^HTTP\/1\.1 101 /)
})

test('a socket joins the conversation it names, or a new one, and only with the token', async () => {
  const joined: string[] = []
  const { url, login } = await open({ webchat: { connect: (_, conversation) => void joined.push(conversation) } })
  for (const path of [`/ws?token=${token}&conversation=a.B-9_`, `/ws?token=${token}`]) {
    const { ws, opened, closed } = client(url + path, {})
    await opened
    ws.close()
    await closed
  }
  expect(joined).toEqual(['a.B-9_', 'fresh'])
  await expect(client(`${url}/ws`, {}).opened).rejects.toThrow('401')
  await expect(client(`${url}/ws?token=nearly`, {}).opened).rejects.toThrow('401')
  await expect(client(`${url}/ws?conversation=../x`).opened).rejects.toThrow('400')
  await expect(client(`${url}/ws?conversation=`).opened).rejects.toThrow('400')
  await expect(client(`${url}/elsewhere`).opened).rejects.toThrow('404')
  const cookie = client(`${url}/ws`, { headers: { Cookie: await login() } })
  await cookie.opened
  cookie.ws.close()
  expect(joined).toHaveLength(3)
})

const withSocket = async (changes: { readonly limits?: Partial<HttpLimits> } = {}) => {
  const sockets: Socket[] = []
  const server = await open({ webchat: { connect: socket => void sockets.push(socket) }, ...changes })
  const join = async (options: WebSocket.ClientOptions = {}) => {
    const peer = client(`${server.url}/ws`, { headers: bearer, ...options })
    await peer.opened
    const socket = sockets.at(-1)
    if (socket === undefined) throw new Error('nobody was connected')
    return { ...peer, socket }
  }
  return { ...server, join }
}

test('text goes both ways, and a socket whose handler throws closes without affecting the others', async () => {
  const { join, warnings } = await withSocket()
  const one = await join()
  const two = await join()
  one.socket.onText(text => one.socket.send(`echo ${text}`))
  two.socket.onText(() => {
    throw new Error('a bug')
  })
  const heard = new Promise<string>(done => one.ws.once('message', data => done(data.toString())))
  two.ws.send('x')
  expect((await two.closed).code).toBe(1011)
  one.ws.send('grüße')
  expect(await heard).toBe('echo grüße')
  expect(warnings).toEqual(['socket listener failed'])
})

test('a message of 5 MB or a binary one closes its own socket only', async () => {
  const { join } = await withSocket()
  const [huge, binary, other] = [await join(), await join(), await join()]
  const ended: string[] = []
  huge.socket.onClose(() => ended.push('huge'))
  huge.ws.send('x'.repeat(5_000_000))
  expect((await huge.closed).code).toBe(1009)
  binary.ws.send(Buffer.from([1, 2]))
  expect(await binary.closed).toEqual({ code: 1003, reason: 'text only' })
  await expect.poll(() => ended).toEqual(['huge'])
  expect(await other.socket.reached()).toBe(true)
})

test('reached is true after the pong, false if the peer leaves or stays silent', async () => {
  const { join } = await withSocket({ limits: { reachMs: 300 } })
  const one = await join()
  const heard: string[] = []
  one.ws.on('message', data => heard.push(data.toString()))
  one.socket.send('a')
  expect(await Promise.all([one.socket.reached(), one.socket.reached()])).toEqual([true, true])
  expect(heard).toEqual(['a'])

  const mute = await join({ autoPong: false })
  const asked = mute.socket.reached()
  expect(await asked).toBe(false)
  expect((await mute.closed).code).toBe(1006)

  const leaving = await join({ autoPong: false })
  const unanswered = leaving.socket.reached()
  leaving.ws.terminate()
  expect(await unanswered).toBe(false)
  expect(await leaving.socket.reached()).toBe(false)
  leaving.socket.send('into the void')
})

test('a peer that answers no ping is disconnected, one that does stays', async () => {
  const { join } = await withSocket({ limits: { pingEveryMs: 100 } })
  const good = await join()
  const dead = await join({ autoPong: false })
  const ended = new Promise<void>(done => dead.socket.onClose(done))
  expect((await dead.closed).code).toBe(1006)
  await ended
  await sleep(300)
  expect(await good.socket.reached()).toBe(true)
})

test('a slow reader is disconnected, and the chat is notified immediately', async () => {
  const { join, warnings } = await withSocket({ limits: { bufferedBytes: 1_000_000 } })
  const slow = await join()
  slow.ws.pause()
  let ended = 0
  slow.socket.onClose(() => {
    ended += 1
  })
  for (let i = 0; i < 200 && ended === 0; i += 1) {
    slow.socket.send('x'.repeat(500_000))
    await sleep(1)
  }
  expect(ended).toBe(1)
  expect(warnings).toEqual(['socket reads too slowly'])
  slow.ws.resume()
  expect([1006, 1013]).toContain((await slow.closed).code)
  expect(ended).toBe(1)
})
