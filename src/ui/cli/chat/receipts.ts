// Receipts for letters: the gateway pings right after each letter and takes the pong for its receipt. Whoever leaves
// before that is told the letter again on the next visit.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Frame } from './wire.ts'

/** The built-in WebSocket answers pings by itself; only on this channel does it tell that it did. */
const channel = 'undici:websocket:ping'

/** Usually it is a millisecond. Also what it takes if a Node does not tell of pings. */
const longestMs = 200

export interface Receipts {
  heard(frame: Frame): void
  /** Resolves once there is a receipt for every letter, or after a moment. */
  given(): Promise<void>
  close(): void
}

export function openReceipts(socket: WebSocket): Receipts {
  let due: PromiseWithResolvers<void> | null = null
  const pinged = (message: unknown): void => {
    const { websocket }: { readonly websocket?: unknown } = Object(message)
    if (websocket !== socket) return
    due?.resolve()
    due = null
  }
  subscribe(channel, pinged)
  return {
    heard(frame) {
      if (isLetter(frame)) due ??= Promise.withResolvers()
    },
    async given() {
      if (due) await Promise.race([due.promise, sleep(longestMs, undefined, { ref: false })])
    },
    close: () => void unsubscribe(channel, pinged),
  }
}

const isLetter = (frame: Frame): boolean =>
  frame.type === 'final' || (frame.type === 'action' && frame.phase === 'notice')
