// The API of WebChat's past: which conversations there are, what was said in one, and where something was said.
import type { Talks } from '../../base/talks.ts'
import { conversationName } from './conversation.ts'
import { readNumber } from './mission.ts'
import type { HttpOptions } from './options.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

const longestQuery = 200

/** Without the talks there are no such paths. */
export const talkRoutes = ({ talks }: HttpOptions): Readonly<Record<string, Route>> =>
  talks
    ? {
        '/api/conversations': get(exchange => {
          const limit = readNumber(exchange, 'limit', 50, 500)
          if (limit !== 'told') replyJson(exchange, 200, { conversations: talks.list(limit) })
        }),
        '/api/history': get(exchange =>
          exchange.url.searchParams.has('q') ? search(exchange, talks) : stretch(exchange, talks),
        ),
      }
    : {}

const search = async (exchange: Exchange, talks: Talks): Promise<void> => {
  const query = exchange.url.searchParams.get('q')?.trim() ?? ''
  const limit = readNumber(exchange, 'limit', 30, 200)
  if (limit === 'told') return
  if (query === '' || query.length > longestQuery)
    return replyError(exchange, 400, `Say what to look for, in 1 to ${longestQuery} characters: ?q=…`)
  replyJson(exchange, 200, { hits: await talks.search(query, limit) })
}

const stretch = (exchange: Exchange, talks: Talks): void => {
  const conversation = exchange.url.searchParams.get('conversation') ?? ''
  if (!conversationName.test(conversation))
    return replyError(exchange, 400, 'Say what to look for (?q=…), or in which conversation (?conversation=…).')
  const before = readNumber(exchange, 'before', null, Number.MAX_SAFE_INTEGER)
  const from = before === 'told' ? 'told' : readNumber(exchange, 'from', null, Number.MAX_SAFE_INTEGER)
  const limit = from === 'told' ? 'told' : readNumber(exchange, 'limit', 100, 500)
  if (before === 'told' || from === 'told' || limit === 'told') return
  replyJson(
    exchange,
    200,
    from === null ? talks.before(conversation, before, limit) : talks.from(conversation, from, limit),
  )
}

const get = (answer: Route['answer']): Route => ({ method: 'GET', access: 'token', answer })
