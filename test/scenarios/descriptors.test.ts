// No file descriptors left: nothing is lost, connected clients are answered, and it continues when there is room again.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, pause } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway } from '../harness/gateway.ts'

let home: Home
let gateway: RunningGateway
beforeEach(async () => {
  home = await makeHome()
})
afterEach(async () => {
  try {
    allow(1024)
  } finally {
    await gateway.stop()
  }
  expect(processesWith(`HOME=${home.dir}`)).toEqual([])
  await home.remove()
})

/** Limits the gateway's descriptors from now on; open ones stay. */
const allow = (most: number) => {
  const { status, stderr } = spawnSync('prlimit', [`--pid=${gateway.pid}`, `--nofile=${most}:`], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
}

test('connections beyond the descriptor limit are refused, and existing ones are served', async () => {
  gateway = await startGateway(home)
  const client = await connect(gateway.url, 'room')
  allow(64)
  const { hostname, port } = new URL(gateway.url)
  const told: string[] = []
  const sockets = await Promise.all(
    Array.from({ length: 80 }, async () => {
      const socket = connectTcp(Number(port), hostname)
      socket.on('data', chunk => told.push(String(chunk)))
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    }),
  )
  await expect.poll(() => told.filter(text => text.startsWith('HTTP/1.1 503 ')).length).toBeGreaterThan(20)
  client.say('m1', 'hello')
  expect(await client.final('m1')).toMatchObject({ ok: true, text: 'turn 1: hello' })
  for (const socket of sockets) (socket as Socket).destroy()
  await eventually('connected again', async () => {
    const late = await connect(gateway.url, 'other').catch(() => null)
    late?.say('m2', 'hello')
    return late !== null && (await late.final('m2')).ok === true
  })
  expect(gateway.output()).toContain('too few descriptors left')
})

test.each(['true', 'false'])(
  'without any descriptors messages wait and lose no attempt (BACKEND_WARM=%s)',
  async warm => {
    gateway = await startGateway(home, { BACKEND_WARM: warm })
    const client = await connect(gateway.url, 'room')
    client.say('m0', 'hello')
    await client.final('m0')
    allow(8)
    for (const id of ['m1', 'm2']) client.say(id, `hello ${id}`)
    const notice = await client.next(frame => frame.type === 'action' && frame.phase === 'notice')
    expect(notice.label).toMatch(/too many files and processes open.*as soon as there is room/)
    // New connections are attempted all the time.
    const { hostname, port } = new URL(gateway.url)
    for (let i = 0; i < 20; i++) {
      connectTcp(Number(port), hostname).on('error', () => undefined)
      await pause(200)
    }
    const before = home.journal().filter(({ what }) => what === 'begin').length
    allow(1024)
    expect(await client.final('m1')).toMatchObject({ ok: true, text: 'turn 2: hello m1' })
    expect(await client.final('m2')).toMatchObject({ ok: true, text: 'turn 3: hello m2' })
    expect(before).toBe(1)
    const late = await connect(gateway.url, 'other')
    late.say('m3', 'hello')
    expect(await late.final('m3')).toMatchObject({ ok: true })
    expect(gateway.output()).not.toMatch(/internal error|crashed/)
    expect(gateway.output().split('\n').length).toBeLessThan(300)
  },
)
