// The server as its clients see it: pages, guards, invalid bytes, and shutdown.
import { createHash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { bearer, client, closeAll, open, post, raw, token } from './server.rig.ts'

afterEach(closeAll)

test('health needs no token and says whether the gateway is ready', async () => {
  let ready = false
  const { url } = await open({ health: { ready: () => ready } })
  const before = await fetch(`${url}/healthz`)
  expect([before.status, await before.json()]).toEqual([503, { status: 'starting' }])
  ready = true
  const after = await fetch(`${url}/healthz`)
  expect([after.status, await after.json()]).toEqual([200, { status: 'ok' }])
})

test('status and metrics require the token as header or query, or a login', async () => {
  const { url, login } = await open()
  const status = await fetch(`${url}/api/status`, { headers: bearer })
  expect(await status.json()).toEqual({ version: '1.2.3', pid: 7 })
  const metrics = await fetch(`${url}/metrics`, { headers: { Cookie: `other=1; ${await login()}` } })
  // The token itself is no cookie any more.
  const [name = ''] = (await login()).split('=')
  for (const cookie of [`aetheel_token=${token}`, `${name}=${token}`, `${name}=wrong`])
    expect((await fetch(`${url}/metrics`, { headers: { Cookie: cookie } })).status).toBe(401)
  expect(await metrics.text()).toBe('aetheel_up 1\n')
  expect((await fetch(`${url}/metrics?token=${token}`)).status).toBe(200)

  for (const path of ['/api/status', '/metrics']) {
    const missing = await fetch(url + path)
    expect(missing.status).toBe(401)
    expect(await missing.json()).toEqual({ error: expect.stringContaining('missing') })
    const wrong = await fetch(url + path, { headers: { Authorization: 'Bearer nearly' } })
    expect(wrong.status).toBe(401)
    expect(await wrong.text()).not.toContain(token)
  }
})

test('the link sets the cookie and leaves the address without the token', async () => {
  const { url } = await open()
  for (const path of ['/', '/chat']) {
    const link = await fetch(`${url}${path}?token=${token}`, { redirect: 'manual' })
    expect([link.status, link.headers.get('location')]).toEqual([303, path])
    const cookie = link.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^aetheel_[0-9a-f]{8}=[\w-]{32}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/)
    const own = { Cookie: cookie.split(';')[0] ?? '' }
    const page = await fetch(url + path, { headers: own })
    // The same browser gets no second login.
    const again = await fetch(`${url}${path}?token=${token}`, { redirect: 'manual', headers: own })
    expect([again.status, again.headers.get('set-cookie')]).toEqual([303, null])
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('<title>')
  }
})

test('of all inline scripts only the import map of its own page is allowed', async () => {
  const { url } = await open()
  const page = await fetch(`${url}/`, { headers: bearer })
  const map = /<script type="importmap">([\s\S]*?)<\/script>/.exec(await page.text())?.[1] ?? ''
  expect(Object.values(JSON.parse(map).imports)).toContain('/vendor/preact.js')
  const hash = createHash('sha256').update(map).digest('base64')
  expect(page.headers.get('content-security-policy')).toContain(
    `; script-src 'self' 'sha256-${hash}'; style-src 'self';`,
  )
  for (const path of Object.values<string>(JSON.parse(map).imports)) expect((await fetch(url + path)).status).toBe(200)
})

test('a token with odd characters survives the cookie', async () => {
  const odd = 'a b;c=%é'
  const { url } = await open({ address: { token: odd } })
  const link = await fetch(`${url}/chat?token=${encodeURIComponent(odd)}`, { redirect: 'manual' })
  const cookie = link.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect((await fetch(`${url}/chat`, { headers: { Cookie: cookie } })).status).toBe(200)
})

test('without the right token a page says where the link is found', async () => {
  const { url } = await open()
  for (const path of ['/', '/?token=nearly', '/chat', '/chat?token=nearly', '/chat?token=']) {
    const page = await fetch(url + path, { redirect: 'manual' })
    expect(page.status).toBe(401)
    expect(page.headers.get('set-cookie')).toBeNull()
    expect(page.headers.get('refresh')).toBeNull()
    expect(await page.text()).toContain('aetheel status')
  }
  for (const path of ['/', '/chat']) {
    const fromElsewhere = await fetch(url + path, { headers: { 'Sec-Fetch-Site': 'cross-site' } })
    expect(fromElsewhere.headers.get('refresh')).toBe(`0; url=${path}`)
  }
})

