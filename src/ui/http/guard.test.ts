// Which requests are allowed: by Host, Origin and Sec-Fetch-Site.
import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { fakeHttp } from '../../../test/fakes/http-options.ts'
import { createGuard } from './guard.ts'

const guard = (host = '127.0.0.1', names: readonly string[] = []) =>
  createGuard({ host, names, token: 'token', logins: fakeHttp().logins, wrongTokenMs: 0, warn: () => undefined })
const asked = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage

test.each([
  // Another port of this machine is the same site, and the browser sends it our cookie.
  ['same-site', false],
  ['cross-site', false],
  ['same-origin', true],
  ['none', true],
] as const)('a request that a browser calls %s is ours: %s', (site, ours) => {
  expect(guard().originIsOurs(asked({ host: '127.0.0.1:8080', 'sec-fetch-site': site }))).toBe(ours)
})

test.each([
  ['http://127.0.0.1:8080', true],
  ['https://127.0.0.1:8080', true],
  ['http://127.0.0.1:9090', false],
  ['http://localhost:8080', false],
  ['null', false],
])('the Origin %s is accepted: %s', (origin, ours) => {
  expect(guard().originIsOurs(asked({ host: '127.0.0.1:8080', origin }))).toBe(ours)
})

test.each([
  ['127.0.0.1', 'LOCALHOST:8080', true],
  ['127.0.0.1', '[::1]:8080', true],
  ['127.0.0.1', 'evil.example', false],
  ['127.0.0.1', '192.0.2.7', false],
  ['0.0.0.0', '192.0.2.7:80', true],
  ['0.0.0.0', 'evil.example', false],
  ['127.0.0.1', 'home.example', true],
  ['127.0.0.1', 'a b', false],
])('bound to %s, the Host %s is accepted: %s', (bound, host, ours) => {
  expect(guard(bound, ['home.example']).hostIsOurs(asked({ host }))).toBe(ours)
})
