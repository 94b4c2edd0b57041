// Logins of browsers over HTTP: the link with the token opens one, the API lists and ends them.
import type { IncomingMessage } from 'node:http'
import type { Logins } from '../../base/logins.ts'
import type { HttpLimits } from './options.ts'
import { replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

/** Older versions kept the token itself in this cookie. */
const oldCookie = 'aetheel_token'
const cookieSeconds = 400 * 86_400

export const loginRoutes = (
  logins: Logins,
  { bodyBytes }: HttpLimits,
): Readonly<Record<string, Route | readonly Route[]>> => ({
  '/api/logins': [
    {
      method: 'GET',
      access: 'token',
      async answer(exchange) {
        const current = loginOf(exchange.request, logins)
        const all = await logins.list()
        replyJson(exchange, 200, { logins: all.map(one => ({ ...one, current: one.id === current })) })
      },
    },
    {
      method: 'POST',
      access: 'token',
      async answer(exchange) {
        const { readRevoke } = await import('./admin-bodies.ts')
        const body = await readRevoke(exchange.request, bodyBytes)
        if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
        const { revoke } = body.value
        const ended = await logins.revoke(revoke)
        if (ended === 0 && revoke !== 'all') return replyError(exchange, 400, 'There is no such login.')
        replyJson(exchange, 200, { ok: true, ended })
      },
    },
  ],
})

/** The id of the login whose secret is in a cookie of this request; null: there is none. */
export const loginOf = (request: IncomingMessage, logins: Logins): string | null => {
  for (const secret of cookiesOf(request, logins.cookie)) {
    const id = logins.check(secret)
    if (id !== null) return id
  }
  return null
}

export const cookiesOf = ({ headers }: IncomingMessage, name: string): readonly string[] =>
  (headers.cookie ?? '')
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => pair.startsWith(`${name}=`))
    .map(pair => pair.slice(name.length + 1))

/** The headers that log this browser in, and remove the cookie of older versions. */
export async function loginCookies(request: IncomingMessage, logins: Logins): Promise<readonly string[]> {
  const secret = await logins.open(browserOf(request.headers['user-agent'] ?? ''))
  const rules = 'HttpOnly; SameSite=Strict; Path=/'
  return [
    `${logins.cookie}=${secret}; ${rules}; Max-Age=${cookieSeconds}`,
    ...(cookiesOf(request, oldCookie).length === 0 ? [] : [`${oldCookie}=; ${rules}; Max-Age=0`]),
  ]
}

const browsers = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari', 'curl']
const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' }
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac', 'Linux']

/** Enough for the owner to recognize it. */
const browserOf = (agent: string): string => {
  const browser = browsers.find(one => agent.includes(`${one}/`))
  const system = systems.find(one => agent.includes(one))
  const name = browser === undefined ? 'A browser' : (names[browser] ?? browser)
  return system === undefined ? name : `${name} on ${system}`
}
