// POST /hooks/NAME: programs elsewhere wake the agent. Their proof is a signature, not our token.
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReceiveWebhook, WebhookAnswer } from '../../base/webhook.ts'
import { openRoom, readUpTo } from './bytes.ts'
import type { HttpLimits, HttpOptions } from './options.ts'
import { type Exchange, replyJson } from './reply.ts'

const hooksPath = '/hooks/'

const hookName = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/
const patience = 5

/** Null: this address can be no webhook's. */
export const openHooks = (
  { webhook, warn }: Pick<HttpOptions, 'webhook' | 'warn'>,
  { bodyBytes, unprovenBytes, wrongTokenMs }: HttpLimits,
): ((path: string) => ((exchange: Exchange) => Promise<void>) | null) => {
  // Before the last byte nobody has proven anything, and many may send at once.
  const room = openRoom(unprovenBytes)
  let wrong = 0

  const hear = async ({ request }: Exchange, name: string, receive: ReceiveWebhook): Promise<WebhookAnswer> => {
    const body = await readUpTo(request, bodyBytes, room)
    if (body === 'too-long') return { status: 413, body: { error: `The body is longer than ${bodyBytes} bytes.` } }
    if (body === 'no-room')
      return { status: 503, body: { error: 'Too much comes at once.' }, headers: { 'Retry-After': '5' } }
    try {
      return await receive(name, headersOf(request), body)
    } finally {
      room.give(body.length)
    }
  }

  /** As for wrong tokens: guessing is slow, and a log is not filled by it. */
  const turnAway = async ({ request }: Exchange) => {
    wrong += 1
    if (wrong === 1 || wrong % 100 === 0) warn({ times: wrong, from: request.socket.remoteAddress }, 'webhook refused')
    if (wrong > patience) await sleep(wrongTokenMs)
  }

  const answer = async (exchange: Exchange, name: string, receive: ReceiveWebhook): Promise<void> => {
    const { status, body, headers } = await hear(exchange, name, receive)
    if (status === 401 || status === 404) await turnAway(exchange)
    else if (status < 300) wrong = 0
    replyJson(exchange, status, body, headers)
  }

  return path => {
    const name = path.startsWith(hooksPath) ? path.slice(hooksPath.length) : ''
    return webhook !== undefined && hookName.test(name) ? exchange => answer(exchange, name, webhook) : null
  }
}

const headersOf = (request: IncomingMessage): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
