// The HTTP server: the chat page, the API and the WebSocket on one port of this machine.
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logins } from '../../base/logins.ts'
import { listAssets } from './assets.ts'
import { conversationName } from './conversation-name.ts'
import { createGuard, type Guard } from './guard.ts'
import { loginOf } from './login-cookie.ts'
import type { HttpLimits, HttpOptions, OpenHttp } from './options.ts'
import { type Exchange, replyError } from './reply.ts'
import type { Route } from './route.ts'
import { makeRoutes } from './routes.ts'
import { openSockets, type Sockets } from './sockets.ts'

// An `import` of node:http reads all its names, including WebSocket, and so loads undici: 12 MB and 20 ms for nothing.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

/** Resolves once it listens. If it cannot, rejects with a message that names HTTP_PORT or HTTP_HOST. Runs until the signal. */
export const openHttp = async (options: HttpOptions, limits: HttpLimits, signal: AbortSignal): Promise<OpenHttp> => {
  signal.throwIfAborted()
  const { address, pages, webchat, logins, warn } = options
  const { host, names, token } = address
  if (token === '') throw new Error('The HTTP server needs a token: set HTTP_TOKEN.')
  const guard = createGuard({ host, names, token, logins, wrongTokenMs: limits.wrongTokenMs, warn })
  const route = makeRoutes(options, limits, await listAssets(pages.webDir, pages.modulesDir))
  const warnSometimes = seldom(warn)
  const sockets = openSockets({ limits, warn, connect: webchat.connect })

  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs),
    maxHeaderSize: 16 * 1024,
    // Otherwise any Upgrade header (such as h2c) would be taken for a WebSocket.
    shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
  })
  // The kernel accepts connections until the last file descriptor is used; then even connected clients would get no answer.
  server.on('connection', socket => {
    if (address.hasRoom()) return
    warnSometimes({}, 'connection refused: too few descriptors left')
    turnAway(socket, 503, 'There are too many connections here at the moment. Try again in a minute.')
  })
  const connectionsOf = endedWith(logins)
  const underWay = new WeakMap<Socket, number>()
  server.on('request', (request, response) => {
    const { socket } = request
    const others = underWay.get(socket) ?? 0
    // Many pipelined requests fit into one packet, and each costs far more to answer than to send.
    if (others >= limits.atOnce) return void socket.destroy()
    underWay.set(socket, others + 1)
    response.once('close', () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1))
    const url = urlOf(request)
    const exchange: Exchange = { request, response, url: url ?? new URL('http://localhost/') }
    if (url === null) return replyError(exchange, 400, 'This address cannot be read.')
    response.on('error', () => response.destroy()) // the client left; handlers see `close`
    if (url.pathname === '/events') connectionsOf(request)
    answer(exchange, guard, route, signal).catch(error => {
      if (response.destroyed) return
      warn({ err: error, path: url.pathname }, 'request failed')
      replyError(exchange, 500, 'Something went wrong here. The log of the gateway says what.')
    })
  })
  server.on('upgrade', (request, stream, head) => {
    stream.on('error', () => stream.destroy()) // closed before the upgrade
    connectionsOf(request)
    upgrade(request, stream, head, { guard, sockets, newConversation: webchat.newConversation }).catch(error => {
      warn({ err: error }, 'upgrade failed')
      stream.destroy()
    })
  })

  await listen(server, host, address.port)
  server.on('error', error => warnSometimes({ err: error }, 'http server error'))
  const { port } = server.address() as AddressInfo
  return { port, url: `http://${nameFor(host)}:${port}`, closed: closing(server, sockets, limits.stopMs, signal) }
}

const foreignHost = 'This host name is not ours. Open it as 127.0.0.1 or localhost, or name it in HTTP_NAMES.'

const answer = async (
  exchange: Exchange,
  guard: Guard,
  find: (path: string) => readonly Route[],
  signal: AbortSignal,
): Promise<void> => {
  const { request, url } = exchange
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const routes = find(url.pathname)
  if (!routes.some(({ anyHost }) => anyHost) && !guard.hostIsOurs(request))
    return replyError(exchange, 421, foreignHost)
  // Pages may be linked from anywhere and contain no data. Paths behind the token are not for pages of other sites.
  if ((method !== 'GET' || routes.some(({ access }) => access === 'token')) && !guard.originIsOurs(request))
    return replyError(exchange, 403, 'Requests from other sites are not allowed.')
  if (routes.length === 0) return replyError(exchange, 404, 'There is nothing here.')
  const route = routes.find(one => one.method === method)
  if (!route) {
    const methods = routes.map(one => one.method)
    const allow = methods.flatMap(one => (one === 'GET' ? ['GET', 'HEAD'] : [one])).join(', ')
    return replyError(exchange, 405, `Use ${methods.join(' or ')}.`, { Allow: allow })
  }
  const admission = route.access === 'open' ? 'admitted' : await guard.admit(request, url)
  if (route.access === 'token' && admission !== 'admitted') {
    const words = `The token is ${admission}. Send it as "Authorization: Bearer …"; "npx aetheel status" prints it.`
    return replyError(exchange, 401, words, { 'WWW-Authenticate': 'Bearer' })
  }
  await route.answer(exchange, admission, signal)
}

