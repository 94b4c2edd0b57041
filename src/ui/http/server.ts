// The HTTP server: the chat page, the API and the WebSocket on one port of this machine.
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { listAssets } from './assets.ts'
import { conversationName } from './conversation.ts'
import { type Guard, openGuard } from './guard.ts'
import { defaultLimits, type HttpLimits, type HttpOptions, type OpenHttp } from './options.ts'
import { type Exchange, replyError } from './reply.ts'
import type { Route } from './route.ts'
import { makeRoutes } from './routes.ts'
import { openSockets, type Sockets } from './sockets.ts'

// An `import` of node:http reads all its names, among them WebSocket, and so loads undici: 12 MB and 20 ms for nothing.
const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

/** Resolves once it listens. Rejects, naming HTTP_PORT or HTTP_HOST, when it cannot. Lives until the signal. */
export const openHttp = async (options: HttpOptions, signal: AbortSignal): Promise<OpenHttp> => {
  signal.throwIfAborted()
  if (options.token === '') throw new Error('The HTTP server needs a token: set HTTP_TOKEN.')
  const limits: HttpLimits = { ...defaultLimits, ...options.limits }
  const { host, token, warn } = options
  const guard = openGuard({ host, names: options.names ?? [], token, wrongTokenMs: limits.wrongTokenMs, warn })
  const route = makeRoutes(options, limits, await listAssets(options.webDir, options.modulesDir))
  const sockets = openSockets({ limits, warn, connect: options.connect })

  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs),
    maxHeaderSize: 16 * 1024,
    // Otherwise any Upgrade header (h2c, for one) would be taken for a WebSocket.
    shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
  })
  const underWay = new WeakMap<Socket, number>()
  server.on('request', (request, response) => {
    const { socket } = request
    const others = underWay.get(socket) ?? 0
    // Whole bags of requests fit into one packet, and each of them costs far more here than there.
    if (others >= limits.atOnce) return void socket.destroy()
    underWay.set(socket, others + 1)
    response.once('close', () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1))
    const url = urlOf(request)
    const exchange: Exchange = { request, response, url: url ?? new URL('http://localhost/') }
    if (url === null) return replyError(exchange, 400, 'This address cannot be read.')
    response.on('error', () => response.destroy()) // the other side left; `close` tells whoever waits for it
    answer(exchange, guard, route, signal).catch(error => {
      if (response.destroyed) return
      warn({ err: error, path: url.pathname }, 'request failed')
      replyError(exchange, 500, 'Something went wrong here. The log of the gateway says what.')
    })
  })
  server.on('upgrade', (request, stream, head) => {
    stream.on('error', () => stream.destroy()) // left before it was let in
    upgrade(request, stream, head, { guard, sockets, newConversation: options.newConversation }).catch(error => {
      warn({ err: error }, 'upgrade failed')
      stream.destroy()
    })
  })

  await listen(server, host, options.port)
  server.on('error', error => warn({ err: error }, 'http server trouble'))
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
  // Pages may be linked to from anywhere and hold nothing. What the token opens is not for the pages of others.
  if ((method !== 'GET' || routes.some(({ access }) => access === 'token')) && !guard.originIsOurs(request))
    return replyError(exchange, 403, 'Other sites may not ask this.')
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
  if (!guard.originIsOurs(request)) return turnAway(stream, 403, 'Other sites may not connect.')
  if (url.pathname !== '/ws') return turnAway(stream, 404, 'There is no WebSocket here.')
  const admission = await guard.admit(request, url)
  if (admission !== 'admitted')
    return turnAway(stream, 401, `The token is ${admission}. "npx aetheel status" prints it.`)
  const conversation = url.searchParams.get('conversation') ?? newConversation()
  if (!conversationName.test(conversation)) {
    return turnAway(stream, 400, 'The conversation must match [A-Za-z0-9._-]{1,64}.')
  }
  await sockets.take(request, stream, head, conversation)
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
      // What answers its last request becomes idle only now and then, and would stay for the keep-alive time.
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

/** The host as it stands in a link: one that a browser on this machine can open. */
const nameFor = (host: string): string => {
  if (host === '0.0.0.0' || host === '::' || host === '') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
