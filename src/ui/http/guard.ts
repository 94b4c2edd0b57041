// Who may send requests: checks the Host (DNS rebinding), the Origin (pages of other sites), and the token or the login.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logins } from '../../base/logins.ts'
import { loginOf } from './login-cookie.ts'

export type Admission = 'admitted' | 'missing' | 'wrong'

export interface Guard {
  hostIsOurs(request: IncomingMessage): boolean
  originIsOurs(request: IncomingMessage): boolean
  admit(request: IncomingMessage, url: URL): Promise<Admission>
}

interface GuardOptions {
  readonly host: string
  readonly names: readonly string[]
  readonly token: string
  readonly logins: Logins
  readonly wrongTokenMs: number
  warn(fields: object, text: string): void
}

const wildcards = new Set(['0.0.0.0', '::', ''])
const patience = 5

export const createGuard = ({ host, names: others, token, logins, wrongTokenMs, warn }: GuardOptions): Guard => {
  const expected = digest(token)
  const names = new Set(['127.0.0.1', 'localhost', '::1', ...[host, ...others].map(name => name.toLowerCase())])
  let wrong = 0

  const known = (hostname: string): boolean =>
    names.has(hostname) ||
    // Bound to every address, we cannot list them. A bare IP address is safe: rebinding needs a name.
    (wildcards.has(host) && isIP(hostname) !== 0)

  return {
    hostIsOurs(request) {
      const hostname = hostnameOf(request.headers.host)
      return hostname !== null && known(hostname)
    },
    originIsOurs({ headers }) {
      // Browsers send this even without an Origin. Another port of this machine is `same-site`, and gets our cookie.
      if (['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']))) return false
      if (headers.origin === undefined) return true
      const ours = headers.host?.toLowerCase()
      // https: the owner may run a TLS proxy in front of us.
      return headers.origin === `http://${ours}` || headers.origin === `https://${ours}`
    },
    async admit(request, url) {
      const given = tokensOf(request, url)
      // The cookie of a login that has ended is like none: nobody guesses its secret, so there is nothing to slow down.
      if (given.length === 0) return loginOf(request, logins) === null ? 'missing' : 'admitted'
      if (given.some(candidate => timingSafeEqual(digest(candidate), expected))) {
        wrong = 0
        return 'admitted'
      }
      wrong += 1
      if (wrong === 1 || wrong % 100 === 0) warn({ times: wrong, from: request.socket.remoteAddress }, 'wrong token')
      if (wrong > patience) await sleep(wrongTokenMs)
      return 'wrong'
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The name in a Host header, in lower case, without port and brackets. Null if it is invalid. */
const hostnameOf = (host: string | undefined): string | null => {
  const match =
    host === undefined ? null : /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/.exec(host.toLowerCase())
  return match?.[1] ?? match?.[2] ?? null
}

const tokensOf = (request: IncomingMessage, url: URL): string[] => {
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  return [bearer ?? '', ...url.searchParams.getAll('token')].filter(candidate => candidate !== '')
}
