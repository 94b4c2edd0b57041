// The pages and the API: maps each path to its handler.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { RefusalReason } from '../../base/event.ts'
import type { Logins } from '../../base/logins.ts'
import type { PairingAdmin } from '../../base/pairing.ts'
import type { MessageReply } from '../../base/socket.ts'
import { approvalInWords, denialInWords } from '../pairing.ts'
import { adminRoutes } from './admin.ts'
import type { Assets } from './assets.ts'
import { attachmentRoutes } from './attachments.ts'
import { conversationRoutes } from './conversations.ts'
import { fileRoutes } from './files.ts'
import { createHooks } from './hooks.ts'
import { loginCookies, loginOf } from './login-cookie.ts'
import { loginRoutes } from './logins.ts'
import { missionRoutes } from './mission.ts'
import type { HttpLimits, HttpOptions, WebchatApi } from './options.ts'
import { recordRoutes } from './records.ts'
import { type Exchange, redirect, reply, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'
import { settingsRoutes } from './settings.ts'
import { callTool, listTools, toolsPath } from './tools.ts'

/** All exact paths. Those below `/hooks/`, `/api/tools/` and the static files are added by makeRoutes. */
export const routeTable = (
  options: HttpOptions,
  limits: HttpLimits,
  assets: Assets,
): Readonly<Record<string, Route | readonly Route[]>> => {
  const { health, webchat, admin, logins, tools } = options
  return {
    '/': page('/web/mission/index.html', logins, assets),
    '/chat': page('/web/chat/index.html', logins, assets),
    '/favicon.ico': { method: 'GET', access: 'open', answer: exchange => assets.send(exchange, '/web/icon.svg') },
    '/healthz': {
      method: 'GET',
      access: 'open',
      answer(exchange) {
        if (!health.ready()) return replyJson(exchange, 503, { status: 'starting' })
        const why = health.trouble()
        return why === null
          ? replyJson(exchange, 200, { status: 'ok' })
          : replyJson(exchange, 503, { status: 'trouble', why })
      },
    },
    '/metrics': {
      method: 'GET',
      access: 'token',
      answer: async exchange =>
        reply(exchange, 200, 'text/plain; version=0.0.4; charset=utf-8', await health.metrics()),
    },
    '/api/status': {
      method: 'GET',
      access: 'token',
      answer: async exchange => replyJson(exchange, 200, { version: health.version, ...(await health.status()) }),
    },
    '/api/messages': {
      method: 'POST',
      access: 'token',
      answer: (exchange, _, signal) => takeMessage(exchange, webchat, limits.bodyBytes, signal),
    },
    '/api/pairing': [
      {
        method: 'GET',
        access: 'token',
        answer: async exchange => replyJson(exchange, 200, await admin.pairing.list()),
      },
      { method: 'POST', access: 'token', answer: exchange => decidePairing(exchange, admin.pairing, limits.bodyBytes) },
    ],
    ...adminRoutes(admin, limits),
    ...missionRoutes(admin.mission, limits),
    ...conversationRoutes(webchat.conversations),
    ...recordRoutes(admin.records, limits),
    ...fileRoutes(admin),
    ...settingsRoutes(admin, limits),
    ...loginRoutes(logins, limits),
    ...attachmentRoutes(webchat.attachments),
    // Open as far as the token goes: it requires its own key.
    [toolsPath]: { method: 'GET', access: 'open', answer: exchange => listTools(exchange, tools) },
  }
}

export const makeRoutes = (
  options: HttpOptions,
  limits: HttpLimits,
  assets: Assets,
): ((path: string) => readonly Route[]) => {
  const routes = routeTable(options, limits, assets)
  const oneTool: Route = {
    method: 'POST',
    access: 'open',
    answer: (exchange, _, signal) => callTool(exchange, options.tools, signal),
  }
  const file: Route = {
    method: 'GET',
    access: 'open',
    answer: exchange => assets.send(exchange, exchange.url.pathname),
  }
  const hooks = createHooks(options, limits)
  return path => {
    const hook = hooks(path)
    if (hook) return [{ method: 'POST', access: 'open', anyHost: true, answer: hook }]
    if (path.startsWith(`${toolsPath}/`)) return [oneTool]
    return [(Object.hasOwn(routes, path) ? routes[path] : undefined) ?? (assets.has(path) ? file : [])].flat()
  }
}

/** A page for the owner: a link with the token logs this browser in, and redirects to the address without it. */
const page = (file: string, logins: Logins, assets: Assets): Route => ({
  method: 'GET',
  access: 'asks',
  async answer(exchange, admission) {
    const { request } = exchange
    const { pathname, searchParams } = exchange.url
    if (admission === 'admitted') {
      if (!searchParams.has('token')) return assets.send(exchange, file)
      const isLoggedIn = loginOf(request, logins) !== null
      return redirect(exchange, pathname, isLoggedIn ? {} : { 'Set-Cookie': await loginCookies(request, logins) })
    }
    // A link on another site sends no SameSite=Strict cookie, even if we have just set it. Reloading from our own page does;
    // then Sec-Fetch-Site is same-origin, so this happens only once.
    const site = request.headers['sec-fetch-site']
    const again = admission === 'missing' && (site === 'cross-site' || site === 'same-site')
    return assets.send(exchange, '/web/chat/locked.html', 401, {
      'Cache-Control': 'no-store',
      ...(again ? { Refresh: `0; url=${pathname}` } : {}),
    })
  },
})

const takeMessage = async (
  exchange: Exchange,
  webchat: WebchatApi,
  limit: number,
  signal: AbortSignal,
): Promise<void> => {
  const { request, response, url } = exchange
  const { readMessage } = await import('./body.ts')
  const body = await readMessage(request, limit)
  if (body.type === 'unusable') return replyError(exchange, body.status, body.why)

  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const wait = ['true', '1'].includes(url.searchParams.get('wait') ?? '')
  const { text, id = randomUUID(), conversation = webchat.newConversation(), attachments } = body.value
  const message = { conversation, text, id, ...(attachments && { attachments }) }
  let answer: MessageReply
  try {
    answer = await webchat.message(message, wait, AbortSignal.any([signal, gone.signal]))
  } catch (error) {
    if (gone.signal.aborted) return // the client has left
    if (signal.aborted) return replyError(exchange, 503, 'The gateway is stopping.', { 'Retry-After': '5' })
    throw error
  }
  replyToMessage(exchange, answer)
}

/** `reason` is the result in words. */
const decidePairing = async (exchange: Exchange, pairing: PairingAdmin, limit: number): Promise<void> => {
  const { readDecision } = await import('./body.ts')
  const body = await readDecision(exchange.request, limit)
  if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
  const { approve, owner, deny = '' } = body.value
  if (approve === undefined) {
    const denial = await pairing.deny(deny)
    const status = denial.type === 'denied' ? 200 : 404
    return replyJson(exchange, status, { ...denial, reason: denialInWords(denial) })
  }
  const approval = await pairing.approve(approve, owner)
  const wait = approval.type === 'locked' ? { 'Retry-After': String(Math.ceil(approval.leftMs / 1000)) } : {}
  const answer = { ...approval, reason: approvalInWords(approval) }
  replyJson(exchange, approvalStatus[approval.type], answer, wait)
}

const approvalStatus = { approved: 200, unknown: 404, expired: 410, locked: 429 } as const

const replyToMessage = (exchange: Exchange, answer: MessageReply): void => {
  switch (answer.type) {
    case 'accepted':
      replyJson(exchange, 202, answer)
      break
    case 'refused': {
      const status = refusalStatus[answer.why]
      replyJson(exchange, status, answer, status === 503 ? { 'Retry-After': '5' } : {})
      break
    }
    case 'final': {
      const { delivered, ...frame } = answer
      onceOut(exchange.response, delivered)
      replyJson(exchange, 200, frame)
      break
    }
    default:
      answer satisfies never
  }
}

const refusalStatus: Readonly<Record<RefusalReason, number>> = {
  busy: 503,
  full: 503,
  stopping: 503,
  stranger: 403,
  'too-fast': 429,
  'over-budget': 429,
  'used-up': 429,
  'not-stored': 503,
  'not-attached': 400,
  cancelled: 410,
  'too-long': 413,
  empty: 400,
}

/** `close` follows `finish`, or comes without it if the connection broke before the last byte was written. */
const onceOut = (response: ServerResponse, emit: (sent: boolean) => void): void => {
  if (response.destroyed) emit(false)
  else response.once('close', () => emit(response.writableFinished))
}
