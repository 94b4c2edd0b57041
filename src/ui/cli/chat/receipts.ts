// Receipts for deliveries: the gateway pings right after each delivery and takes the pong as its receipt. A client that
// leaves before that gets the delivery again when it next connects.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Frame } from './wire.ts'

/** The built-in WebSocket answers pings by itself; only this diagnostics channel shows that it did. */
const channel = 'undici:websocket:ping'

/** Usually a millisecond. Also the wait if this Node does not report pings. */
const longestMs = 200

export interface Receipts {
  received(frame: Frame): void
  /** Resolves once every delivery has its receipt, or after a moment. */
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
    received(frame) {
      if (isDelivery(frame)) due ??= Promise.withResolvers()
    },
    async given() {
      if (due) await Promise.race([due.promise, sleep(longestMs, undefined, { ref: false })])
    },
    close: () => void unsubscribe(channel, pinged),
  }
}

const isDelivery = (frame: Frame): boolean =>
  frame.type === 'final' || (frame.type === 'action' && frame.phase === 'notice')
