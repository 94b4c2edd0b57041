// POST /hooks/NAME: other programs trigger the agent. They authenticate with a signature, not with our token.
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookAnswer } from '../../base/webhook.ts'
import { createRoom, readUpTo } from './bytes.ts'
import type { HttpLimits, HttpOptions } from './options.ts'
import { type Exchange, replyJson } from './reply.ts'

const hooksPath = '/hooks/'

const hookName = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/
const patience = 5

/** Null if the path cannot be a webhook. */
export const createHooks = (
  { webhook, warn }: Pick<HttpOptions, 'webhook' | 'warn'>,
  { bodyBytes, unprovenBytes, wrongTokenMs }: HttpLimits,
): ((path: string) => ((exchange: Exchange) => Promise<void>) | null) => {
  // Senders are unauthenticated until the last byte, and many may send at once.
  const room = createRoom(unprovenBytes)
  let wrong = 0

  const receive = async ({ request }: Exchange, name: string): Promise<WebhookAnswer> => {
    const body = await readUpTo(request, bodyBytes, room)
    if (body === 'too-long') return { status: 413, body: { error: `The body is longer than ${bodyBytes} bytes.` } }
    if (body === 'no-room')
      return { status: 503, body: { error: 'Too many requests at once.' }, headers: { 'Retry-After': '5' } }
    try {
      return await webhook(name, headersOf(request), body.bytes)
    } finally {
      body.leave()
    }
  }

  /** As for wrong tokens: makes guessing slow, and keeps it from filling the log. */
  const turnAway = async ({ request }: Exchange) => {
    wrong += 1
    if (wrong === 1 || wrong % 100 === 0) warn({ times: wrong, from: request.socket.remoteAddress }, 'webhook refused')
    if (wrong > patience) await sleep(wrongTokenMs)
  }

  const answer = async (exchange: Exchange, name: string): Promise<void> => {
    const { status, body, headers } = await receive(exchange, name)
    if (status === 401 || status === 404) await turnAway(exchange)
    else if (status < 300) wrong = 0
    replyJson(exchange, status, body, headers)
  }

  return path => {
    const name = path.startsWith(hooksPath) ? path.slice(hooksPath.length) : ''
    return hookName.test(name) ? exchange => answer(exchange, name) : null
  }
}

const headersOf = (request: IncomingMessage): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