interface Entrance {
  readonly guard: Guard
  readonly sockets: Sockets
  newConversation(): string
}

const upgrade = async (
  request: IncomingMessage,
  stream: Duplex,
  head: Buffer,
  { guard, sockets, newConversation }: Entrance,
): Promise<void> => {
  const url = urlOf(request)
  if (url === null) return turnAway(stream, 400, 'This address cannot be read.')
  if (!guard.hostIsOurs(request)) return turnAway(stream, 421, foreignHost)
  if (!guard.originIsOurs(request)) return turnAway(stream, 403, 'Connections from other sites are not allowed.')
  if (url.pathname !== '/ws') return turnAway(stream, 404, 'There is no WebSocket here.')
  const admission = await guard.admit(request, url)
  if (admission !== 'admitted')
    return turnAway(stream, 401, `The token is ${admission}. "npx aetheel status" prints it.`)
  const conversation = url.searchParams.get('conversation') ?? newConversation()
  if (!conversationName.test(conversation)) {
    return turnAway(stream, 400, 'The conversation must match [A-Za-z0-9._-]{1,64}.')
  }
  const drafts = url.searchParams.get('drafts') === 'delta' ? 'delta' : 'whole'
  await sockets.take(request, stream, head, conversation, { drafts })
}

const turnAway = (stream: Duplex, status: number, words: string): void => {
  const body = `${JSON.stringify({ error: words })}\n`
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  stream.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy())
}

/** Closes the sockets and event streams of a login when it is revoked; all other requests are checked one by one. */
const endedWith = (logins: Logins): ((request: IncomingMessage) => void) => {
  const connections = new Map<string, Set<Socket>>()
  logins.onRevoked(id => {
    for (const socket of connections.get(id) ?? []) socket.destroy()
  })
  return request => {
    const { socket } = request
    const login = request.headers.cookie === undefined ? null : loginOf(request, logins)
    if (login === null || connections.get(login)?.has(socket)) return
    const own = connections.get(login) ?? new Set<Socket>()
    connections.set(login, own.add(socket))
    socket.once('close', () => {
      own.delete(socket)
      if (own.size === 0) connections.delete(login)
    })
  }
}

/** A warning per connection attempt would fill the log. */
const seldom = (warn: HttpOptions['warn']): HttpOptions['warn'] => {
  const resting = new Set<string>()
  return (fields, text) => {
    if (resting.has(text)) return
    resting.add(text)
    setTimeout(() => resting.delete(text), 60_000).unref()
    warn(fields, text)
  }
}

const urlOf = (request: IncomingMessage): URL | null => URL.parse(request.url ?? '', 'http://localhost')

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(Object.assign(new Error(listenTrouble(error, host, port), { cause: error }), { code: error.code }))
    server.once('error', fail)
    server.listen({ host, port }, () => {
      server.off('error', fail)
      resolve()
    })
  })

const listenTrouble = ({ code, message }: NodeJS.ErrnoException, host: string, port: number): string => {
  if (code === 'EADDRINUSE') {
    return `Port ${port} on ${host} is in use. Stop the program that has it, or choose another port with HTTP_PORT.`
  }
  if (code === 'EACCES') return `Port ${port} may not be opened by this user. Choose one above 1023 with HTTP_PORT.`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${host} is not an address of this machine. Set HTTP_HOST to one that is, such as 127.0.0.1.`
  }
  return `The HTTP server cannot listen on ${host}, port ${port} (HTTP_HOST, HTTP_PORT): ${message}`
}

const closing = (server: Server, sockets: Sockets, stopMs: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    const stop = (): void => {
      // Connections that finish their last request become idle one by one, and would stay open for the keep-alive time.
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      const late = setTimeout(() => server.closeAllConnections(), stopMs)
      server.close(() => {
        clearInterval(idle)
        clearTimeout(late)
        resolve()
      })
      sockets.stop()
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })

/** The host for a link that a browser on this machine can open. */
const nameFor = (host: string): string => {
  if (host === '0.0.0.0' || host === '::' || host === '') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
