// One conversation with a gateway that may go away and come back: reconnects, and says again what was not accepted.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../ports.ts'
import { visit } from './visit.ts'
import type { Frame } from './wire.ts'

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

interface Patience {
  readonly firstPauseMs: number
  readonly longestPauseMs: number
  readonly giveUpAfterMs: number
  readonly helloMs: number
  readonly settledAfterMs: number
}

const usualPatience: Patience = {
  firstPauseMs: 200,
  longestPauseMs: 3_000,
  giveUpAfterMs: 60_000,
  helloMs: 10_000,
  settledAfterMs: 5_000,
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
  let send: ((frame: object) => void) | null = null
  let stopWanted = false

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

  const greeted = (speak: (frame: object) => void): void => {
    send = speak
    for (const [id, message] of open) if (!message.accepted) send({ type: 'message', id, text: message.text })
    if (stopWanted) send({ type: 'stop' })
    stopWanted = false
  }

  const refuseTooLong = (): void => {
    for (const [id, message] of open) {
      if (!message.accepted) listen({ type: 'refused', id, reason: 'the message is too long for the gateway' })
    }
  }

  const visiting = { ...patience, conversation: options.name, greeted, heard: listen }
  const converse = async (): Promise<void> => {
    let pause = patience.firstPauseMs
    let deadline: AbortSignal | null = null
    while (!ending.signal.aborted) {
      const address = await options.where()
      if (ending.signal.aborted) return
      const end = address && (await visit(address, visiting, ending.signal))
      send = null
      if (ending.signal.aborted) return
      if (end?.banned) return heard({ type: 'lost', reason: end.banned })
      if (end?.tooLong) refuseTooLong()
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
      send?.({ type: 'message', id, text })
    },
    cancel: id => send?.({ type: 'cancel', id }),
    stop() {
      if (send) send({ type: 'stop' })
      else stopWanted = true
    },
    connected: () => send !== null,
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

const giveUpReason = (ms: number): string =>
  `the gateway did not come back within ${Math.round(ms / 1_000)} seconds; what it accepted it will still answer (see: npx aetheel status)`
