// A scripted gateway: a real WebSocket server that sends hello and then follows the script of a test.
import { onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Running } from '../../src/ui/cli/ports.ts'

interface ClientFrame {
  readonly type: string
  readonly id: string
  readonly text: string
}
export interface Peer {
  say(...frames: object[]): void
  drop(code?: number): void
}
export type Script = (frame: ClientFrame, peer: Peer, visit: number) => void

interface Gateway {
  readonly at: Running
  readonly heard: ClientFrame[]
  readonly addresses: URL[]
  open(): number
}

export async function scriptedGateway(
  script: Script,
  greet: (peer: Peer, visit: number) => void = () => {},
): Promise<Gateway> {
  const heard: ClientFrame[] = []
  const addresses: URL[] = []
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await new Promise(resolve => server.once('listening', resolve))
  server.on('connection', (socket: WebSocket, request) => {
    const address = new URL(request.url ?? '', 'http://127.0.0.1')
    const visit = addresses.push(address)
    const peer: Peer = {
      say: (...frames) => {
        for (const frame of frames) socket.send(JSON.stringify(frame))
      },
      drop: code => (code === undefined ? socket.terminate() : socket.close(code, 'because')),
    }
    socket.on('message', data => {
      const frame = JSON.parse(String(data)) as ClientFrame
      heard.push(frame)
      script(frame, peer, visit)
    })
    peer.say({ type: 'hello', conversation: address.searchParams.get('conversation') })
    greet(peer, visit)
  })
  onTestFinished(async () => {
    for (const client of server.clients) client.terminate()
    await new Promise(resolve => server.close(resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    at: { pid: 1, url: `http://127.0.0.1:${address.port}`, token: 'tok en' },
    heard,
    addresses,
    open: () => server.clients.size,
  }
}

/** As in production, but it gives up sooner. */
export const littlePatience = {
  firstPauseMs: 20,
  longestPauseMs: 50,
  giveUpAfterMs: 300,
  helloMs: 500,
  settledAfterMs: 100,
}

export const answers =
  (text: string, ok = true): Script =>
  ({ type, id }, peer) => {
    if (type === 'message') peer.say({ type: 'accepted', id }, { type: 'final', id, text, ok })
  }
