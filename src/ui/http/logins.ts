// The API of logins: lists and ends them.
import type { Logins } from '../../base/logins.ts'
import { loginOf } from './login-cookie.ts'
import type { HttpLimits } from './options.ts'
import { replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

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
