// WebSockets: the upgrade, the heartbeat, and base/socket.ts on top of ws. The package is loaded with the first upgrade.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket, WebSocketServer } from 'ws'
import type { Connected, Socket } from '../../base/socket.ts'
import type { HttpLimits } from './options.ts'

export interface Sockets {
  take(request: IncomingMessage, stream: Duplex, head: Buffer, conversation: string, how: Connected): Promise<void>
  /** Closes all sockets; terminates those still open after `stopMs`. */
  stop(): void
}

interface SocketsOptions {
  readonly limits: HttpLimits
  connect(socket: Socket, conversation: string, how: Connected): void
  warn(fields: object, text: string): void
}

interface Connection {
  readonly socket: Socket
  /** Sends a ping; terminates the connection if the last ping is still unanswered. */
  beat(): void
  terminate(): void
}

/** Pongs that are queued but not yet sent. */
const mostPongs = 100

export const openSockets = ({ limits, connect, warn }: SocketsOptions): Sockets => {
  const connections = new Set<Connection>()
  let server: Promise<WebSocketServer> | null = null
  let heartbeat: NodeJS.Timeout | null = null
  let stopped = false

  const load = async (): Promise<WebSocketServer> => {
    const { WebSocketServer } = await import('ws')
    return new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: limits.frameBytes,
    })
  }

  const begin = (ws: WebSocket, conversation: string, how: Connected): void => {
    const connection = overWs(ws, limits, warn)
    connections.add(connection)
    ws.once('close', () => connections.delete(connection))
    heartbeat ??= setInterval(() => {
      for (const one of connections) one.beat()
    }, limits.pingEveryMs).unref()
    try {
      connect(connection.socket, conversation, how)
    } catch (error) {
      warn({ err: error }, 'socket could not be connected')
      connection.socket.close(1011, 'internal error')
    }
  }

  return {
    async take(request, stream, head, conversation, how) {
      // If loading failed (no file descriptors, say), the next upgrade tries again.
      server ??= load().catch(error => {
        server = null
        throw error
      })
      const upgrades = await server
      if (stopped) stream.destroy()
      else upgrades.handleUpgrade(request, stream, head, ws => begin(ws, conversation, how))
    },
    stop() {
      stopped = true
      if (heartbeat !== null) clearInterval(heartbeat)
      for (const { socket } of connections) socket.close(1001, 'stopping')
      setTimeout(() => {
        for (const connection of connections) connection.terminate()
      }, limits.stopMs).unref()
    },
  }
}

const overWs = (ws: WebSocket, limits: HttpLimits, warn: SocketsOptions['warn']): Connection => {
  const textListeners: ((text: string) => void)[] = []
  const closeListeners: (() => void)[] = []
  const probes = new Map<string, (reached: boolean) => void>()
  let probeCount = 0
  let pongs = 0
  let alive = true
  let gone = false

  /** Also called before ws has closed: for the chat, a client that reads too slowly is gone. */
  const leave = (): void => {
    if (gone) return
    gone = true
    for (const settle of [...probes.values()]) settle(false)
    for (const listener of closeListeners) guarded(listener)
  }
  const guarded = (call: () => void): void => {
    try {
      call()
    } catch (error) {
      warn({ err: error }, 'socket listener failed')
      ws.close(1011, 'internal error')
    }
  }

  ws.on('error', error => warn({ why: error.message }, 'socket broke')) // `close` follows
  ws.on('close', leave)
  ws.on('message', (data: RawData, binary: boolean) => {
    alive = true
    if (gone) return
    if (binary) return ws.close(1003, 'text only')
    const text = data.toString()
    for (const listener of textListeners) guarded(() => listener(text))
  })
  ws.on('ping', payload => {
    alive = true
    pongs += 1
    // The client sends pings but never reads the pongs.
    if (pongs > mostPongs) return ws.terminate()
    ws.pong(payload, undefined, () => {
      pongs -= 1
    })
  })
  ws.on('pong', payload => {
    alive = true
    probes.get(payload.toString())?.(true)
  })

  const socket: Socket = {
    send(text) {
      if (gone || ws.readyState !== ws.OPEN) return false
      if (ws.bufferedAmount > limits.bufferedBytes) {
        warn({ buffered: ws.bufferedAmount }, 'socket reads too slowly')
        ws.close(1013, 'reading too slowly')
        // The close frame is queued behind the rest; a client that has stopped reading never sees it.
        setTimeout(() => ws.terminate(), limits.stopMs).unref()
        leave()
        return false
      }
      ws.send(text)
      return ws.bufferedAmount === 0
    },
    reached() {
      if (gone || ws.readyState !== ws.OPEN) return Promise.resolve(false)
      return new Promise(resolve => {
        probeCount += 1
        const payload = `reached ${probeCount}`
        const timer = setTimeout(() => ws.terminate(), limits.reachMs) // `close` settles it
        probes.set(payload, reached => {
          clearTimeout(timer)
          probes.delete(payload)
          resolve(reached)
        })
        ws.ping(payload)
      })
    },
    onText: listener => void textListeners.push(listener),
    onClose(listener) {
      if (gone) guarded(listener)
      else closeListeners.push(listener)
    },
    // A close frame has room for 123 bytes of reason.
    close: (code, reason) => ws.close(code, Buffer.from(reason).subarray(0, 120).toString()),
  }
  return {
    socket,
    beat() {
      if (!alive) return ws.terminate()
      alive = false
      if (ws.readyState === ws.OPEN) ws.ping()
    },
    terminate: () => ws.terminate(),
  }
}
