// A conversation with a gateway that may restart: reconnects, and resends messages that were not accepted.

import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../base/unknown.ts'
import type { Address } from '../ports.ts'
import { visit } from './connection.ts'
import type { Frame } from './wire.ts'

export type ConversationEvent =
  | Frame
  | { readonly type: 'disconnected' }
  /** Nothing more will come: we gave up, or the gateway refused us. */
  | { readonly type: 'lost'; readonly reason: string }

export interface Conversation {
  /** Sent until the gateway has accepted it; the id makes repeats harmless. */
  say(id: string, text: string): void
  /** Cancels a message that is still waiting. */
  cancel(id: string): void
  /** Stops the running turn. If disconnected, it is sent after reconnecting. */
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
  /** Called before every attempt, since a restarted gateway may have another address. Null if it is not running now. */
  where(): Promise<Address | null>
  readonly patience?: Partial<Patience>
}

export function openConversation(
  options: ConversationOptions,
  received: (received: ConversationEvent) => void,
): Conversation {
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
    received(frame)
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

  const visiting = { ...patience, conversation: options.name, greeted, received: listen }
  const converse = async (): Promise<void> => {
    let pause = patience.firstPauseMs
    let deadline: AbortSignal | null = null
    while (!ending.signal.aborted) {
      const address = await options.where()
      if (ending.signal.aborted) return
      const end = address && (await visit(address, visiting, ending.signal))
      send = null
      if (ending.signal.aborted) return
      if (end?.banned) return received({ type: 'lost', reason: end.banned })
      if (end?.tooLong) refuseTooLong()
      if (end?.settled) {
        pause = patience.firstPauseMs
        deadline = null
      }
      deadline ??= AbortSignal.timeout(patience.giveUpAfterMs)
      if (deadline.aborted) return received({ type: 'lost', reason: giveUpReason(patience.giveUpAfterMs) })
      received({ type: 'disconnected' })
      await sleep(pause, undefined, { signal: ending.signal }).catch(() => 'closed meanwhile')
      pause = Math.min(pause * 1.7, patience.longestPauseMs)
    }
  }
  const over = converse().catch((error: unknown) => received({ type: 'lost', reason: errorText(error) }))

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
      // A gateway that hangs must not hold us: the closing handshake gets one second.
      await Promise.race([over, sleep(1_000, undefined, { ref: false })])
    },
  }
}

/** Results of our messages that arrived while we were disconnected, taken from the history. */
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
  `the gateway did not come back within ${Math.round(ms / 1_000)} seconds; it will still answer what it has accepted (see: npx aetheel status)`
