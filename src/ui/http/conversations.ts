// The API of WebChat's history: the list of conversations, the messages of one, and search.
import type { ConversationList } from '../../base/conversations.ts'
import { conversationName } from './conversation-name.ts'
import { readNumber } from './mission.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

const longestQuery = 200

export const conversationRoutes = (conversations: ConversationList): Readonly<Record<string, Route>> => ({
  '/api/conversations': get(exchange => {
    const limit = readNumber(exchange, 'limit', 50, 500)
    if (limit !== 'invalid') replyJson(exchange, 200, { conversations: conversations.list(limit) })
  }),
  '/api/history': get(exchange =>
    exchange.url.searchParams.has('q') ? search(exchange, conversations) : stretch(exchange, conversations),
  ),
})

const search = async (exchange: Exchange, conversations: ConversationList): Promise<void> => {
  const query = exchange.url.searchParams.get('q')?.trim() ?? ''
  const limit = readNumber(exchange, 'limit', 30, 200)
  if (limit === 'invalid') return
  if (query === '' || query.length > longestQuery)
    return replyError(exchange, 400, `Say what to look for, in 1 to ${longestQuery} characters: ?q=…`)
  replyJson(exchange, 200, { hits: await conversations.search(query, limit) })
}

const stretch = (exchange: Exchange, conversations: ConversationList): void => {
  const conversation = exchange.url.searchParams.get('conversation') ?? ''
  if (!conversationName.test(conversation))
    return replyError(exchange, 400, 'Say what to look for (?q=…), or in which conversation (?conversation=…).')
  const before = readNumber(exchange, 'before', null, Number.MAX_SAFE_INTEGER)
  const from = before === 'invalid' ? 'invalid' : readNumber(exchange, 'from', null, Number.MAX_SAFE_INTEGER)
  const limit = from === 'invalid' ? 'invalid' : readNumber(exchange, 'limit', 100, 500)
  if (before === 'invalid' || from === 'invalid' || limit === 'invalid') return
  replyJson(
    exchange,
    200,
    from === null ? conversations.before(conversation, before, limit) : conversations.from(conversation, from, limit),
  )
}

const get = (answer: Route['answer']): Route => ({ method: 'GET', access: 'token', answer })
