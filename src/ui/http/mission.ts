// The API of Mission Control: overview, activity, a single event, usage, and the event stream.
import type { MissionControl } from '../../base/activity.ts'
import { conversationName } from './conversation-name.ts'
import type { EventStream } from './events.ts'
import type { HttpLimits } from './options.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

type Routes = Readonly<Record<string, Route>>

export const missionRoutes = (admin: MissionControl, limits: HttpLimits): Routes => {
  let stream: EventStream | null = null
  return {
    '/events': {
      method: 'GET',
      access: 'token',
      async answer(exchange, _, signal) {
        const { createEvents } = await import('./events.ts')
        stream ??= createEvents(admin, limits, signal)
        stream.take(exchange)
      },
    },
    '/api/overview': get(async exchange => replyJson(exchange, 200, await admin.overview())),
    '/api/activity': get(async exchange => {
      const before = readNumber(exchange, 'before', null, Number.MAX_SAFE_INTEGER)
      const limit = readNumber(exchange, 'limit', 50, 500)
      if (before === 'invalid' || limit === 'invalid') return
      replyJson(exchange, 200, { entries: await admin.activity.list(before, limit) })
    }),
    '/api/event': get(async exchange => {
      const id = readNumber(exchange, 'id', 0, Number.MAX_SAFE_INTEGER)
      if (id === 'invalid') return
      const event = admin.event(id)
      if (event) replyJson(exchange, 200, event)
      else replyError(exchange, 404, 'There is no such event (any more).')
    }),
    '/api/work': get(async exchange => {
      const { searchParams } = exchange.url
      const conversation = searchParams.get('conversation')
      const event = readNumber(exchange, 'event', null, Number.MAX_SAFE_INTEGER)
      if (event === 'invalid') return
      if (event === null && (conversation === null || !conversationName.test(conversation)))
        return replyError(exchange, 400, 'Say of which event (?event=…), or of which message (?conversation=…&id=…).')
      const work = event === null ? admin.workOf(conversation ?? '', searchParams.get('id') ?? '') : admin.work(event)
      if (work) replyJson(exchange, 200, work)
      else replyError(exchange, 404, 'This message is not stored (any more).')
    }),
    '/api/usage': get(async exchange => {
      const days = readNumber(exchange, 'days', 30, 400)
      if (days !== 'invalid') replyJson(exchange, 200, await admin.usage(days))
    }),
  }
}

const get = (answer: (exchange: Exchange) => Promise<void>): Route => ({ method: 'GET', access: 'token', answer })

/** `invalid` if the parameter is invalid; then the error has been sent. */
export const readNumber = <Usual extends number | null>(
  exchange: Exchange,
  name: string,
  usual: Usual,
  most: number,
): number | Usual | 'invalid' => {
  const written = exchange.url.searchParams.get(name)
  if (written === null) return usual
  const value = /^\d{1,16}$/.test(written) ? Number(written) : 0
  if (value >= 1 && value <= most) return value
  replyError(exchange, 400, `"${name}" must be a number from 1 to ${most}.`)
  return 'invalid'
}
