// Mission Control over HTTP: the live stream, who may listen to it, and the data of the pages.
import { connect as connectTcp, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { fakeMission, someEvent, someWork } from '../../../test/fakes/mission.ts'
import { bearer, closeAll, open } from './server.rig.ts'

const listeners: Socket[] = []

afterEach(async () => {
  for (const one of listeners.splice(0)) one.destroy()
  await closeAll()
})

/** Listens like a browser; what arrived so far is in blocks of lines. */
function listen(port: number, path = '/events', headers: Record<string, string> = {}) {
  let got = ''
  const socket = connectTcp(port, '127.0.0.1', () => {
    const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...bearer, ...headers })
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  })
  listeners.push(socket)
  socket.on('data', chunk => {
    got += chunk
  })
  socket.on('error', () => undefined) // a reader that is cut
  const closed = new Promise<void>(done => socket.once('close', () => done()))
  const blocks = (kind: string) =>
    got
      .split('\n\n')
      .slice(0, -1) // the last one is not over yet
      .filter(block => block.includes(`event: ${kind}\n`))
      .map(block => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as { id: number; text: string })
  return { socket, closed, all: () => got, texts: () => blocks('activity').map(({ text }) => text), blocks }
}

const until = (isSo: () => boolean) => expect.poll(isSo, { timeout: 5000, interval: 5 }).toBe(true)

test('changed files are reported together, each once', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission } })
  mission.touch('before anybody came')
  const reader = listen(port)
  await until(() => reader.blocks('status').length > 0)
  for (const file of ['brain.json', 'brain.json', 'soul.md']) mission.touch(file)
  await until(() => reader.blocks('changed').length > 0)
  expect(reader.blocks('changed')).toEqual([{ files: ['brain.json', 'soul.md'] }])
})

test('each entry reaches every listener once and in order', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission } })
  mission.happen('before anybody came')
  const readers = Array.from({ length: 200 }, () => listen(port))
  await until(() => readers.every(one => one.blocks('status').length > 0))
  for (const text of ['one', 'two']) mission.happen(text)
  await until(() => readers.every(one => one.texts().length >= 2))
  mission.happen('three')
  await until(() => readers.every(one => one.texts().length >= 3))
  for (const one of readers) expect(one.texts()).toEqual(['one', 'two', 'three'])
  expect(readers[0]?.all()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*text\/event-stream/)
  expect(readers[0]?.all()).toContain('id: 3\nevent: activity\n')
})

test('a reconnecting listener gets the missed entries, and none twice', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission }, limits: { gatherMs: 100 } })
  listen(port)
  await until(() => mission.followers() === 1)
  for (const text of ['one', 'two', 'three']) mission.happen(text)
  // These have not reached the first reader yet.
  const back = listen(port, '/events', { 'Last-Event-ID': '1' })
  const asked = listen(port, '/events?after=2')
  const fresh = listen(port)
  await until(() => [back, asked, fresh].every(one => one.blocks('status').length > 0))
  mission.happen('four')
  await until(() => [back, asked, fresh].every(one => one.texts().includes('four')))
  expect(back.texts().filter(text => text !== 'one')).toEqual(['two', 'three', 'four'])
  expect(asked.texts().slice(-2)).toEqual(['three', 'four'])
  for (const one of [back, asked, fresh]) expect(new Set(one.texts()).size).toBe(one.texts().length)
})

test('entries trigger a status update, at most two per second', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission } })
  const began = performance.now()
  const reader = listen(port)
  await until(() => reader.blocks('status').length === 1)
  while (reader.blocks('status').length < 4) {
    mission.happen('again')
    await new Promise(done => setTimeout(done, 20))
  }
  // The second may follow immediately; after that, each comes half a second after the previous one.
  expect(performance.now() - began).toBeGreaterThan(950)
  expect(reader.blocks('status')[0]).toEqual({ status: { ready: true }, running: [] })
})

test('a slow reader is disconnected, and the others continue', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission }, limits: { gatherMs: 1 } })
  const slow = listen(port)
  const quick = listen(port)
  await until(() => [slow, quick].every(one => one.blocks('status').length > 0))
  slow.socket.pause()
  const long = 'x'.repeat(300_000)
  const all = 80
  for (let i = 0; i < all; i++) {
    mission.happen(long)
    await new Promise(done => setTimeout(done, 5))
  }
  slow.socket.resume()
  await slow.closed
  expect(slow.texts().length).toBeLessThan(all)
  mission.happen('the last')
  await until(() => quick.all().includes('the last'))
  expect(quick.texts()).toHaveLength(all + 1)
}, 30_000)

