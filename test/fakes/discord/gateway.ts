// The gateway: connections, sessions with sequence numbers, replay on RESUME, and simulated failures.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { guildCreate, userShape } from './shape.ts'
import { type Dispatch, intents, type Json, type State, sees } from './state.ts'
import type { GatewaySeen, Privileged } from './types.ts'

interface Session {
  readonly id: string
  readonly intents: number
  /** Everything dispatched, in order: entry n has sequence number n + 1. */
  readonly log: string[]
  connection: Connection | null
  over: boolean
}

interface Connection {
  readonly number: number
  readonly socket: WebSocket
  readonly sentAt: number[]
  session: Session | null
  silent: boolean
}

const allIntents = ((1 << 17) - 1) | (3 << 20) | (3 << 24)
const privileged: readonly Privileged[] = ['MessageContent', 'GuildMembers', 'GuildPresences']

const closes = {
  4001: 'Unknown opcode.',
  4002: 'Error while decoding payload.',
  4003: 'Not authenticated.',
  4004: 'Authentication failed.',
  4005: 'Already authenticated.',
  4007: 'Invalid seq.',
  4008: 'Rate limited.',
  4010: 'Invalid shard.',
  4012: 'Invalid API version.',
  4013: 'Invalid intent(s).',
  4014: 'Disallowed intent(s).',
} as const

