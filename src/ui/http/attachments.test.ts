// Files over HTTP: limited when uploaded, and harmless when downloaded, whatever they contain.
import { afterEach, expect, test } from 'vitest'
import type { AttachmentsAdmin, Upload } from '../../base/attachments.ts'
import { bearer, closeAll, open, raw, token } from './server.rig.ts'

afterEach(closeAll)

async function rig(contents: Readonly<Record<string, string>> = {}, grownBy = 0) {
  const taken: (Omit<Upload, 'body'> & { text: string })[] = []
  const asked: string[] = []
  const handOut = (name: string | undefined) =>
    name === undefined || contents[name] === undefined
      ? null
      : {
          name,
          bytes: Buffer.byteLength(contents[name]) - grownBy,
          content: async function* () {
            yield Buffer.from(contents[name] ?? '')
          },
        }
  const files: AttachmentsAdmin = {
    async take({ body, ...about }) {
      let text = ''
      for await (const chunk of body) {
        text += Buffer.from(chunk).toString()
        if (text.length > 100_000) return 'too-large'
      }
      taken.push({ ...about, text })
      return text === 'full' ? 'no-room' : { id: 'x1', name: 'safe.txt', bytes: text.length, type: about.type }
    },
    async uploaded(conversation, id) {
      asked.push(`${conversation}/${id}`)
      return handOut(id === 'gone' ? undefined : Object.keys(contents)[Number(id)])
    },
    async sent(path) {
      asked.push(path)
      return handOut(path)
    },
  }
  const { url, port } = await open({ webchat: { attachments: files }, limits: { keepAliveMs: 600_000 } })
  const upload = (query: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/api/attachments?${query}`, { method: 'POST', headers: { ...bearer, ...headers }, body })
  const get = (query: string) => fetch(`${url}/api/attachments?${query}`, { headers: bearer })
  return { url, port, taken, asked, upload, get }
}

test('a file is stored as uploaded, with its name and type', async () => {
  const { taken, upload } = await rig()
  const answer = await upload(`conversation=a&name=${encodeURIComponent('../Plan ü.md')}`, 'text', {
    'Content-Type': 'text/Markdown; charset=utf-8',
  })
  expect([answer.status, await answer.json()]).toEqual([
    201,
    { attachment: { id: 'x1', name: 'safe.txt', bytes: 4, type: 'text/markdown' } },
  ])
  await upload('conversation=a&name=b', 'x', { 'Content-Type': 'text/html"><script>' })
  expect(taken).toEqual([
    { conversation: 'a', name: '../Plan ü.md', type: 'text/markdown', text: 'text' },
    { conversation: 'a', name: 'b', type: 'application/octet-stream', text: 'x' },
  ])
})

test('uploads that are too large, malformed, from another site or without the token are refused', async () => {
  const { url, port, taken, upload } = await rig()
  for (const query of [
    '',
    'name=a',
    'conversation=a',
    'conversation=..%2F..&name=a',
    `conversation=a&name=${'x'.repeat(1001)}`,
  ])
    expect((await upload(query, 'x')).status, query).toBe(400)
  const large = await upload('conversation=a&name=a', 'x'.repeat(3_000_000))
  expect([large.status, await large.json()]).toEqual([413, { error: 'Too large: the limit is 25 MB.' }])
  const head = `POST /api/attachments?conversation=a&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`
  expect(await raw(port, `${head}Connection: close\r\nContent-Length: 26214401\r\n\r\n`)).toMatch(/^HTTP\/1.1 413 /)
  expect((await upload('conversation=a&name=a', 'x', { Authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await upload('conversation=a&name=a', 'x', { Origin: 'http://elsewhere.example' })).status).toBe(403)
  expect((await fetch(`${url}/api/attachments?conversation=a&id=0`)).status).toBe(401)
  expect((await upload('conversation=a&name=a', 'full')).status).toBe(507)
  expect(taken.map(({ text }) => text)).toEqual(['full'])
})

test('no served file can run on our pages', async () => {
  const script = '<script>alert(1)</script>'
  const contents = {
    ...{
      'page.html': script,
      'pic.svg': `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`,
      'a.js': 'alert(1)',
    },
    ...{ 'doc.pdf': '%PDF', 'x.xhtml': script, noending: script, 'photo.PNG': script, 'b.png.html': script },
    ...{ 'quo"te\r\nX: y.png': script },
  }
  const { get } = await rig(contents)
  for (const [i, [name, text]] of Object.entries(contents).entries()) {
    const answer = await get(`conversation=a&id=${i}`)
    const picture = /\.png$/i.test(name)
    const { headers } = answer
    expect([answer.status, await answer.text()]).toEqual([200, text])
    expect([headers.get('content-type'), headers.get('content-disposition')?.split(';')[0]], name).toEqual(
      picture ? ['image/png', 'inline'] : ['application/octet-stream', 'attachment'],
    )
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('x')).toBe(null)
  }
})

test('a missing file is 404, and an id cannot be a path', async () => {
  const { get, asked } = await rig({ 'out/a.txt': 'a' })
  expect((await get('conversation=a&id=gone')).status).toBe(404)
  expect((await get('file=out%2Fa.txt')).status).toBe(200)
  expect((await get('file=..%2F..%2Fetc%2Fpasswd')).status).toBe(404)
  for (const query of ['', 'id=1', 'conversation=a', 'conversation=a&id=..%2F1', 'conversation=a&id='])
    expect((await get(query)).status, query).toBe(400)
  expect(asked).toEqual(['a/gone', 'out/a.txt', '../../etc/passwd'])
})

test('a file that grows while it is sent ends at its announced length, and one that shrinks breaks the connection', async () => {
  const ask = `GET /api/attachments?conversation=a&id=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`
  const more = await rig({ 'a.txt': 'begin HTTP/1.1 200 OK' }, 16)
  expect(await raw(more.port, `${ask}Connection: close\r\n\r\n`)).toMatch(/\r\n\r\nbegin$/)
  const less = await rig({ 'a.txt': 'begin' }, -3)
  // And not only by the idle timeout, which may be longer than this test.
  await raw(less.port, `${ask}\r\n`)
})
