// The network of a real box: what programs inside reach, with each of the two forwarders.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Profile } from '../../base/profile.ts'
import { startProcess } from '../process.ts'
import { boxed, findWall } from '../wall.ts'
import { findPerl } from './forwarder.ts'
import { inwardPort, openNetwork, proxyPort } from './proxy.ts'

const wall = await findWall('auto', process.env.PATH, new AbortController().signal)
const works = wall.kind === 'bwrap' && wall.network !== null
if (!works) console.log(`NOT RUN: networks of boxes: ${wall.detail}`)

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function listening(server: Server, at: object = { port: 0, host: '127.0.0.1' }): Promise<number> {
  await new Promise<void>(resolve => server.listen(at, resolve))
  ends.push(() => server.close())
  return (server.address() as AddressInfo).port
}

const echo = (at?: object) =>
  listening(
    createServer(socket => socket.on('error', () => undefined).pipe(socket)),
    at,
  )

const ways = [
  { way: 'perl', perl: findPerl(process.env.PATH) },
  { way: 'Node', perl: null },
].filter(({ way, perl }) => way === 'Node' || perl !== null)

describe.runIf(works).each(ways)('with $way as the forwarder', ({ perl }) => {
  function start(file: string, args: readonly string[], ports: readonly number[]) {
    const root = mkdtempSync(join(tmpdir(), 'aetheel-box-'))
    // Longer than the path of a socket may be.
    const dir = join(root, 'x'.repeat(120))
    mkdirSync(dir)
    ends.push(() => rmSync(root, { recursive: true, force: true }))
    const configured = ports.map(port => ({ host: '127.0.0.1', port }))
    const reach = { lookup: async () => ['127.0.0.1'], gateway: () => '', environment: {} }
    const network = openNetwork(dir, { configured, listed: [], web: false }, reach, true)
    const profile: Profile = {
      ...{ principal: 'guest', name: 'ada', wall: 'bwrap', box: wall.box, home: null, seesAll: false },
      ...{
        readable: [],
        writable: [],
        hidden: [],
        variables: null,
        network: { perl, web: false, hosts: [], urls: [] },
      },
    }
    const env = { PATH: process.env.PATH ?? '' }
    const order = boxed({ file, args, env, cwd: '/tmp', input: '' }, profile, {
      ...{ dir, programs: [process.execPath], logins: [], state: [], network },
    })
    const child = startProcess(order)
    ends.push(async () => {
      child.kill()
      await child.end
    })
    return { child, dir, network }
  }

  async function said(script: string, ports: readonly number[] = []) {
    const { child, network } = start('bash', ['-c', `exec 2>&1; ${script}`], ports)
    const lines: string[] = []
    for await (const line of child.lines) lines.push(line)
    await child.end
    expect(readdirSync(network.forwarding.dir)).toEqual([])
    return lines.join('\n')
  }

  test('a program reaches its model on loopback, and no other service there', async () => {
    const [model, other] = [await echo(), await echo()]
    const call = (port: number) =>
      `exec 3<>/dev/tcp/127.0.0.1/${port} && echo hello-${port} >&3 && read -u 3 a && echo "$a"`
    expect(await said(call(model), [model])).toBe(`hello-${model}`)
    expect(await said(call(other), [model])).toMatch(/refused/i)
  })

  test('large amounts pass in both directions', async () => {
    const model = await echo()
    const size = 8_000_000
    const script = `exec 3<>/dev/tcp/127.0.0.1/${model}; head -c ${size} /dev/urandom | tee >(md5sum >/tmp/a) >&3 & head -c ${size} <&3 | md5sum >/tmp/b; sleep 0.2; cmp /tmp/a /tmp/b && echo same`
    expect(await said(script, [model])).toBe('same')
  })

  test('there is no other network: no interface, no DNS, no sockets of other programs', async () => {
    const name = `aetheel-test-${process.pid}`
    await listening(createServer(), { path: `\0${name}` })
    const abstract = `require('net').connect('\\0${name}').on('error', e => console.log(e.code)).on('connect', () => console.log('connected'))`
    const dns = `require('dns').lookup('localhost.example', e => console.log(e?.code ?? 'resolved'))`
    const heard = await said(
      `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "${process.execPath}" -e "${abstract}"; "${process.execPath}" -e "${dns}"; exec 3<>/dev/tcp/10.0.0.1/80 || echo no way`,
    )
    const [first, ...rest] = heard.split('\n')
    expect(first).toBe('lo')
    expect(rest.join('\n')).toMatch(/ECONNREFUSED\n(?:EAI_AGAIN|ENOTFOUND)\n.*unreachable.*no way/s)
  })

  test('the proxy answers on its port and refuses the rest', async () => {
    const target = 'example.org:443'
    const script = `exec 3<>/dev/tcp/127.0.0.1/${proxyPort}; printf 'CONNECT ${target} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; head -1 <&3`
    expect(await said(script)).toContain('403')
  })

  test('the gateway calls a program that listens inside', async () => {
    const serve = `require('http').createServer((q, a) => a.end(q.url)).listen(${inwardPort}, '127.0.0.1', () => console.log('up'))`
    const { child } = start(process.execPath, ['-e', serve], [])
    expect((await child.lines[Symbol.asyncIterator]().next()).value).toBe('up')
    const ask = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const createConnection = (_: unknown, ready: Parameters<NonNullable<typeof child.dial>>[0]) =>
          child.dial?.(ready)
        get(`http://127.0.0.1:${inwardPort}${path}`, { createConnection }, answer => {
          answer.setEncoding('utf8').on('data', resolve).on('error', reject)
        }).on('error', reject)
      })
    const paths = Array.from({ length: 12 }, (_, i) => `/${i}`)
    expect(await Promise.all(paths.map(ask))).toEqual(paths)
  })

  test('the box ends with its program, and the exit code is that of the program', async () => {
    const { child } = start('bash', ['-c', 'exit 7'], [])
    expect((await child.end).code).toBe(7)
  })
})
