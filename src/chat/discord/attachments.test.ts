// Files that come with a message.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { dropAttachments, fetchAttachments, safeName } from './attachments.ts'

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

test('what comes along is stored under its name, and each of two with the same name', async () => {
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

test('what cannot be had says why, and leaves nothing behind', async () => {
  const { workspace, get } = await setup()
  const files = await get(
    ...[{ url: '/gone' }, { url: '/away' }, { url: 'http://example.org/x' }, { url: 'file:///etc/passwd' }],
    { url: '/big', size: 26 * 1024 * 1024 },
    { url: '/endless', size: 5 },
  )
  expect(files.map(({ missing }) => missing)).toEqual([
    ...['Discord answered 404', 'it could not be fetched'],
    ...['its address is not one I fetch from', 'its address is not one I fetch from'],
    ...['it is too large', 'it is too large'],
  ])
  expect(await readdir(join(workspace, 'files/in/77')).catch(() => [])).toEqual([])
})

test('a name leads nowhere else, whatever somebody called the file', () => {
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
