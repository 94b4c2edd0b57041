// The line to Discord's gateway: kept up, taken up again where it broke off, also after a restart of this process.
import type { REST } from '@discordjs/rest'
import {
  CloseCodes,
  type SessionInfo,
  SimpleShardingStrategy,
  WebSocketManager,
  WebSocketShardEvents,
} from '@discordjs/ws'
import { type ChatMemory, ChatUnusable } from '../../base/chat.ts'
import type { Tell } from '../../base/signal.ts'
import type { Chance, Clock } from '../../base/time.ts'
import { within } from './patience.ts'
import { openProgress, type Progress } from './progress.ts'
import { badToken, closedForGood, troubleOf } from './trouble.ts'

export interface Dispatch {
  /** The connection that told it, from 0. */
  readonly shard: number
  readonly t: string
  readonly s: number
  readonly d: unknown
}

export interface ConnectionParts {
  readonly rest: REST
  readonly token: string
  readonly intents: number
  readonly memory: ChatMemory
  readonly clock: Clock
  readonly chance: Chance
  readonly tell: Tell
  /** Resolves when the event need not be told again: with false, it is to come once more after the next start. */
  heed(event: Dispatch): Promise<boolean>
  /** Called when there is something new to save. */
  progressed(): void
}

export interface Connection {
  /** Until the signal; rejects with `ChatUnusable` when Discord will not have us. */
  run(signal: AbortSignal): Promise<void>
  /** Writes down how far we have got. */
  save(): void
}

/** One connection of possibly several (Discord asks large bots to open more). */
interface Line {
  session: SessionInfo | null
  progress: Progress
  up: boolean
  upSince: number
  /** Connections since the last one that lasted. */
  tries: number
  /** The network failed, not Discord: the session is still good. */
  broken: boolean
}

const pauses = { baseMs: 1000, longestMs: 300_000, withoutNetworkMs: 60_000 }
/** A connection that lasted this long was a good one. */
const lastingMs = 60_000
/** So often a session is tried over a network that fails; then a new one begins, perhaps at another address. */
const triesWithSession = 6
const goodbyeMs = 2000
/** A dead line does not answer the farewell either. */
const farewellMs = 3000

