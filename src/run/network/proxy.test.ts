// The proxy of a box: what it passes on, what it refuses, and that nothing of it stays.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer as createHttp, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Place, placeIn } from './admission.ts'
import { type BoxNetwork, networkLimits, openNetwork, proxyPort, type Reach } from './proxy.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => new Promise(resolve => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

/** A service that repeats what it receives, and one that says what it was asked. */
const echo = () => listening(createServer(socket => socket.pipe(socket)))
const web = (seen: string[] = []) =>
  listening(
    createHttp((asked, answer) => {
      let body = ''
      asked.on('data', piece => {
        body += piece
      })
      asked.on('end', () => {
        seen.push(
          `${asked.method} ${asked.url} ${asked.headers.host} ${asked.headers['proxy-authorization'] ?? ''}${body}`,
        )
        answer.end('from the web')
      })
    }),
  )

const place = (text: string): Place => placeIn(text) ?? { host: '', port: 0 }

function open(
  given: { configured?: string[]; listed?: string[]; web?: boolean; reach?: Partial<Reach>; inward?: boolean },
  limits = networkLimits,
) {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-net-'))
  const rules = { configured: (given.configured ?? []).map(place), listed: given.listed ?? [], web: given.web ?? false }
  const lookup = async () => ['127.0.0.1']
  const network = openNetwork(
    dir,
    rules,
    { lookup, gateway: () => '', environment: {}, ...given.reach },
    given.inward,
    limits,
  )
  ends.push(() => {
    network.close()
    rmSync(dir, { recursive: true, force: true })
  })
  return network
}

const socketOf = ({ forwarding: { dir, outward } }: BoxNetwork, port = proxyPort) => join(dir, outward[port] ?? 'none')

/** Everything that comes back, until `enough` or the end. */
function talk(path: string, words: string, enough = /$^/): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(path)
    let got = ''
    socket.on('data', piece => {
      got += piece
      if (enough.test(got)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(got))
    socket.write(words)
  })
}

const connectTo = (network: BoxNetwork, target: string, words = '', enough = /$^/) =>
  talk(socketOf(network), `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n${words}`, enough)

test('CONNECT reaches what is configured, under its name', async () => {
  const port = await echo()
  const network = open({ configured: [`model.example:${port}`] })
  expect(await connectTo(network, `model.example:${port}`, 'hello there', /there$/)).toMatch(
    /^HTTP\/1\.1 200.*hello there$/s,
  )
})

test('everything else is refused: other ports, addresses, loopback, metadata, and what is no place', async () => {
  const port = await echo()
  const network = open({ configured: [`model.example:${port}`], listed: ['example.org'] })
  for (const target of [
    ...[`model.example:${port + 1}`, `127.0.0.1:${port}`, `localhost:${port}`, '169.254.169.254:80', '[::1]:80'],
    ...['192.168.0.1:443', 'model.example', `x.model.example:${port}`, `2130706433:${port}`, 'example.org:22'],
  ])
    expect(await connectTo(network, target, 'x')).toMatch(/^HTTP\/1\.1 (?:403|400)/)
})

test('a listed name that leads to a private address is refused, also if only one of its addresses is private', async () => {
  const port = await echo()
  for (const addresses of [['127.0.0.1'], ['93.184.215.14', '10.0.0.1'], ['169.254.169.254'], ['::1'], []]) {
    const network = open({ listed: [`rebound.example:${port}`], reach: { lookup: async () => addresses } })
    expect(await connectTo(network, `rebound.example:${port}`, 'x')).toMatch(/^HTTP\/1\.1 502/)
  }
  const asked: string[] = []
  const lookup = async (host: string) => {
    asked.push(host)
    return asked.length === 1 ? ['127.0.0.1'] : ['169.254.169.254']
  }
  // It is resolved once, and what was checked is what it is connected to.
  const network = open({ configured: [`model.example:${port}`], reach: { lookup } })
  expect(await connectTo(network, `model.example:${port}`, 'same', /same$/)).toContain('same')
  expect(asked).toEqual(['model.example'])
  expect(await connectTo(network, `model.example:${port}`, 'x')).toMatch(/^HTTP\/1\.1 502/)
})

