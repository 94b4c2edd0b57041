// A gateway as a client sees it: a real WebSocket server that says hello and then follows a script.
import { type WebSocket, WebSocketServer } from 'ws'
import type { Running } from '../../src/ui/cli/ports.ts'

export interface ClientFrame {
  readonly type: string
  readonly id: string
  readonly text: string
}
export interface Peer {
  say(...frames: object[]): void
  drop(code?: number): void
}
export type Script = (frame: ClientFrame, peer: Peer, visit: number) => void

export interface Gateway {
  readonly at: Running
  readonly heard: ClientFrame[]
  readonly addresses: URL[]
  open(): number
  close(): Promise<void>
}

export async function scriptedGateway(
  script: Script,
  greet: (peer: Peer, visit: number) => void = () => {},
  port = 0,
): Promise<Gateway> {
  const heard: ClientFrame[] = []
  const addresses: URL[] = []
  const server = new WebSocketServer({ host: '127.0.0.1', port })
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
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    at: { pid: 1, url: `http://127.0.0.1:${address.port}`, token: 'tok en' },
    heard,
    addresses,
    open: () => server.clients.size,
    async close() {
      for (const client of server.clients) client.terminate()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
