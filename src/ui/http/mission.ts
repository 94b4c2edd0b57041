// The API of the owner's window: how it is, what happened, one event from begin to end, what it all took.
import type { MissionDesk } from '../../base/activity.ts'
import type { EventStream } from './events.ts'
import type { HttpLimits, HttpOptions } from './options.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

type Routes = Readonly<Record<string, Route>>

/** Without the desk there are no such paths. */
export const missionRoutes = ({ mission }: HttpOptions, limits: HttpLimits): Routes =>
  mission ? routesTo(mission, limits) : {}

const routesTo = (desk: MissionDesk, limits: HttpLimits): Routes => {
  let stream: EventStream | null = null
  return {
    '/events': {
      method: 'GET',
      access: 'token',
      async answer(exchange, _, signal) {
        const { openEvents } = await import('./events.ts')
        stream ??= openEvents(desk, limits, signal)
        stream.take(exchange)
      },
    },
    '/api/overview': get(async exchange => replyJson(exchange, 200, await desk.overview())),
    '/api/activity': get(async exchange => {
      const before = readNumber(exchange, 'before', null, Number.MAX_SAFE_INTEGER)
      const limit = readNumber(exchange, 'limit', 50, 500)
      if (before === 'told' || limit === 'told') return
      replyJson(exchange, 200, { entries: await desk.activity.list(before, limit) })
    }),
    '/api/event': get(async exchange => {
      const id = readNumber(exchange, 'id', 0, Number.MAX_SAFE_INTEGER)
      if (id === 'told') return
      const event = desk.event(id)
      if (event) replyJson(exchange, 200, event)
      else replyError(exchange, 404, 'There is no such event (any more).')
    }),
    '/api/usage': get(async exchange => {
      const days = readNumber(exchange, 'days', 30, 400)
      if (days !== 'told') replyJson(exchange, 200, await desk.usage(days))
    }),
  }
}

const get = (answer: (exchange: Exchange) => Promise<void>): Route => ({ method: 'GET', access: 'token', answer })

/** `told`: it made no sense, and the answer has said so. */
export const readNumber = <Usual extends number | null>(
  exchange: Exchange,
  name: string,
  usual: Usual,
  most: number,
): number | Usual | 'told' => {
  const written = exchange.url.searchParams.get(name)
  if (written === null) return usual
  const value = /^\d{1,16}$/.test(written) ? Number(written) : 0
  if (value >= 1 && value <= most) return value
  replyError(exchange, 400, `"${name}" must be a number from 1 to ${most}.`)
  return 'told'
}