test('plain requests are passed on with the name that was admitted', async () => {
  const seen: string[] = []
  const port = await web(seen)
  const network = open({ configured: [`model.example:${port}`] })
  const answer = await talk(
    socketOf(network),
    `POST http://model.example:${port}/v1?a=b HTTP/1.1\r\nHost: internal\r\nProxy-Authorization: x\r\nContent-Length: 2\r\n\r\nhi`,
    /from the web/,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200/)
  expect(seen).toEqual([`POST /v1?a=b model.example:${port} hi`])
  for (const url of [`http://127.0.0.1:${port}/`, 'http://169.254.169.254/latest/meta-data/', '/', '/api/status', '*'])
    expect(await talk(socketOf(network), `GET ${url} HTTP/1.1\r\nHost: model.example:${port}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 403/,
    )
  expect(seen).toHaveLength(1)
})

test('of the gateway it reaches the tools, and nothing else', async () => {
  const seen: string[] = []
  const port = await web(seen)
  const network = open({ reach: { gateway: () => `http://127.0.0.1:${port}` } })
  const get = (path: string) =>
    talk(socketOf(network), `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
  expect(await get('/api/tools')).toContain('from the web')
  expect(await get('/api/tools/send_message')).toContain('from the web')
  for (const path of [
    '/api/tools/../status',
    '/api/toolsx',
    '/api/tools?x',
    '/api/tools/a/b',
    '/api/status',
    '//api/tools',
  ])
    expect(await get(path)).toMatch(/^HTTP\/1\.1 403/)
  expect(seen).toEqual([`GET /api/tools 127.0.0.1:${port} `, `GET /api/tools/send_message 127.0.0.1:${port} `])
})

test('a model on loopback has its own port, and no proxy is needed', async () => {
  const port = await echo()
  const network = open({ configured: [`127.0.0.1:${port}`] })
  expect(await talk(socketOf(network, port), 'hello', /hello/)).toBe('hello')
  expect(network.environment.NO_PROXY).toContain('127.0.0.1')
})

test('behind a proxy of this machine, it goes through that one', async () => {
  const asked: string[] = []
  const upstream = createHttp()
  upstream.on('connect', ({ url, headers }, socket: Socket) => {
    asked.push(`${url} ${headers['proxy-authorization']}`)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(socket)
  })
  const port = await listening(upstream)
  const environment = { HTTPS_PROXY: `http://me:secret@127.0.0.1:${port}`, NO_PROXY: 'internal.example' }
  const network = open({ configured: ['model.example:443'], reach: { environment } })
  expect(await connectTo(network, 'model.example:443', 'hello', /hello/)).toContain('hello')
  expect(asked).toEqual([`model.example:443 Basic ${Buffer.from('me:secret').toString('base64')}`])
  expect(await connectTo(network, 'other.example:443', 'x')).toMatch(/^HTTP\/1\.1 403/)
})

test('connections are limited in number, and silent ones end', async () => {
  const port = await echo()
  const network = open({ configured: [`model.example:${port}`] }, { connections: 2, idleMs: 300, headMs: 300 })
  const held = [0, 1, 2, 3].map(() => connectTo(network, `model.example:${port}`, 'x'))
  const answers = await Promise.all(held.map(one => one.catch(() => '')))
  expect(answers.filter(answer => answer.includes('200')).length).toBeLessThanOrEqual(2)
  expect(answers.filter(answer => answer.includes('200')).length).toBeGreaterThan(0)
})

test('closing ends what is open and leaves no socket behind', async () => {
  const port = await echo()
  const network = open({ configured: [`model.example:${port}`], inward: true })
  const held = connectTo(network, `model.example:${port}`, 'x')
  await expect.poll(() => existsSync(socketOf(network))).toBe(true)
  await new Promise(resolve => setTimeout(resolve, 100))
  network.close()
  network.close()
  await held.catch(() => undefined)
  expect(readdirSync(network.forwarding.dir)).toEqual([])
})

test('the gateway calls into the box through connections that wait there', async () => {
  const network = open({ inward: true })
  const path = join(network.forwarding.dir, 'inward')
  const ask = () =>
    new Promise<string>((resolve, reject) => {
      const asked = request('http://127.0.0.1:1/path', { createConnection: (_, ready) => network.dial(ready) })
      asked.on('error', reject)
      asked.on('response', answer => {
        answer.resume()
        resolve(String(answer.statusCode))
      })
      asked.end()
    })
  const answerOn = (socket: Socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'))
  // One that waits already, and one that is waited for.
  answerOn(connect(path))
  await new Promise(resolve => setTimeout(resolve, 50))
  expect(await ask()).toBe('204')
  const later = ask()
  answerOn(connect(path))
  expect(await later).toBe('204')
})
