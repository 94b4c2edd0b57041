// The only way out of a confined turn's box: a proxy of the gateway on sockets in a folder that the box can see.
import { closeSync, mkdtempSync, openSync } from 'node:fs'
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { hasRoomForConnection } from '../process.ts'
import { type Admission, admit, isLoopback, type Place, placeIn, placeOfUrl, type Rules } from './admission.ts'
import { type Dialling, dial } from './dial.ts'
import type { Forwarding } from './forwarder.ts'

/** What the gateway gives to the networks of all boxes. */
export interface Reach extends Dialling {
  /** Where the gateway's own tools are; empty: nowhere. */
  gateway(): string
}

export interface BoxNetwork {
  readonly forwarding: Forwarding
  /** What the programs in the box need to know. */
  readonly environment: Readonly<Record<string, string>>
  /** A connection to the inward port. */
  dial(ready: (error: Error | null, socket: Duplex) => void): undefined
  /** Ends all connections. */
  close(): void
}

/** Ports inside the box. Nothing else listens there, so they are always free. */
export const proxyPort = 3128
export const inwardPort = 4096

/** For one box. Silent connections end, because a program in the box may open any number of them and leave. */
export const networkLimits = { connections: 64, idleMs: 15 * 60_000, headMs: 15_000 }

/** Throws if the sockets cannot be made. They are open when this returns. */
export function openNetwork(
  dir: string,
  rules: Rules,
  reach: Reach,
  inward = false,
  limits = networkLimits,
): BoxNetwork {
  const net = process.getBuiltinModule('node:net')
  const http = process.getBuiltinModule('node:http')
  const folder = mkdtempSync(join(dir, 'net-'))
  // The path of a socket may have 107 bytes, and that of the folder may be longer.
  let short: number | null = openSync(folder, 'r')
  const open = new Set<Duplex>()
  const servers: (Server | HttpServer)[] = []
  const track = (socket: Socket) => {
    if (open.size >= limits.connections * 2 || !hasRoomForConnection()) return void socket.destroy()
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    socket.setTimeout(limits.idleMs, () => socket.destroy())
  }
  const listen = (server: Server | HttpServer, name: string) => {
    server.maxConnections = limits.connections
    server.on('connection', track)
    server.on('error', () => undefined /* the turn finds nobody there, and says so */)
    server.listen(`/proc/self/fd/${short}/${name}`)
    server.unref()
    servers.push(server)
  }
  const reached = async (place: Place, admission: Admission): Promise<Socket> => {
    const socket = await dial(place, admission, reach)
    track(socket)
    return socket
  }

  const proxy = http.createServer({ headersTimeout: limits.headMs, requestTimeout: 0, keepAliveTimeout: 5000 })
  proxy.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const place = placeIn(request.url ?? '')
    const admission = place && admit(place, rules)
    if (!place || !admission) return void socket.end(refusal)
    reached(place, admission).then(
      far => {
        if (socket.destroyed) return void far.destroy()
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        if (head.length > 0) far.write(head)
        splice(socket, far)
      },
      () => socket.end(unreachable),
    )
  })
  proxy.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? ''
    if (toolPath.test(url)) return hand(request, response, placeOfUrl(reach.gateway()), url)
    const place = /^http:\/\//i.test(url) ? placeOfUrl(url) : null
    const admission = place && admit(place, rules)
    if (!place || !admission) return refuse(response, 403)
    const { pathname, search } = new URL(url)
    reached(place, admission).then(
      far => hand(request, response, place, `${pathname}${search}`, far),
      () => refuse(response, 502),
    )
  })
  listen(proxy, 'proxy')

  const outward: Record<number, string> = { [proxyPort]: 'proxy' }
  for (const place of rules.configured.filter(({ host, port }) => isLoopback(host) && port >= 1024)) {
    // A program that is told an address on loopback goes there without a proxy.
    if (outward[place.port] !== undefined) continue
    const name = `port-${place.port}`
    outward[place.port] = name
    listen(
      net.createServer({ allowHalfOpen: true }, near => {
        reached(place, 'anywhere').then(
          far => (near.destroyed ? void far.destroy() : splice(near, far)),
          () => near.destroy(),
        )
      }),
      name,
    )
  }

  const calls = createInward()
  if (inward) listen(net.createServer({ allowHalfOpen: true }, calls.arrived), 'inward')

  const address = `http://127.0.0.1:${proxyPort}`
  return {
    forwarding: { dir: folder, outward, inward: inward ? inwardPort : null },
    environment: {
      ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map(name => [name, address])),
      ...Object.fromEntries(['NO_PROXY', 'no_proxy'].map(name => [name, 'localhost,127.0.0.1,::1'])),
      NODE_USE_ENV_PROXY: '1',
    },
    dial: calls.dial,
    close() {
      for (const server of servers.splice(0)) server.close()
      for (const socket of open) socket.destroy()
      if (short !== null) closeSync(short)
      short = null
    },
  }
}

/** The gateway's own tools, which have keys of their own. No other path of the gateway is reachable. */
const toolPath = /^\/api\/tools(?:\/[\w%-]{1,200})?$/

const refusal =
  'HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nGuests may not reach this (GUEST_NETWORK).\n'
const unreachable = 'HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n'

function refuse(response: ServerResponse, status: 403 | 502): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' })
  response.end(status === 403 ? 'Guests may not reach this (GUEST_NETWORK).\n' : 'It cannot be reached.\n')
}

/** Passes a request on, with the name of the place that was admitted and without what concerns only the proxy. */
function hand(
  request: IncomingMessage,
  response: ServerResponse,
  place: Place | null,
  path: string,
  far: Socket | null = null,
): void {
  if (!place) return refuse(response, 502)
  const { request: ask } = process.getBuiltinModule('node:http')
  const { host, port } = place
  const name = host.includes(':') ? `[${host}]` : host
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !ofConnection.test(name)))
  const onward = ask({
    ...{
      host,
      port,
      method: request.method,
      path,
      headers: { ...headers, host: port === 80 ? name : `${name}:${port}` },
    },
    ...(far ? { createConnection: () => far } : { agent: false }),
  })
  onward.on('response', answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.on('error', () => response.destroy())
    answer.pipe(response)
  })
  onward.on('upgrade', (_, socket) => socket.destroy())
  onward.on('error', () => (response.headersSent ? response.destroy() : refuse(response, 502)))
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}

const ofConnection = /^(?:proxy-.*|connection|keep-alive|upgrade|te|trailer|host)$/

function splice(near: Duplex, far: Duplex): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('close', () => to.destroy())
    from.pipe(to)
  }
}

/** Connections that the forwarder opens in advance, for calls in the other direction. */
function createInward() {
  const parked: Socket[] = []
  const wanted: ((error: Error | null, socket: Duplex) => void)[] = []
  return {
    arrived(socket: Socket) {
      const ready = wanted.shift()
      if (ready) return ready(null, socket)
      parked.push(socket)
      socket.setTimeout(0)
      socket.on('close', () => {
        const at = parked.indexOf(socket)
        if (at >= 0) parked.splice(at, 1)
      })
    },
    dial(ready: (error: Error | null, socket: Duplex) => void): undefined {
      const socket = parked.shift()
      // Not at once: the caller does not expect it.
      if (socket) setImmediate(ready, null, socket)
      else wanted.push(ready)
    },
  }
}
