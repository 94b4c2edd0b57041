// One conversation with a gateway that may go away and come back: reconnects, and says again what was not accepted.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../ports.ts'
import { type Frame, readFrame } from './wire.ts'

export type Heard =
  | Frame
  | { readonly type: 'disconnected' }
  /** Nothing more will come: we gave up, or the gateway will not have us. */
  | { readonly type: 'lost'; readonly reason: string }

export interface Conversation {
  /** The id makes a repeat harmless; it is repeated until the gateway has accepted it. */
  say(id: string, text: string): void
  /** Takes back a message that still waits. */
  cancel(id: string): void
  /** Ends the running turn; asked for while away, it is sent on return. */
  stop(): void
  connected(): boolean
  close(): Promise<void>
}

export interface Patience {
  readonly firstPauseMs: number
  readonly longestPauseMs: number
  readonly giveUpAfterMs: number
  /** How long to wait for the gateway's hello. */
  readonly helloMs: number
  /** A connection this old has worked; one that breaks sooner counts as a failed attempt. */
  readonly settledAfterMs: number
}

const usualPatience: Patience = {
  firstPauseMs: 200,
  longestPauseMs: 3_000,
  giveUpAfterMs: 60_000,
  helloMs: 10_000,
  settledAfterMs: 5_000,
}

interface Visit {
  readonly greeted: boolean
  readonly settled: boolean
  readonly code: number
  readonly reason: string
}

export interface ConversationOptions {
  readonly name: string
  /** Asked before every attempt: a restarted gateway may answer elsewhere. Null: it is not there now. */
  where(): Promise<Address | null>
  readonly patience?: Partial<Patience>
}

export function openConversation(options: ConversationOptions, heard: (heard: Heard) => void): Conversation {
  const patience = { ...usualPatience, ...options.patience }
  const ending = new AbortController()
  const open = new Map<string, { readonly text: string; accepted: boolean }>()
  const ended = new Set<string>()
  let socket: WebSocket | null = null
  let stopWanted = false

  const send = (frame: object): void => socket?.send(JSON.stringify(frame))

  const listen = (frame: Frame): void => {
    if (frame.type === 'history') for (const end of endsIn(frame, open)) listen(end)
    if (frame.type === 'accepted') {
      const message = open.get(frame.id)
      if (message) message.accepted = true
    }
    if (frame.type === 'final' || frame.type === 'refused') {
      if (ended.has(frame.id)) return
      if (open.delete(frame.id)) ended.add(frame.id)
    }
    heard(frame)
  }

  const greet = (connected: WebSocket): void => {
    socket = connected
    for (const [id, message] of open) if (!message.accepted) send({ type: 'message', id, text: message.text })
    if (stopWanted) send({ type: 'stop' })
    stopWanted = false
  }

  const visit = (address: Address): Promise<Visit> =>
    new Promise(resolve => {
      const query = new URLSearchParams({ token: address.token, conversation: options.name })
      const connected = new WebSocket(`${address.url.replace(/^http/, 'ws')}/ws?${query}`)
      const leave = (): void => connected.close()
      let greeted = false
      let settled = false
      const patienceOver = setTimeout(leave, patience.helloMs)
      let settling: NodeJS.Timeout | undefined
      ending.signal.addEventListener('abort', leave)
      connected.addEventListener('message', event => {
        const frame = readFrame(event.data)
        if (frame === null || ending.signal.aborted) return
        if (frame.type === 'hello' && !greeted) {
          greeted = true
          clearTimeout(patienceOver)
          settling = setTimeout(() => (settled = true), patience.settledAfterMs)
          greet(connected)
        }
        settled ||= frame.type !== 'hello' && frame.type !== 'history'
        listen(frame)
      })
      // A failed connection is an error and then a close; the close alone tells all.
      connected.addEventListener('close', event => {
        clearTimeout(patienceOver)
        clearTimeout(settling)
        ending.signal.removeEventListener('abort', leave)
        socket = null
        resolve({ greeted, settled, code: event.code, reason: event.reason })
      })
    })

  const refuseTooLong = (): void => {
    for (const [id, message] of open) {
      if (!message.accepted) listen({ type: 'refused', id, reason: 'the message is too long for the gateway' })
    }
  }

  const converse = async (): Promise<void> => {
    let pause = patience.firstPauseMs
    let deadline: AbortSignal | null = null
    while (!ending.signal.aborted) {
      const address = await options.where()
      const end = address && !ending.signal.aborted ? await visit(address) : null
      if (ending.signal.aborted) return
      if (end?.code === 1009) refuseTooLong()
      const final = end && address ? await finalWord(end, address) : null
      if (final !== null) return heard({ type: 'lost', reason: final })
      if (end?.settled) {
        pause = patience.firstPauseMs
        deadline = null
      }
      deadline ??= AbortSignal.timeout(patience.giveUpAfterMs)
      if (deadline.aborted) return heard({ type: 'lost', reason: giveUpReason(patience.giveUpAfterMs) })
      heard({ type: 'disconnected' })
      await sleep(pause, undefined, { signal: ending.signal }).catch(() => 'closed meanwhile')
      pause = Math.min(pause * 1.7, patience.longestPauseMs)
    }
  }
  const over = converse().catch((error: unknown) =>
    heard({ type: 'lost', reason: error instanceof Error ? error.message : String(error) }),
  )

  return {
    say(id, text) {
      open.set(id, { text, accepted: false })
      send({ type: 'message', id, text })
    },
    cancel: id => send({ type: 'cancel', id }),
    stop() {
      if (socket) send({ type: 'stop' })
      else stopWanted = true
    },
    connected: () => socket !== null,
    async close() {
      ending.abort()
      // A gateway that hangs does not hold us: the closing handshake gets a moment, no more.
      await Promise.race([over, sleep(1_000, undefined, { ref: false })])
    },
  }
}

/** Ends of our messages that came while we were away and that only the history still tells. */
function endsIn(history: Extract<Frame, { type: 'history' }>, open: ReadonlyMap<string, unknown>): Frame[] {
  return history.messages.flatMap((message): Frame[] => {
    const { id, role, text, state } = message
    if (!open.has(id)) return []
    if (role === 'agent' && (state === 'answered' || state === 'failed')) {
      return [{ type: 'final', id, text, ok: state === 'answered' }]
    }
    if (role !== 'user') return []
    return [state === 'refused' ? { type: 'refused', id, reason: 'it was refused' } : { type: 'accepted', id }]
  })
}

/** Why there is no point in trying again, or null. A refused handshake has no status here, so it is asked for. */
async function finalWord(end: Visit, address: Address): Promise<string | null> {
  if ([1002, 1003, 1007, 1008].includes(end.code)) {
    return `the gateway closed the connection: ${end.reason || `code ${end.code}`}`
  }
  if (end.greeted) return null
  try {
    const { status } = await fetch(`${address.url}/api/status`, {
      headers: { authorization: `Bearer ${address.token}` },
      signal: AbortSignal.timeout(2_000),
    })
    return status === 401 || status === 403 ? 'the gateway does not accept our token' : null
  } catch {
    return null // nobody there: it may be restarting
  }
}

const giveUpReason = (ms: number): string =>
  `the gateway did not come back within ${Math.round(ms / 1_000)} seconds; what it accepted it will still answer (see: aetheel status)`
