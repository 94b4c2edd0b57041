// Files that come with a message.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { safeName } from '../file-name.ts'
import { dropAttachments, fetchAttachments, isAllowed } from './attachments.ts'

const never = new AbortController().signal
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function setup() {
  const workspace = await mkdtemp(join(tmpdir(), 'aetheel-files-'))
  const server: Server = createServer((request, response) => {
    if (request.url === '/gone') response.writeHead(404).end()
    else if (request.url === '/away') response.writeHead(302, { location: '/a' }).end()
    else if (request.url === '/endless') {
      const timer = setInterval(() => response.write(Buffer.alloc(1 << 20)), 1)
      response.on('close', () => clearInterval(timer))
    } else response.end(`content of ${request.url}`)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  ends.push(async () => {
    server.closeAllConnections()
    server.close()
    await rm(workspace, { recursive: true, force: true })
  })
  const get = (...files: { url: string; filename?: string; size?: number }[]) =>
    fetchAttachments(
      '77',
      files.map(({ url, filename = basename(url), size = 12 }, i) => ({
        ...{ id: String(i), filename, url: url.startsWith('/') ? base + url : url, size },
      })),
      { workspace, api: `${base}/api` },
      never,
    )
  return { workspace, get }
}

test('files are stored under their names, also two with the same name', async () => {
  const { workspace, get } = await setup()
  const files = await get({ url: '/a', filename: 'a.txt' }, { url: '/b', filename: 'a.txt' })
  expect(files.map(({ path, missing }) => [path, missing])).toEqual([
    ['files/in/77/a.txt', undefined],
    ['files/in/77/a-2.txt', undefined],
  ])
  expect(await readFile(join(workspace, 'files/in/77/a-2.txt'), 'utf8')).toBe('content of /b')
  await dropAttachments('77', workspace)
  expect(await readdir(join(workspace, 'files/in'))).toEqual([])
})

test('a failed download says why and leaves nothing behind', async () => {
  const { workspace, get } = await setup()
  const files = await get(
    ...[{ url: '/gone' }, { url: '/away' }, { url: 'http://example.org/x' }, { url: 'file:///etc/passwd' }],
    { url: '/big', size: 26 * 1024 * 1024 },
    { url: '/endless', size: 5 },
  )
  expect(files.map(({ missing }) => missing)).toEqual([
    ...['Discord answered 404', 'it could not be downloaded'],
    ...['its URL is on a host that I do not download from', 'its URL is on a host that I do not download from'],
    ...['it is too large', 'it is too large'],
  ])
  expect(await readdir(join(workspace, 'files/in/77')).catch(() => [])).toEqual([])
})

test('no file name leads out of the folder', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('../../x', '..', '.env', 'a/b\\c', '')),
      given => {
        const name = safeName(given)
        expect(name).toBe(basename(name))
        expect(name).not.toMatch(/^\.|[/\\:*?"<>|\p{Cc}]|[. ]$|^$/u)
        expect(Buffer.byteLength(name)).toBeLessThan(250)
      },
    ),
    { numRuns: 500 },
  )
  expect(safeName('Räport 1.pdf')).toBe('Räport 1.pdf')
})

test('a file with the name of a partial download is not lost', async () => {
  const { workspace, get } = await setup()
  await get({ url: '/b', filename: 'a.txt.part' }, { url: '/a', filename: 'a.txt' })
  const folder = join(workspace, 'files/in/77')
  const there = await readdir(folder)
  expect(await Promise.all(there.sort().map(name => readFile(join(folder, name), 'utf8')))).toEqual([
    ...['content of /a', 'content of /b'],
  ])
})

test('a compatible server may serve files on another port, but not without TLS if the API has it', () => {
  const allowed = (url: string, api: string) => isAllowed(url, api)
  expect(allowed('http://127.0.0.1:4001/x', 'http://127.0.0.1:4000/api')).toBe(true)
  expect(allowed('https://chat.example:9000/x', 'https://chat.example:8443/api')).toBe(true)
  expect(allowed('https://chat.example:9000/x', 'http://chat.example/api')).toBe(true)
  expect(allowed('http://chat.example:9000/x', 'https://chat.example/api')).toBe(false)
  expect(allowed('ftp://127.0.0.1/x', 'http://127.0.0.1:4000/api')).toBe(false)
  expect(allowed('http://discord.com:8080/x', 'https://discord.com/api')).toBe(false)
  expect(allowed('https://discord.com:8443/x', 'https://discord.com/api')).toBe(false)
})

test('files are fetched from Discord, or from where the API is, and from nowhere else', () => {
  const allowed = (url: string, api = 'https://discord.com/api') => isAllowed(url, api)
  expect(allowed('https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1')).toBe(true)
  expect(allowed('https://media.discordapp.net/a.txt')).toBe(true)
  for (const url of [
    ...['https://169.254.169.254/latest', 'https://localhost/x', 'https://cdn.discordapp.com.evil.example/x'],
    ...['http://cdn.discordapp.com/x', 'https://cdn.discordapp.com:8443/x', 'https://evildiscordapp.com/x'],
    ...['https://u:p@10.0.0.1/x', 'ftp://cdn.discordapp.com/x', 'nonsense'],
  ])
    expect([url, allowed(url)]).toEqual([url, false])
  const elsewhere = 'https://api.chat.example/api'
  expect(allowed('https://cdn.chat.example/x', elsewhere)).toBe(true)
  expect(allowed('https://cdn.discordapp.com/x', elsewhere)).toBe(false)
  const safe = 'https://chat.example:8443/api'
  expect(allowed('https://cdn.chat.example:8443/x', safe)).toBe(true)
  expect(allowed('https://cdn.chat.example:9000/x', safe)).toBe(false)
  expect(allowed('http://127.0.0.1:80/x', 'http://127.0.0.2:4000/api')).toBe(false)
  expect(allowed('https://8.0.0.1/x', 'http://127.0.0.1:4000/api')).toBe(false)
})
