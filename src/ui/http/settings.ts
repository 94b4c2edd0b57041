// The API of settings and logs.
import { type LogLevel, logLevels } from '../../base/logs.ts'
import type { AdminApi, HttpLimits } from './options.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

type Routes = Readonly<Record<string, Route | readonly Route[]>>

export const settingsRoutes = (
  { settings, logs }: Pick<AdminApi, 'settings' | 'logs'>,
  { bodyBytes }: HttpLimits,
): Routes => ({
  '/api/settings': [
    {
      method: 'GET',
      access: 'token',
      answer: async exchange => replyJson(exchange, 200, await (await settings()).read()),
    },
    {
      method: 'POST',
      access: 'token',
      async answer(exchange) {
        const { readSettings } = await import('./admin-bodies.ts')
        const body = await readSettings(exchange.request, bodyBytes)
        if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
        const change = await (await settings()).change(body.value.set)
        if (!change.ok) return replyJson(exchange, 400, { error: change.why, problems: change.problems })
        const { applied, later, values } = change
        replyJson(exchange, 200, { applied, later, values })
      },
    },
  ],
  '/api/logs': {
    method: 'GET',
    access: 'token',
    async answer(exchange) {
      const query = readQuery(exchange)
      if (query === null) return
      const admin = await logs()
      replyJson(exchange, 200, { ...(await admin.read(query)), kept: admin.kept })
    },
  },
})

const mostLines = 2000
const longestWords = 200

/** Null if it is invalid; then the error has been sent. */
const readQuery = (exchange: Exchange) => {
  const { searchParams } = exchange.url
  const level = levelOf(searchParams.get('level') ?? 'trace')
  const words = searchParams.get('q')?.trim() ?? ''
  const limit = searchParams.get('limit') ?? '200'
  const most = /^\d{1,6}$/.test(limit) ? Number(limit) : 0
  const no = (why: string) => {
    replyError(exchange, 400, why)
    return null
  }
  if (level === null) return no(`"level" must be one of ${logLevels.join(', ')}.`)
  if (words.length > longestWords) return no(`"q" must have at most ${longestWords} characters.`)
  if (most < 1 || most > mostLines) return no(`"limit" must be a number from 1 to ${mostLines}.`)
  return { level, words, most, after: searchParams.get('after') }
}

const levelOf = (name: string): LogLevel | null => logLevels.find(level => level === name) ?? null