export const openGateway = (state: State, server: Server, heartbeatMs: number) => {
  const sockets = new WebSocketServer({ noServer: true })
  const connections = new Set<Connection>()
  const sessions = new Set<Session>()
  const seen: GatewaySeen[] = []
  let opened = 0
  let identified = 0

  const see = (what: GatewaySeen['what'], connection: Connection, detail: unknown): void => {
    seen.push({ what, at: state.now(), connection: connection.number, detail })
  }
  const emit = (connection: Connection, payload: string): void => {
    if (!connection.silent) connection.socket.send(payload)
  }
  const close = (connection: Connection, code: keyof typeof closes): void => {
    see('close', connection, { code, by: 'discord' })
    connections.delete(connection)
    if (connection.session !== null) connection.session.connection = null
    connection.session = null
    connection.socket.close(code, closes[code])
  }

  const canReadContent = (session: Session): boolean => (session.intents & intents.MessageContent) !== 0
  const deliver = (session: Session, t: string, d: Json): void => {
    session.log.push(JSON.stringify({ op: 0, t, s: session.log.length + 1, d }))
    if (session.connection !== null) emit(session.connection, session.log.at(-1) ?? '')
  }
  state.dispatch = (event: Dispatch): void => {
    if (event.channel !== undefined && !sees(state, event.channel)) return
    for (const session of sessions) {
      if (event.needs !== 0 && (session.intents & event.needs) === 0) continue
      deliver(session, event.t, event.d(canReadContent(session)))
    }
  }

  const end = (session: Session): void => {
    session.over = true
    sessions.delete(session)
    if (session.connection !== null) session.connection.session = null
    session.connection = null
  }

  const identify = (connection: Connection, d: Json): void => {
    if (connection.session !== null) return close(connection, 4005)
    if (d.token !== state.token) return close(connection, 4004)
    const asked = d.intents
    if (typeof asked !== 'number' || (asked & ~allIntents) !== 0) return close(connection, 4013)
    if (privileged.some(name => state.denied.has(name) && (asked & intents[name]) !== 0)) return close(connection, 4014)
    const [shard, shards] = (d.shard ?? [0, 1]) as number[]
    if (shard === undefined || shards === undefined || shard >= shards) return close(connection, 4010)
    identified++
    const id = randomBytes(16).toString('hex')
    const session: Session = { id, intents: asked, log: [], connection, over: false }
    sessions.add(session)
    connection.session = session
    const guilds = [...state.guilds.values()].filter(guild => guild.botIn)
    deliver(session, 'READY', {
      v: 10,
      user: { ...userShape(state.bot), verified: true, mfa_enabled: false, flags: 0 },
      session_id: id,
      session_type: 'normal',
      resume_gateway_url: `${state.origin().replace('http', 'ws')}/resume`,
      guilds: guilds.map(guild => ({ id: guild.id, unavailable: true })),
      private_channels: [],
      relationships: [],
      shard: [shard, shards],
      application: { id: state.applicationId, flags: 0 },
    })
    if ((asked & intents.Guilds) === 0) return
    const threshold = typeof d.large_threshold === 'number' ? d.large_threshold : 50
    for (const guild of guilds) {
      const everybody = guild.listed || ((asked & intents.GuildPresences) !== 0 && guild.members.size <= threshold)
      deliver(session, 'GUILD_CREATE', guildCreate(state, guild, everybody))
    }
  }

  const resume = (connection: Connection, d: Json): void => {
    if (connection.session !== null) return close(connection, 4005)
    if (d.token !== state.token) return close(connection, 4004)
    const session = [...sessions].find(one => one.id === d.session_id && !one.over)
    if (session === undefined) return emit(connection, JSON.stringify({ op: 9, d: false }))
    const from = Number(d.seq)
    if (!Number.isInteger(from) || from > session.log.length) {
      end(session)
      return close(connection, 4007)
    }
    if (session.connection !== null) {
      const former = session.connection
      former.session = null
      former.socket.close(4000, 'Resumed elsewhere.')
    }
    session.connection = connection
    connection.session = session
    for (const payload of session.log.slice(from)) emit(connection, payload)
    deliver(session, 'RESUMED', {})
  }

  const hear = (connection: Connection, raw: RawData): void => {
    const text = String(raw)
    let payload: Json
    try {
      payload = JSON.parse(text) as Json
    } catch {
      return close(connection, 4002)
    }
    if (Buffer.byteLength(text) > 4096 || typeof payload.op !== 'number') return close(connection, 4002)
    const { sentAt } = connection
    const at = performance.now()
    sentAt.push(at)
    while (sentAt[0] !== undefined && sentAt[0] < at - 60_000) sentAt.shift()
    if (sentAt.length > 120) return close(connection, 4008)
    const { op, d } = payload
    if (op === 1) {
      see('heartbeat', connection, d)
      return emit(connection, JSON.stringify({ op: 11 }))
    }
    if (op === 2) {
      see('identify', connection, d)
      return identify(connection, d as Json)
    }
    if (op === 6) {
      see('resume', connection, d)
      return resume(connection, d as Json)
    }
    if (connection.session === null) return close(connection, 4003)
    if (op === 3) return see('presence', connection, d)
    // Voice state, guild members and soundboard: accepted, but not implemented.
    if (op !== 4 && op !== 8 && op !== 31) close(connection, 4001)
  }

  const take = (socket: WebSocket, request: IncomingMessage): void => {
    const connection: Connection = { number: ++opened, socket, sentAt: [], session: null, silent: false }
    const query = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams
    connections.add(connection)
    see('open', connection, { path: request.url })
    socket.on('error', () => socket.terminate())
    socket.on('close', (code: number) => {
      // Closes by the fake itself are recorded already.
      if (connections.delete(connection)) see('close', connection, { code, by: 'bot' })
      const { session } = connection
      if (session === null) return
      session.connection = null
      connection.session = null
      if (session.over || code === 1000 || code === 1001) end(session)
    })
    if (query.get('v') !== '10') return close(connection, 4012)
    if ((query.get('encoding') ?? 'json') !== 'json') return close(connection, 4002)
    socket.on('message', raw => hear(connection, raw))
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: heartbeatMs, _trace: ['loopback'] } }))
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, opening => take(opening, request))
  })

  const live = (): Connection[] => [...connections].filter(connection => connection.session !== null)

  return {
    seen,
    identified: () => identified,
    connected: () => live().length,
    closeAll(code: number, reason: string): void {
      for (const connection of [...connections]) {
        connections.delete(connection)
        see('close', connection, { code, by: 'discord' })
        const { session } = connection
        connection.session = null
        if (session !== null) {
          session.connection = null
          // As on Discord, neither of these can be resumed.
          if (code === 4007 || code === 4009) end(session)
        }
        connection.socket.close(code, reason)
      }
    },
    drop(): void {
      for (const connection of [...connections]) {
        connections.delete(connection)
        see('close', connection, { code: 1006, by: 'discord' })
        if (connection.session !== null) connection.session.connection = null
        connection.session = null
        connection.socket.terminate()
      }
    },
    silence(): void {
      for (const connection of connections) connection.silent = true
    },
    reconnect(): void {
      for (const connection of live()) emit(connection, JSON.stringify({ op: 7, d: null }))
    },
    invalidate(resumable: boolean): void {
      for (const connection of live()) {
        const { session } = connection
        if (session === null) continue
        if (resumable) {
          session.connection = null
          connection.session = null
        } else end(session)
        emit(connection, JSON.stringify({ op: 9, d: resumable }))
      }
    },
    forget(): void {
      for (const session of sessions) {
        if (session.connection === null) end(session)
        else session.over = true
      }
    },
    close(): void {
      for (const connection of connections) connection.socket.terminate()
      sockets.close()
    },
  }
}
