// Attacks on the HTTP server of the real program: every path, and everything that must not work there.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Home, makeHome, type RunningGateway, startGateway, token } from '../harness/gateway.ts'
import { rows } from '../harness/paths.ts'
import { type Answer, ask, type Question, say } from '../harness/raw.ts'

const paths = [...new Set(rows.map(({ path }) => path))]
const guarded = rows.filter(({ access }) => access === 'token')
const writing = rows.filter(({ method }) => method !== 'GET')
const bearer = { Authorization: `Bearer ${token}` }

let home: Home
let gateway: RunningGateway
beforeAll(async () => {
  home = await makeHome()
  gateway = await startGateway(home, { AGENT_BACKEND: 'echo', BACKEND_CLI_PATH: '' })
})
afterAll(async () => {
  expect(await gateway.stop()).toBe(0)
  await home.remove()
})

/** Requests all at once; returns those with a wrong response. */
const wrong = async (
  questions: readonly Question[],
  isRight: (answer: Answer) => boolean,
): Promise<readonly string[]> => {
  const answers = await Promise.all(questions.map(question => ask(gateway.url, question)))
  return answers.flatMap((answer, i) => {
    const { method = 'GET', path, headers, body } = questions[i] ?? { path: '' }
    if (isRight(answer)) return []
    return `${method} ${path} ${JSON.stringify(headers ?? {})} ${String(body ?? '').slice(0, 60)}: ${answer.status} ${answer.text.slice(0, 120)}`
  })
}
const status =
  (...expected: readonly number[]) =>
  (answer: Answer) =>
    expected.includes(answer.status)

test('the table of paths is complete', async () => {
  expect(guarded.length).toBeGreaterThan(20)
  expect(writing.length).toBeGreaterThan(8)
  expect(
    await wrong(
      guarded.map(({ path, method }) => ({ path, method, headers: bearer })),
      ({ status, text }) => status !== 401 && status < 500 && !text.includes('There is nothing here.'),
    ),
  ).toEqual([])
})

test('without the token, with a wrong one, or with the right one in the wrong place, no path is open', async () => {
  const strangers: readonly Record<string, string>[] = [
    {},
    { Authorization: 'Bearer wrong-token-of-somebody-else' },
    { Authorization: `Bearer ${token}x` },
    { Authorization: 'Bearer ' },
    { Authorization: token },
    { Authorization: `Basic ${Buffer.from(`aetheel:${token}`).toString('base64')}` },
    { 'X-Token': token, 'X-Auth-Token': token, 'Proxy-Authorization': `Bearer ${token}` },
    { Cookie: `token=${token}; session=${token}` },
    { Cookie: 'aetheel_token=wrong' },
    { Cookie: `aetheel_token=${token}` },
    { Cookie: `AETHEEL_TOKEN=${token}` },
    { Referer: `http://127.0.0.1/?token=${token}` },
  ]
  const closed = rows.filter(({ access }) => access !== 'open')
  const questions = closed.flatMap(({ path, method }) => [
    ...strangers.map(headers => ({ path, method, headers })),
    { path: `${path}?TOKEN=${token}&access_token=${token}`, method },
    { path: `${path}?token=`, method },
    { path: `${path}?token[]=${token}`, method },
    ...(method === 'GET' ? [] : [{ path, method, body: JSON.stringify({ token, Authorization: `Bearer ${token}` }) }]),
  ])
  expect(await wrong(questions, status(401))).toEqual([])
  // The tools have their own keys; the token is not one of them.
  const tools = rows.filter(({ path }) => path.startsWith('/api/tools'))
  expect(tools.length).toBeGreaterThan(1)
  expect(
    await wrong(
      tools.map(({ path, method }) => ({ path, method, headers: bearer })),
      status(401),
    ),
  ).toEqual([])
})

test('under a foreign host name nothing is served, even with the token', async () => {
  const { port } = new URL(gateway.url)
  const hosts = [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '127.0.0.1@evil.example',
  ]
  const more = [
    '127.0.0.1, evil.example',
    'evil.example#127.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::ffff:7f00:1]',
    '127.0.0.1:99999999',
    '',
  ]
  const questions = rows.flatMap(({ path, method }) =>
    [...hosts, ...more].map(Host => ({ path, method, headers: { ...bearer, Host } })),
  )
  expect(await wrong(questions, status(421, 400))).toEqual([])
})

