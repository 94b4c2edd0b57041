// Socket Mode: envelopes to whoever is connected, again if they are not confirmed in time, and lost if nobody is there.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'

export interface EnvelopeSeen {
  readonly id: string
  readonly type: string
  readonly attempt: number
  readonly acknowledgedAfterMs: number | null
}

interface Waiting {
  readonly id: string
  readonly type: string
  readonly payload: object
  attempt: number
  timer: NodeJS.Timeout | null
  readonly sentAt: number
}

const mostAttempts = 4

export function openSocketMode(server: Server, origin: () => string, ackMs: number, repeats: boolean) {
  const wss = new WebSocketServer({ noServer: true })
  const tickets = new Set<string>()
  const lines: WebSocket[] = []
  const waiting = new Map<string, Waiting>()
  const seen: EnvelopeSeen[] = []
  let opened = 0
  let silent = false
  let deaf = false

  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    const ticket = new URL(request.url ?? '', 'http://127.0.0.1').searchParams.get('ticket') ?? ''
    // Each address is good for one connection.
    if (!tickets.delete(ticket)) return void socket.destroy()
    wss.handleUpgrade(request, socket, head, line => accept(line))
  })

  function accept(line: WebSocket): void {
    opened++
    lines.push(line)
    line.on('close', () => lines.splice(lines.indexOf(line), 1))
    line.on('message', data => {
      if (silent || deaf) return
      const { envelope_id: id } = JSON.parse(String(data)) as { envelope_id?: string }
      const one = waiting.get(id ?? '')
      if (!one) return
      if (one.timer) clearTimeout(one.timer)
      waiting.delete(one.id)
      const { type, attempt, sentAt } = one
      seen.push({ id: one.id, type, attempt, acknowledgedAfterMs: performance.now() - sentAt })
    })
    line.send(JSON.stringify({ type: 'hello', num_connections: lines.length, connection_info: { app_id: 'A0000001' } }))
  }

  function send(one: Waiting): void {
    const line = lines.at(-1)
    if (line && !silent) {
      const retry = one.attempt === 0 ? {} : { retry_attempt: one.attempt, retry_reason: 'timeout' }
      const { id: envelope_id, type, payload } = one
      const text = JSON.stringify({
        envelope_id,
        type,
        payload,
        accepts_response_payload: type !== 'events_api',
        ...retry,
      })
      line.send(text)
      if (repeats) line.send(text)
    }
    if (++one.attempt >= mostAttempts) {
      waiting.delete(one.id)
      return void seen.push({ id: one.id, type: one.type, attempt: one.attempt, acknowledgedAfterMs: null })
    }
    one.timer = setTimeout(() => send(one), ackMs)
    one.timer.unref()
  }

  return {
    seen,
    connections: () => lines.length,
    opened: () => opened,
    address() {
      const ticket = randomUUID()
      tickets.add(ticket)
      return `${origin().replace('http', 'ws')}/link?ticket=${ticket}`
    },
    dispatch(type: string, payload: object) {
      if (lines.length === 0) return
      const one = { id: randomUUID(), type, payload, attempt: 0, timer: null, sentAt: performance.now() }
      waiting.set(one.id, one)
      send(one)
    },
    /** `refresh_requested` closes the connection a little later; `warning` only says so. */
    disconnect(reason: 'refresh_requested' | 'warning' | 'link_disabled', afterMs = 500) {
      for (const line of [...lines]) {
        line.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'loop' } }))
        setTimeout(() => line.close(), afterMs).unref()
      }
    },
    drop() {
      for (const line of [...lines]) line.terminate()
    },
    silence(on: boolean) {
      silent = on
    },
    ignore(on: boolean) {
      deaf = on
    },
    close() {
      for (const { timer } of waiting.values()) if (timer) clearTimeout(timer)
      waiting.clear()
      for (const line of [...lines]) line.terminate()
      wss.close()
    },
  }
}
