// The connection to Discord's gateway: stays up, and resumes its session after an interruption or a restart of this process.
import type { REST } from '@discordjs/rest'
import {
  CloseCodes,
  type SessionInfo,
  SimpleShardingStrategy,
  WebSocketManager,
  WebSocketShardEvents,
} from '@discordjs/ws'
import { aborted } from '../../base/aborted.ts'
import { type ChatMemory, ChatUnusable } from '../../base/chat.ts'
import type { Emit } from '../../base/signal.ts'
import type { Chance, Clock } from '../../base/time.ts'
import { within } from '../../base/within.ts'
import { badToken, closedForGood, troubleOf } from './errors.ts'

export interface Dispatch {
  /** The connection it came from, starting at 0. */
  readonly shard: number
  readonly t: string
  readonly s: number
  readonly d: unknown
  /** It happened while this connection was down. */
  readonly missed: boolean
}

export interface ConnectionParts {
  readonly rest: REST
  readonly token: string
  readonly intents: number
  readonly memory: ChatMemory
  readonly clock: Clock
  readonly chance: Chance
  readonly emit: Emit
  /** Resolves with true when the event is handled; with false, Discord must send it again after the next start. */
  handle(event: Dispatch): Promise<boolean>
  /** Called when there is new progress to save. */
  progressed(): void
}

export interface Connection {
  /** Runs until the signal; rejects with `ChatUnusable` if Discord refuses the bot. */
  run(signal: AbortSignal): Promise<void>
  /** Saves how far we have got. */
  save(): void
}

/** One connection. Discord asks large bots to open several. */
interface Line {
  session: SessionInfo | null
  progress: Progress
  up: boolean
  /** Events are current. False until all missed events have been replayed. */
  live: boolean
  upSince: number
  /** Attempts since the last connection that lasted. */
  tries: number
  /** The network failed, not Discord: the session is still valid. */
  broken: boolean
}

const pauses = { baseMs: 1000, longestMs: 300_000, withoutNetworkMs: 60_000 }
/** A connection that lasted this long counts as good. */
const lastingMs = 60_000
/** After this many attempts over a failing network, a new session starts, perhaps at another address. */
const triesWithSession = 6
/** How long shutdown waits for all connections to close. */
const closeAllMs = 2000
/** How long a connection gets to answer a close frame. A dead one never does. */
const closeOneMs = 3000

export function createConnection(parts: ConnectionParts): Connection {
  const { memory, clock, emit, intents } = parts
  const lines = new Map<number, Line>()
  let leaving = false
  let refused = false
  let over: AbortSignal = new AbortController().signal
  let strategy: SimpleShardingStrategy | null = null
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)

  const trouble = (why: string) => emit({ type: 'chat-trouble', chat: 'discord', why })

  const lineOf = (shard: number): Line => {
    const known = lines.get(shard)
    if (known) return known
    const session = recall(memory.get(nameOf(shard)), intents)
    const line: Line = {
      ...{ session, progress: openProgress(session?.sequence ?? 0) },
      ...{ up: false, live: false, upSince: 0, tries: 0, broken: false },
    }
    lines.set(shard, line)
    return line
  }

  /** The library reconnects by itself, immediately and for ever. It asks for the session first, so the pause is here. */
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
      // On shutdown the library drops the session, but the next start should resume it.
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
    line.live = false
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
    emit({ type: 'chat-lost', chat: 'discord', why: `closed with ${code}` })
  })
  manager.on(WebSocketShardEvents.Error, error => {
    if (!leaving && !refused) trouble(error.message)
  })
  manager.on(WebSocketShardEvents.Debug, (message, shard) => {
    if (message.startsWith('Destroying shard')) void terminateDeadLine(shard)
  })
  manager.on(WebSocketShardEvents.Dispatch, (payload, shard) => {
    const line = lineOf(shard)
    const { progress } = line
    line.live ||= payload.t === 'READY' || payload.t === 'RESUMED'
    progress.began(payload.s)
    parts.handle({ ...payload, shard, missed: !line.live }).then(
      done => {
        if (!done) return
        progress.ended(payload.s)
        parts.progressed()
      },
      error => failed.reject(error),
    )
  })

  /** The library waits half a minute for a close frame that never comes. */
  async function terminateDeadLine(shard: number): Promise<void> {
    const socket = socketOf(strategy, shard)
    await clock.sleep(closeOneMs, over)
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
      // A session whose first events are not handled yet cannot be resumed: they are not replayed.
      const worth = session !== null && sequence > 0
      memory.put(nameOf(shard), worth ? JSON.stringify({ ...session, sequence, intents }) : null)
    }
  }

  return {
    save,
    async run(signal) {
      over = signal
      try {
        const stopped = aborted(signal)
        await Promise.race([stopped, failed.promise, connect().then(() => stopped)])
      } finally {
        leaving = true
        const sockets = [...lines.keys()].map(shard => socketOf(strategy, shard))
        // With a code other than 1000 the session stays valid for a while, and the next start resumes it.
        const closed = Promise.resolve(manager.destroy({ code: CloseCodes.Resuming, reason: 'back soon' }))
        await within(
          closed.catch(error => trouble(String(error))),
          closeAllMs,
          clock,
        )
        for (const socket of sockets) socket?.terminate()
      }
    },
  }
}

const nameOf = (shard: number): string => `session:${shard}`

/** For callers that ask after shutdown: never resolves. */
const stayAway = () => new Promise<never>(() => undefined)

function recall(text: string | null, intents: number): SessionInfo | null {
  if (text === null) return null
  const { intents: before, ...session } = JSON.parse(text) as SessionInfo & { readonly intents: number }
  // A session keeps the intents it started with; different intents need a new session.
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

/** The library does not expose its sockets, but a dead one must be terminated. */
function socketOf(strategy: SimpleShardingStrategy | null, shard: number): RawSocket | null {
  const shards: unknown = strategy && Reflect.get(strategy, 'shards')
  const one: unknown = shards instanceof Map ? shards.get(shard) : null
  const socket: unknown = typeof one === 'object' && one !== null ? Reflect.get(one, 'connection') : null
  return socket !== null && typeof socket === 'object' && 'terminate' in socket ? (socket as RawSocket) : null
}

export interface Progress {
  began(number: number): void
  ended(number: number): void
  /** Everything up to here has been handled. */
  reached(): number
}

export function openProgress(from: number): Progress {
  const open = new Set<number>()
  let highest = from
  return {
    began(number) {
      open.add(number)
      highest = Math.max(highest, number)
    },
    ended: number => void open.delete(number),
    reached: () => (open.size === 0 ? highest : Math.min(highest, ...open) - 1),
  }
}
