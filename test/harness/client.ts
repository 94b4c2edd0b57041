// A WebChat client over the real socket, written from docs/wire.md like any other program.
import WebSocket from 'ws'
import { token } from './gateway.ts'

export interface Frame {
  readonly type: string
  readonly id?: string
  readonly text?: string
  readonly ok?: boolean
  readonly reason?: string
  readonly position?: number
  readonly label?: string
  readonly phase?: string
  readonly conversation?: string
  readonly messages?: readonly { id: string; role: string; text: string; state: string; ok: boolean }[]
}

export interface Client {
  readonly frames: Frame[]
  readonly socket: WebSocket
  send(frame: object): void
  say(id: string, text: string): void
  /** The first matching frame, past or future. */
  next(fits: (frame: Frame) => boolean, ms?: number): Promise<Frame>
  final(id: string, ms?: number): Promise<Frame>
  readonly closed: Promise<{ code: number; reason: string }>
  close(): Promise<void>
}

/** `heard` listens from the first byte: frames may arrive together with the upgrade response. */
export async function connect(
  url: string,
  conversation?: string,
  heard: (frame: Frame) => void = () => undefined,
): Promise<Client> {
  const query = new URLSearchParams({ token, ...(conversation === undefined ? {} : { conversation }) })
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?${query}`)
  const frames: Frame[] = []
  const waiters = new Set<() => void>()
  socket.on('message', data => {
    const frame = JSON.parse(String(data)) as Frame
    frames.push(frame)
    heard(frame)
    for (const waiter of waiters) waiter()
  })
  const closed = new Promise<{ code: number; reason: string }>(resolve =>
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve)
    socket.on('error', reject)
  })
  socket.on('error', () => undefined)

  const next = (fits: (frame: Frame) => boolean, ms = 20_000) =>
    new Promise<Frame>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.delete(look)
        reject(new Error(`no such frame within ${ms} ms; got ${JSON.stringify(frames).slice(-2000)}`))
      }, ms)
      const look = () => {
        const found = frames.find(fits)
        if (!found) return
        clearTimeout(timer)
        waiters.delete(look)
        resolve(found)
      }
      waiters.add(look)
      look()
    })
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  return {
    frames,
    socket,
    send,
    say: (id, text) => send({ type: 'message', id, text }),
    next,
    final: (id, ms) => next(frame => frame.type === 'final' && frame.id === id, ms),
    closed,
    async close() {
      socket.close()
      await closed
    },
  }
}
