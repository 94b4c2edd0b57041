// The connection to Slack's Socket Mode: stays up, is replaced before Slack ends it, and confirms an envelope once it is handled.
import { WebSocket } from 'ws'
import { aborted } from '../../base/aborted.ts'
import { ChatUnusable } from '../../base/chat.ts'
import type { Chance, Clock } from '../../base/time.ts'
import { badAppToken, socketModeOff, troubleOf } from './errors.ts'
import type { Web } from './web.ts'

export interface Envelope {
  readonly envelope_id: string
  readonly type: string
  readonly payload: unknown
}

export interface SocketParts {
  /** With the app-level token. */
  readonly web: Web
  readonly clock: Clock
  readonly chance: Chance
  /** Resolves with true when it is handled. With false it is not confirmed, so Slack sends it again. */
  handle(envelope: Envelope): Promise<boolean>
  /** A connection is up. `gap`: there was none before it, so something may have been missed. */
  up(gap: boolean): void
  lost(why: string): void
  trouble(why: string): void
}

/** One connection. */
interface Line {
  /** From now on, envelopes are handled. */
  ready(): void
  /** Resolves with the reason when it is closed. */
  readonly ended: Promise<string>
  /** Resolves when Slack wants it replaced. */
  readonly leaving: Promise<void>
  close(): void
}

const pauses = { baseMs: 1000, longestMs: 60_000 }
/** A connection that lasted this long counts as good. */
const lastingMs = 30_000
const pingEveryMs = 10_000
/** Nothing was heard for this long: the connection is dead, even if nobody closed it. */
const silenceMs = 30_000
const helloMs = 15_000
/** For the confirmations of what an old connection still delivers. */
const retireMs = 5000

export function createSocket(parts: SocketParts): { run(signal: AbortSignal): Promise<void> } {
  const { web, clock } = parts
  const disabled = Promise.withResolvers<never>()
  disabled.promise.catch(() => undefined)
  const lines = new Set<Line>()

  async function connect(signal: AbortSignal): Promise<Line> {
    const { url } = await web.call<{ url: string }>('apps.connections.open', {}, signal)
    const socket = new WebSocket(url, { handshakeTimeout: helloMs })
    const hello = Promise.withResolvers<void>()
    const leaving = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<string>()
    /** Envelopes may come in the same packet as the greeting: they wait until others know that we are connected. */
    const ready = Promise.withResolvers<void>()
    const over = new AbortController()
    let heardAt = clock.now()
    const heard = () => {
      heardAt = clock.now()
    }
    socket.on('ping', heard)
    socket.on('pong', heard)
    socket.on('message', data => {
      heard()
      const message = parse(String(data))
      if (message?.type === 'hello') hello.resolve()
      else if (message?.type === 'disconnect') disconnecting(message.reason)
      else if (message && typeof message.envelope_id === 'string')
        void ready.promise.then(() => deliver(socket, message as unknown as Envelope))
    })
    socket.on('error', error => end(error.message))
    socket.on('close', code => end(`closed with ${code}`))

    function disconnecting(reason: unknown): void {
      if (reason === 'link_disabled') return disabled.reject(new ChatUnusable(socketModeOff))
      leaving.resolve()
    }
    function end(why: string): void {
      hello.reject(new Error(why))
      ended.resolve(why)
      over.abort()
    }
    async function watch(): Promise<void> {
      for (; !over.signal.aborted; await clock.sleep(pingEveryMs, over.signal)) {
        if (clock.now() - heardAt >= silenceMs) return socket.terminate()
        if (socket.readyState === WebSocket.OPEN) socket.ping()
      }
    }
    const close = () => {
      if (socket.readyState === WebSocket.OPEN) socket.close(1000)
      void clock.sleep(1000, over.signal).then(() => socket.terminate())
    }
    const stopped = () => socket.terminate()
    const line: Line = { ready: ready.resolve, leaving: leaving.promise, ended: ended.promise, close }
    const timer = clock.sleep(helloMs, over.signal).then(() => hello.reject(new Error('no greeting')))
    signal.addEventListener('abort', stopped, { once: true })
    try {
      await Promise.race([hello.promise, timer.then(() => hello.promise)])
    } catch (error) {
      socket.terminate()
      throw error
    } finally {
      signal.removeEventListener('abort', stopped)
    }
    void watch()
    lines.add(line)
    void line.ended.then(why => {
      lines.delete(line)
      if (lines.size === 0 && !signal.aborted) parts.lost(why)
    })
    return line
  }

  function deliver(socket: WebSocket, envelope: Envelope): void {
    parts.handle(envelope).then(
      done => {
        // If the connection is gone, Slack sends it again.
        if (done && socket.readyState === WebSocket.OPEN)
          socket.send(JSON.stringify({ envelope_id: envelope.envelope_id }))
      },
      error => disabled.reject(error),
    )
  }

  async function keepUp(signal: AbortSignal): Promise<void> {
    for (let tries = 0; !signal.aborted; ) {
      const before = [...lines]
      try {
        const line = await connect(signal)
        const since = clock.now()
        parts.up(lines.size === 1)
        line.ready()
        for (const old of before) void clock.sleep(retireMs, signal).then(old.close)
        const replaced = await Promise.race([line.leaving.then(() => true), line.ended.then(() => false)])
        if (clock.now() - since >= lastingMs || replaced) tries = 0
        // Slack lets go of many apps at once; they should not all come back at the same moment.
        if (!replaced) await clock.sleep(pauseAfter(tries++, parts.chance()), signal)
      } catch (error) {
        if (signal.aborted) return
        const found = troubleOf(error)
        if (found.type === 'token') throw new ChatUnusable(badAppToken, { cause: error })
        parts.trouble(`no connection: ${found.why}`)
        const least = found.type === 'passing' ? found.afterMs : pauses.longestMs
        await clock.sleep(Math.max(least, pauseAfter(++tries, parts.chance())), signal)
      }
    }
  }

  return {
    async run(signal) {
      const ending = new AbortController()
      const life = AbortSignal.any([signal, ending.signal])
      const up = keepUp(life)
      try {
        await Promise.race([aborted(life), disabled.promise, up])
      } finally {
        ending.abort()
        const left = [...lines]
        for (const line of left) line.close()
        await Promise.all(left.map(({ ended }) => ended))
        await up.catch(() => undefined)
      }
    },
  }
}

const pauseAfter = (tries: number, chance: number): number =>
  tries === 0 ? 0 : Math.min(pauses.longestMs, pauses.baseMs * 2 ** Math.min(tries - 1, 10)) * (0.5 + chance / 2)

function parse(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text)
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : null
  } catch {
    return null
  }
}
