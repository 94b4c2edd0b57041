// The cookie of a login: reading it, and setting it for a browser that has opened the link with the token.
import type { IncomingMessage } from 'node:http'
import type { Logins } from '../../base/logins.ts'

/** Older versions kept the token itself in this cookie. */
const oldCookie = 'aetheel_token'
const cookieSeconds = 400 * 86_400

/** The id of the login whose secret is in a cookie of this request; null: there is none. */
export const loginOf = (request: IncomingMessage, logins: Logins): string | null => {
  for (const secret of cookiesOf(request, logins.cookie)) {
    const id = logins.check(secret)
    if (id !== null) return id
  }
  return null
}

const cookiesOf = ({ headers }: IncomingMessage, name: string): readonly string[] =>
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