export function openConnection(parts: ConnectionParts): Connection {
  const { memory, clock, tell, intents } = parts
  const lines = new Map<number, Line>()
  let leaving = false
  let refused = false
  let over: AbortSignal = new AbortController().signal
  let strategy: SimpleShardingStrategy | null = null
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)

  const trouble = (why: string) => tell({ type: 'chat-trouble', chat: 'discord', why })

  const lineOf = (shard: number): Line => {
    const known = lines.get(shard)
    if (known) return known
    const session = recall(memory.get(nameOf(shard)), intents)
    const line: Line = {
      ...{ session, progress: openProgress(session?.sequence ?? 0) },
      ...{ up: false, upSince: 0, tries: 0, broken: false },
    }
    lines.set(shard, line)
    return line
  }

  /** The library connects again by itself, at once and for ever; it asks here first, so this is where it has to wait. */
  async function beforeConnecting(line: Line): Promise<SessionInfo | null> {
    await clock.sleep(pauseBefore(line, parts.chance()), over)
    if (leaving || over.aborted) return stayAway()
    line.tries++
    return line.session
  }

  const manager = new WebSocketManager({
    token: parts.token,
    intents,
    rest: parts.rest,
    buildStrategy(of) {
      strategy = new SimpleShardingStrategy(of)
      return strategy
    },
    retrieveSessionInfo(shard) {
      if (leaving) return stayAway()
      const line = lineOf(shard)
      return line.up ? line.session : beforeConnecting(line)
    },
    updateSessionInfo(shard, session) {
      // When we leave, the library drops the session; but it is to go on after the next start.
      if (leaving) return
      const line = lineOf(shard)
      if (session === null && line.broken && line.tries < triesWithSession) return
      if (session !== null && session.sessionId !== line.session?.sessionId)
        line.progress = openProgress(session.sequence - 1)
      line.session = session
      if (session === null) memory.put(nameOf(shard), null)
    },
  })

  manager.on(WebSocketShardEvents.Hello, shard => {
    const line = lineOf(shard)
    line.up = true
    line.upSince = clock.now()
    line.broken = false
  })
  manager.on(WebSocketShardEvents.SocketError, (error, shard) => {
    lineOf(shard).broken = true
    trouble(`the connection failed: ${error?.message ?? 'unknown'}`)
  })
  manager.on(WebSocketShardEvents.Closed, (code, shard) => {
    if (leaving) return
    const line = lineOf(shard)
    if (line.up && clock.now() - line.upSince >= lastingMs) line.tries = 0
    line.up = false
    const forGood = closedForGood.get(code)
    refused = forGood !== undefined
    if (forGood !== undefined) return failed.reject(new ChatUnusable(forGood))
    tell({ type: 'chat-lost', chat: 'discord', why: `closed with ${code}` })
  })
  manager.on(WebSocketShardEvents.Error, error => {
    if (!leaving && !refused) trouble(error.message)
  })
  manager.on(WebSocketShardEvents.Debug, (message, shard) => {
    if (message.startsWith('Destroying shard')) void cutDeadLine(shard)
  })
  manager.on(WebSocketShardEvents.Dispatch, (payload, shard) => {
    const { progress } = lineOf(shard)
    progress.began(payload.s)
    parts.heed({ ...payload, shard }).then(
      done => {
        if (!done) return
        progress.ended(payload.s)
        parts.progressed()
      },
      error => failed.reject(error),
    )
  })

  /** The library waits half a minute for a farewell that never comes. */
  async function cutDeadLine(shard: number): Promise<void> {
    const socket = socketOf(strategy, shard)
    await clock.sleep(farewellMs, over)
    if (socket?.readyState === 2) socket.terminate()
  }

  async function connect(): Promise<void> {
    for (let tries = 0; !over.aborted; tries++) {
      try {
        return await manager.connect()
      } catch (error) {
        if (leaving || refused) return
        const found = troubleOf(error)
        if (found.type === 'token') throw new ChatUnusable(badToken, { cause: error })
        trouble(found.why)
        const pause = Math.min(pauses.withoutNetworkMs, pauses.baseMs * 2 ** Math.min(tries, 10))
        await clock.sleep(Math.max(pause, found.type === 'passing' ? found.afterMs : 0), over)
      }
    }
  }

  const save = () => {
    for (const [shard, { session, progress }] of lines) {
      const sequence = progress.reached()
      // A session whose very beginning is not dealt with yet cannot be gone on with: that is not told again.
      const worth = session !== null && sequence > 0
      memory.put(nameOf(shard), worth ? JSON.stringify({ ...session, sequence, intents }) : null)
    }
  }

  return {
    save,
    async run(signal) {
      over = signal
      try {
        const gone = aborted(signal)
        await Promise.race([gone, failed.promise, connect().then(() => gone)])
      } finally {
        leaving = true
        const sockets = [...lines.keys()].map(shard => socketOf(strategy, shard))
        // With a code other than 1000 the session stays good for a while, and the next start takes it up.
        const closed = Promise.resolve(manager.destroy({ code: CloseCodes.Resuming, reason: 'back soon' }))
        await within(
          closed.catch(error => trouble(String(error))),
          goodbyeMs,
          clock,
        )
        for (const socket of sockets) socket?.terminate()
      }
    },
  }
}

const nameOf = (shard: number): string => `session:${shard}`

/** For what asks again after we have left: nothing is to come of it. */
const stayAway = () => new Promise<never>(() => undefined)

function recall(text: string | null, intents: number): SessionInfo | null {
  if (text === null) return null
  const { intents: before, ...session } = JSON.parse(text) as SessionInfo & { readonly intents: number }
  // A session goes on with what it was begun for; who now wants to hear more or less needs a new one.
  return before === intents ? session : null
}

function pauseBefore({ tries, broken }: Line, chance: number): number {
  if (tries < 2) return 0
  const longest = broken ? pauses.withoutNetworkMs : pauses.longestMs
  return Math.min(longest, pauses.baseMs * 2 ** Math.min(tries - 2, 20)) * (0.75 + chance / 2)
}

interface RawSocket {
  readonly readyState: number
  terminate(): void
}

/** The library does not hand out its sockets; a dead one must be cut all the same. */
function socketOf(strategy: SimpleShardingStrategy | null, shard: number): RawSocket | null {
  const shards: unknown = strategy && Reflect.get(strategy, 'shards')
  const one: unknown = shards instanceof Map ? shards.get(shard) : null
  const socket: unknown = typeof one === 'object' && one !== null ? Reflect.get(one, 'connection') : null
  return socket !== null && typeof socket === 'object' && 'terminate' in socket ? (socket as RawSocket) : null
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