test('every response has the strict headers', async () => {
  const { url } = await open()
  for (const path of ['/chat', '/healthz', '/web/chat/chat.js', '/nothing']) {
    const { headers } = await fetch(url + path)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
    )
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('cache-control')).toMatch(/no-store|no-cache/)
  }
})

test('pages and libraries are served, and a known version is not sent again', async () => {
  const { url } = await open()
  for (const path of ['/web/chat/chat.js', '/vendor/marked.js', '/vendor/dompurify.js']) {
    const file = await fetch(url + path)
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    await file.arrayBuffer()
    const again = await fetch(url + path, { headers: { 'If-None-Match': file.headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
  }
})

test('only listed files are served', async () => {
  const { port } = await open()
  const paths = ['/web/../package.json', '/web/%2e%2e/package.json', '/web/..%2fpackage.json', '/web//etc/passwd']
  paths.push(
    '/vendor/../ws/package.json',
    '/web/chat',
    '/web/',
    '/__proto__',
    '/constructor',
    '/web/chat/chat.js/..%00',
  )
  for (const path of paths) {
    const answer = await raw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    expect(answer, path).toMatch(/^HTTP\/1\.1 404 /)
  }
})

test('an unknown path is 404, a wrong method 405, HEAD is GET without a body', async () => {
  const { url } = await open()
  expect((await fetch(`${url}/nothing`)).status).toBe(404)
  const wrong = await fetch(`${url}/api/messages`, { headers: bearer })
  expect([wrong.status, wrong.headers.get('allow'), await wrong.json()]).toEqual([405, 'POST', { error: 'Use POST.' }])
  const head = await fetch(`${url}/healthz`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect((await post(`${url}/chat`, {})).status).toBe(405)
})

test('a foreign host name gets nothing, a foreign origin may not write or connect', async () => {
  const { port, url } = await open()
  const ask = (lines: string) => raw(port, `${lines}\r\nConnection: close\r\n\r\n`)
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    '127.0.0.1@evil',
    '10.0.0.1',
    'localhost:1:2',
  ]) {
    expect(await ask(`GET /healthz HTTP/1.1\r\nHost: ${host}`), host).toMatch(/^HTTP\/1\.1 421 /)
  }
  for (const host of ['localhost', 'LOCALHOST:99', '127.0.0.1', '[::1]:8080']) {
    expect(await ask(`GET /healthz HTTP/1.1\r\nHost: ${host}`), host).toMatch(/^HTTP\/1\.1 200 /)
  }
  expect(await ask('GET /healthz HTTP/1.0')).toMatch(/^HTTP\/1\.1 421 /)
  const upgrade = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
  const evil = await raw(
    port,
    `GET /ws?token=${token} HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\n${upgrade}\r\n\r\n`,
  )
  expect(evil).toMatch(/^HTTP\/1\.1 421 /)

  for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${port + 1}`, `${url}.evil.example`]) {
    expect((await post(`${url}/api/messages`, { text: 'hi' }, { ...bearer, Origin: origin })).status, origin).toBe(403)
    await expect(client(`${url}/ws`, { headers: { ...bearer, Origin: origin } }).opened).rejects.toThrow('403')
  }
  expect((await post(`${url}/api/messages`, { text: 'hi' }, { ...bearer, Origin: url })).status).toBe(202)
  const ours = client(`${url}/ws`, { headers: { ...bearer, Origin: url } })
  await ours.opened
  ours.ws.close()
})

test('bound to every address, an IP address is accepted as Host and a name is not', async () => {
  const { port, url } = await open({ address: { host: '0.0.0.0' } })
  expect(url).toBe(`http://127.0.0.1:${port}`)
  const ask = (host: string) => raw(port, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  expect(await ask('192.168.1.7:8080')).toMatch(/^HTTP\/1\.1 200 /)
  expect(await ask('evil.example')).toMatch(/^HTTP\/1\.1 421 /)
})

test('a name in HTTP_NAMES is accepted, also as Origin; other names are not', async () => {
  const { port } = await open({ address: { names: ['My-Machine.example'] } })
  const ask = (host: string, origin: string) =>
    raw(port, `POST /api/messages HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nConnection: close\r\n\r\n`)
  expect(await ask('my-machine.example', 'https://my-machine.example')).toMatch(/^HTTP\/1\.1 401 /)
  expect(await ask('my-machine.example', 'https://evil.example')).toMatch(/^HTTP\/1\.1 403 /)
  expect(await ask('sub.my-machine.example', 'https://sub.my-machine.example')).toMatch(/^HTTP\/1\.1 421 /)
})

test('an internal error is a plain 500 without details', async () => {
  const { url, warnings } = await open({ health: { status: () => Promise.reject(new Error('/secret/path')) } })
  const answer = await fetch(`${url}/api/status`, { headers: bearer })
  expect(answer.status).toBe(500)
  expect(await answer.text()).not.toContain('secret')
  expect(warnings).toEqual(['request failed'])
})

test('garbage, huge headers, silence and slow bodies end with an error and leave the others alone', async () => {
  const { port, url } = await open({ limits: { headersMs: 300, requestMs: 600 } })
  expect(await raw(port, Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 13, 10, 13, 10]))).toMatch(/^HTTP\/1\.1 400 /)
  expect(await raw(port, 'GET // HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  const huge = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`
  expect(await raw(port, huge)).toMatch(/^HTTP\/1\.1 431 /)
  const head = `POST /api/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 50\r\n\r\n{`
  const slow = await Promise.all([raw(port, 'GET / HTTP/1.1\r\nHost:'), raw(port, head), raw(port, '')])
  expect(slow.map(answer => answer.slice(0, 12))).toEqual(Array(3).fill('HTTP/1.1 408'))
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})

test('many wrong tokens are answered slowly, the right one never', async () => {
  const { url, warnings } = await open({ limits: { wrongTokenMs: 1000 } })
  const answered: string[] = []
  const ask = async (given: string) => {
    await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${given}` } })
    answered.push(given)
  }
  for (let i = 0; i < 5; i += 1) await ask('nearly')
  answered.length = 0
  await Promise.all([ask('nearly'), ask(token)])
  expect(answered).toEqual([token, 'nearly'])
  expect(warnings).toEqual(['wrong token'])
})

test('a port in use is reported with the name of its option', async () => {
  const { port } = await open()
  await expect(open({ address: { port } })).rejects.toMatchObject({
    message: expect.stringContaining('HTTP_PORT'),
    code: 'EADDRINUSE',
  })
  await expect(open({ address: { host: '192.0.2.1' } })).rejects.toThrow('HTTP_HOST')
  await expect(open({ address: { token: '' } })).rejects.toThrow('HTTP_TOKEN')
})

test('stopping closes sockets with a reason, idle connections immediately and waiting requests with a 503', async () => {
  const arrived = Promise.withResolvers<void>()
  const { url, stop } = await open({
    webchat: {
      message: (_, __, signal) => {
        arrived.resolve()
        return new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason), { once: true }))
      },
    },
  })
  await fetch(`${url}/healthz`)
  const { opened, closed } = client(`${url}/ws`)
  await opened
  const waiting = post(`${url}/api/messages?wait=true`, { text: 'x' })
  await arrived.promise
  await stop()
  expect(await closed).toEqual({ code: 1001, reason: 'stopping' })
  expect((await waiting).status).toBe(503)
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('an upgrade to a protocol other than WebSocket is ignored', async () => {
  const { port } = await open()
  const head =
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n\r\n'
  expect(await raw(port, head)).toMatch(/^HTTP\/1\.1 200 /)
})

test('logins are listed by browser, and a revoked one loses its connections at once', async () => {
  const { url, login } = await open()
  const [phone, laptop] = [await login('Safari/1 iPhone'), await login('Firefox/1 Linux')]
  const { logins } = (await (await fetch(`${url}/api/logins`, { headers: { Cookie: phone } })).json()) as {
    logins: { id: string; name: string; current: boolean }[]
  }
  expect(logins.map(({ name, current }) => [name, current]).sort()).toEqual([
    ['Firefox on Linux', false],
    ['Safari on iPhone', true],
  ])
  const chat = client(`${url}/ws`, { headers: { Cookie: phone } })
  const other = client(`${url}/ws`, { headers: { Cookie: laptop } })
  await Promise.all([chat.opened, other.opened])
  const id = logins.find(({ current }) => current)?.id
  expect((await post(`${url}/api/logins`, { revoke: id }, { Cookie: laptop })).status).toBe(200)
  await chat.closed
  expect(other.ws.readyState).toBe(other.ws.OPEN)
  expect((await fetch(`${url}/metrics`, { headers: { Cookie: phone } })).status).toBe(401)
  expect((await fetch(`${url}/metrics`, { headers: { Cookie: laptop } })).status).toBe(200)
  expect((await post(`${url}/api/logins`, { revoke: id })).status).toBe(400)
  other.ws.close()
})