test('keep-alive lines are sent regularly, and nothing is done while nobody listens', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission }, limits: { breathEveryMs: 20 } })
  expect(mission.followers()).toBe(0)
  const reader = listen(port)
  await until(() => (reader.all().match(/\n:\n/g) ?? []).length >= 2)
  expect(mission.followers()).toBe(1)
  reader.socket.destroy()
  await until(() => mission.followers() === 0)
  const before = mission.pulses()
  mission.happen('unheard')
  await new Promise(done => setTimeout(done, 600))
  expect(mission.pulses()).toBe(before)
})

test('a stop ends the stream immediately', async () => {
  const mission = fakeMission()
  const { port, stop } = await open({ admin: { mission }, limits: { stopMs: 60_000 } })
  const reader = listen(port)
  await until(() => reader.blocks('status').length > 0)
  await stop()
  await reader.closed
  expect(mission.followers()).toBe(0)
})

test.each([
  ['without a token', '/events', { Authorization: '' }, 401],
  ['with a wrong token', '/events', { Authorization: 'Bearer wrong' }, 401],
  ['from the page of another site', '/events', { Origin: 'http://evil.example' }, 403],
  ['from another site with our cookie', '/events', { Origin: 'null', Cookie: 'aetheel_x=1' }, 403],
  ['under another name', '/events', { Host: 'evil.example' }, 421],
  ['after something that is no id', '/events?after=-1', {}, 400],
  ['after something that is no id', '/events', { 'Last-Event-ID': '1e9' }, 400],
])('nobody listens %s (%s)', async (_, path, headers, status) => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission } })
  const reader = listen(port, path, headers)
  await until(() => reader.all() !== '')
  expect(reader.all()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(mission.followers()).toBe(0)
})

test('overview, activity, one event and usage can be read; invalid requests are refused', async () => {
  const mission = fakeMission()
  const { url } = await open({ admin: { mission } })
  for (const text of ['one', 'two', 'three']) mission.happen(text)
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers: bearer })
    return [answer.status, await answer.json()]
  }
  expect(await read('/api/overview')).toMatchObject([200, { today: { turns: 1 }, next: [] }])
  expect(await read('/api/activity?before=3&limit=1')).toMatchObject([200, { entries: [{ id: 2, text: 'two' }] }])
  expect(await read('/api/event?id=7')).toEqual([200, someEvent])
  expect(await read('/api/work?event=7')).toEqual([200, someWork])
  expect(await read('/api/work?event=8')).toEqual([200, { event: 8, items: [] }])
  expect(await read('/api/work?conversation=home&id=m1')).toEqual([200, someWork])
  expect((await read('/api/work?conversation=home&id=gone'))[0]).toBe(404)
  for (const path of ['/api/work', '/api/work?event=x', '/api/work?conversation=a/b&id=1'])
    expect((await read(path))[0], path).toBe(400)
  expect(await read('/api/event?id=8')).toEqual([404, { error: 'There is no such event (any more).' }])
  expect(await read('/api/usage')).toMatchObject([200, { days: [{ turns: 30 }] }])
  for (const path of ['/api/activity?limit=501', '/api/activity?before=x', '/api/event?id=0', '/api/usage?days=1e3'])
    expect(await read(path)).toMatchObject([400, { error: expect.stringMatching(/must be a number from 1 to/) }])
  for (const path of ['/api/overview', '/api/activity', '/api/event?id=7', '/api/work?event=7', '/api/usage'])
    expect((await fetch(`${url}${path}`)).status).toBe(401)
})

test('HEAD of the stream ends', async () => {
  const { url } = await open({ admin: { mission: fakeMission() } })
  const answer = await fetch(`${url}/events`, { method: 'HEAD', headers: bearer })
  expect(answer.status).toBe(200)
})

test('requests are reported at once, and a new listener gets their number', async () => {
  const mission = fakeMission()
  const { port } = await open({ admin: { mission } })
  mission.asks({ open: 2, changed: { id: 5, state: 'open', event: 7, lane: 'webchat:home' } })
  const reader = listen(port)
  await until(() => reader.blocks('requests').length > 0)
  expect(reader.blocks('requests')).toEqual([{ open: 2, changed: null }])
  mission.asks({ open: 1, changed: { id: 5, state: 'allowed', event: 7, lane: 'webchat:home' } })
  await until(() => reader.blocks('requests').length > 1)
  expect(reader.blocks('requests')[1]).toEqual({
    ...{ open: 1, changed: { id: 5, state: 'allowed', event: 7, lane: 'webchat:home' } },
  })
})