test('pages of other sites can neither read nor write, nor open a socket', async () => {
  const { host, port } = new URL(gateway.url)
  const foreign: readonly Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: `http://127.0.0.1:${Number(port) + 1}` },
    { Origin: `http://localhost:${port}` },
    { Origin: `http://${host}.evil.example` },
    { Origin: `ftp://${host}` },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
  ]
  const questions = [...guarded, ...writing].flatMap(({ path, method }) =>
    foreign.map(headers => ({ path, method, headers: { ...bearer, ...headers } })),
  )
  expect(await wrong(questions, status(403))).toEqual([])
  // Public paths may not be read by their scripts either, and preflight requests are refused.
  const all = paths.flatMap(path => [
    { path, headers: { ...bearer, Origin: 'https://evil.example' } },
    { path, method: 'OPTIONS', headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' } },
  ])
  const isClosed = ({ headers }: Answer) =>
    headers['access-control-allow-origin'] === undefined &&
    (headers['cross-origin-resource-policy'] === 'same-origin' || headers['content-type'] === undefined)
  expect(await wrong(all, isClosed)).toEqual([])

  const handshake = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const sockets = [...foreign.map(headers => ({ ...bearer, ...headers })), { ...bearer, Host: 'evil.example' }]
  expect(
    await wrong(
      sockets.map(headers => ({ path: '/ws', headers: { ...headers, ...handshake } })),
      status(403, 421),
    ),
  ).toEqual([])
  expect(
    await wrong(
      [
        { path: '/ws', headers: handshake },
        { path: '/ws?token=wrong', headers: handshake },
      ],
      status(401),
    ),
  ).toEqual([])
  expect(
    await wrong(
      paths.map(path => ({ path, headers: { ...bearer, ...handshake } })),
      status(404),
    ),
  ).toEqual([])
})

test('no spelling of a path leads to other files', async () => {
  const ups = [
    '../',
    '..%2f',
    '%2e%2e/',
    '%2e%2e%2f',
    '.%2e/',
    '..\\',
    '..%5c',
    '%252e%252e%252f',
    '..;/',
    '....//',
    '%c0%ae%c0%ae/',
    '%u002e%u002e/',
    '..%00/',
    '.\u0000./',
  ]
  const targets = ['package.json', 'etc/passwd', '.aetheel/token', 'config/.aetheel/token']
  const secret = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8').slice(0, 60)
  const isHarmless = ({ status, text }: Answer) =>
    ![0, 500].includes(status) && !text.includes(secret.trim()) && !text.includes('root:') && !text.includes(token)
  const spelled = (from: string) =>
    ups.flatMap(up => [1, 3, 12].flatMap(times => targets.map(target => `${from}${up.repeat(times)}${target}`)))
  const nowhere = ['/web/', '/vendor/', '/', '/api/', '/api/tools/', '/hooks/']
    .flatMap(spelled)
    .filter(path => !path.includes('\u0000'))
  expect(
    await wrong(
      nowhere.map(path => ({ path, headers: bearer })),
      answer => isHarmless(answer) && answer.status >= 400,
    ),
  ).toEqual([])
  // In every parameter with a name.
  const names = ['name', 'file', 'path', 'id', 'conversation', 'q', 'before', 'restore', 'skill']
  const parameters = guarded.flatMap(({ path, method }) =>
    spelled('')
      .filter((_, i) => i % 7 === 0)
      .map(value => ({
        method,
        path: `${path}?${names.map(name => `${name}=${value.replaceAll('\u0000', '%00').replaceAll('\\', '%5c')}`).join('&')}`,
        headers: bearer,
      })),
  )
  expect(await wrong(parameters, isHarmless)).toEqual([])
  const lines = [
    'GET http://evil.example/api/status HTTP/1.1',
    'GET //evil.example/../package.json HTTP/1.1',
    'GET file:///etc/passwd HTTP/1.1',
    'GET \\..\\package.json HTTP/1.1',
    'GET /web/../../package.json\t HTTP/1.1',
    'GET /web/\u0000 HTTP/1.1',
    'CONNECT evil.example:80 HTTP/1.1',
    'GET * HTTP/1.1',
    'GET /api/status',
    'GET  /api/status  HTTP/9.9',
  ]
  for (const line of lines) {
    const text = await say(gateway.url, `${line}\r\nHost: evil.example\r\n\r\n`, 1500)
    expect(text, line).toMatch(/^(?:HTTP\/1\.1 (?:400|401|404|405|421|505) |$)/)
  }
})

test('an unsupported method does nothing', async () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'LINK']
  const questions = paths.flatMap(path => {
    const has = rows.filter(row => row.path === path).map(({ method }) => method as string)
    return methods.filter(method => !has.includes(method)).map(method => ({ path, method, headers: bearer }))
  })
  expect(await wrong(questions, ({ status, headers }) => status === 405 && headers.allow !== undefined)).toEqual([])
  expect(await say(gateway.url, `BREW /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
})
