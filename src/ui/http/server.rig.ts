// A server of our own for the tests of this folder, and clients of every kind for it.
import { connect as connectTcp } from 'node:net'
import { resolve } from 'node:path'
import WebSocket from 'ws'
import { noPairing } from '../../../test/fakes/no-pairing.ts'
import type { HttpOptions } from './options.ts'
import { openHttp } from './server.ts'

const root = resolve(import.meta.dirname, '../../..')
export const token = 'right-token'
export const bearer = { Authorization: `Bearer ${token}` }
const stops: (() => Promise<void>)[] = []

export const closeAll = async (): Promise<void> => {
  for (const stop of stops.splice(0)) await stop()
}

export const open = async (changes: Partial<HttpOptions> = {}) => {
  const stopping = new AbortController()
  const warnings: string[] = []
  const options: HttpOptions = {
    host: '127.0.0.1',
    port: 0,
    token,
    webDir: resolve(root, 'web'),
    modulesDir: resolve(root, 'node_modules'),
    version: '1.2.3',
    ready: () => true,
    status: async () => ({ pid: 7 }),
    metrics: async () => 'aetheel_up 1\n',
    connect: () => {},
    newConversation: () => 'fresh',
    message: async ({ id, conversation }) => ({ type: 'accepted', id, conversation, position: 0 }),
    pairing: noPairing,
    warn: (_, text) => void warnings.push(text),
    ...changes,
    limits: { stopMs: 300, ...changes.limits },
  }
  const server = await openHttp(options, stopping.signal)
  const stop = async () => {
    stopping.abort()
    await server.closed
  }
  stops.push(stop)
  return { ...server, stop, warnings }
}

export const post = (url: string, body: unknown, headers: Record<string, string> = bearer) =>
  fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

/** Sends bytes as they are; resolves with everything that came back until the server closed. */
export const raw = (port: number, bytes: string | Buffer): Promise<string> =>
  new Promise((done, fail) => {
    let got = ''
    const stream = connectTcp(port, '127.0.0.1', () => stream.write(bytes))
    stream.on('data', chunk => {
      got += chunk
    })
    stream.on('close', () => done(got))
    stream.on('error', error => (got === '' ? fail(error) : done(got)))
  })

export const client = (url: string, options: WebSocket.ClientOptions = { headers: bearer }) => {
  const ws = new WebSocket(url.replace('http', 'ws'), options)
  const opened = new Promise<void>((done, fail) => {
    ws.once('open', done)
    ws.once('error', fail)
  })
  const closed = new Promise<{ code: number; reason: string }>(done =>
    ws.once('close', (code, reason) => done({ code, reason: reason.toString() })),
  )
  opened.catch(() => {}) // whoever expects a refusal looks at it
  ws.on('error', () => {}) // a refusal is looked at through `opened`
  return { ws, opened, closed }
}
