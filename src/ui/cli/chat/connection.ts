// One connection to a gateway, from the handshake to its end.
import type { Address } from '../ports.ts'
import { openReceipts } from './receipts.ts'
import { type Frame, readFrame, wholeDrafts } from './wire.ts'

export interface VisitOptions {
  readonly conversation: string
  /** How long to wait for the gateway's hello. */
  readonly helloMs: number
  /** A connection that lasts this long has worked; one that breaks sooner counts as a failed attempt. */
  readonly settledAfterMs: number
  /** The gateway said hello; from now on it accepts frames. */
  greeted(send: (frame: object) => void): void
  received(frame: Frame): void
}

export interface VisitEnd {
  readonly settled: boolean
  /** Why there is no point in reconnecting, or null. */
  readonly banned: string | null
  readonly tooLong: boolean
}

/** Never rejects: a failed connection is a short one. */
export async function visit(address: Address, options: VisitOptions, signal: AbortSignal): Promise<VisitEnd> {
  const query = new URLSearchParams({ token: address.token, conversation: options.conversation, drafts: 'delta' })
  const socket = new WebSocket(`${address.url.replace(/^http/, 'ws')}/ws?${query}`)
  const receipts = openReceipts(socket)
  const whole = wholeDrafts()
  const leave = async (): Promise<void> => {
    await receipts.given()
    socket.close(1000)
  }
  const patience = setTimeout(leave, options.helloMs)
  let settling: NodeJS.Timeout | undefined
  let greeted = false
  let settled = false
  signal.addEventListener('abort', leave)
  socket.addEventListener('message', event => {
    const given = readFrame(event.data)
    if (given === null || signal.aborted) return
    const frame = whole(given)
    receipts.received(frame)
    if (frame.type === 'hello' && !greeted) {
      greeted = true
      clearTimeout(patience)
      settling = setTimeout(() => {
        settled = true
      }, options.settledAfterMs)
      options.greeted(words => socket.send(JSON.stringify(words)))
    }
    settled ||= frame.type !== 'hello' && frame.type !== 'history'
    options.received(frame)
  })
  // A failed connection emits error and then close; close has all we need.
  const end = await new Promise<CloseEvent>(resolve => socket.addEventListener('close', resolve))
  receipts.close()
  clearTimeout(patience)
  clearTimeout(settling)
  signal.removeEventListener('abort', leave)
  const banned = signal.aborted ? null : greeted ? bannedBy(end) : await refusedBy(address)
  return { settled, banned, tooLong: end.code === 1009 }
}

const bannedBy = ({ code, reason }: CloseEvent): string | null =>
  [1002, 1003, 1007, 1008].includes(code) ? `the gateway closed the connection: ${reason || `code ${code}`}` : null

/** A refused handshake does not show its status here, so ask for it. */
async function refusedBy(address: Address): Promise<string | null> {
  try {
    const { status } = await fetch(`${address.url}/api/status`, {
      headers: { authorization: `Bearer ${address.token}` },
      signal: AbortSignal.timeout(2_000),
    })
    return status === 401 || status === 403 ? 'the gateway does not accept our token' : null
  } catch {
    return null // not reachable: it may be restarting
  }
}
