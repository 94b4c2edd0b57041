// One connection to a gateway, from the handshake to its end.
import type { Address } from '../ports.ts'
import { openReceipts } from './receipts.ts'
import { type Frame, readFrame } from './wire.ts'

export interface VisitOptions {
  readonly conversation: string
  /** How long to wait for the gateway's hello. */
  readonly helloMs: number
  /** A connection this old has worked; one that breaks sooner counts as a failed attempt. */
  readonly settledAfterMs: number
  /** The gateway said hello; from now on it can be spoken to. */
  greeted(send: (frame: object) => void): void
  heard(frame: Frame): void
}

export interface VisitEnd {
  readonly settled: boolean
  /** Why there is no point in coming again, or null. */
  readonly banned: string | null
  readonly tooLong: boolean
}

/** Never fails: a connection that could not be made is a short visit. */
export async function visit(address: Address, options: VisitOptions, signal: AbortSignal): Promise<VisitEnd> {
  const query = new URLSearchParams({ token: address.token, conversation: options.conversation })
  const socket = new WebSocket(`${address.url.replace(/^http/, 'ws')}/ws?${query}`)
  const receipts = openReceipts(socket)
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
    const frame = readFrame(event.data)
    if (frame === null || signal.aborted) return
    receipts.heard(frame)
    if (frame.type === 'hello' && !greeted) {
      greeted = true
      clearTimeout(patience)
      settling = setTimeout(() => {
        settled = true
      }, options.settledAfterMs)
      options.greeted(words => socket.send(JSON.stringify(words)))
    }
    settled ||= frame.type !== 'hello' && frame.type !== 'history'
    options.heard(frame)
  })
  // A failed connection is an error and then a close; the close alone tells all.
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

/** A refused handshake does not tell its status here, so it is asked for. */
async function refusedBy(address: Address): Promise<string | null> {
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
