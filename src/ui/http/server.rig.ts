// A test server for this folder, and clients of every kind.
import { connect as connectTcp } from 'node:net'
import WebSocket from 'ws'
import { fakeHttp, type HttpChanges } from '../../../test/fakes/http-options.ts'
import { defaultLimits, type HttpLimits } from './options.ts'
import { openHttp } from './server.ts'

export const token = 'right-token'
export const bearer = { Authorization: `Bearer ${token}` }
const stops: (() => Promise<void>)[] = []

export const closeAll = async (): Promise<void> => {
  for (const stop of stops.splice(0)) await stop()
}

export const open = async ({ limits, ...changes }: HttpChanges & { readonly limits?: Partial<HttpLimits> } = {}) => {
  const stopping = new AbortController()
  const warnings: string[] = []
  const options = fakeHttp({ ...changes, warn: (_, text) => void warnings.push(text) })
  const server = await openHttp(options, { ...defaultLimits, stopMs: 300, ...limits }, stopping.signal)
  const stop = async () => {
    stopping.abort()
    await server.closed
  }
  stops.push(stop)
  /** The cookie of a browser that has opened the link. */
  const login = async (agent = '') => {
    const link = await fetch(`${server.url}/?token=${options.address.token}`, {
      redirect: 'manual',
      headers: { 'User-Agent': agent },
    })
    return link.headers.get('set-cookie')?.split(';')[0] ?? ''
  }
  return { ...server, stop, warnings, login }
}

export const post = (url: string, body: unknown, headers: Record<string, string> = bearer) =>
  fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

/** Sends raw bytes; resolves with everything received until the server closed. */
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
  opened.catch(() => {}) // a test that expects a refusal awaits it
  ws.on('error', () => {}) // tests check refusals through `opened`
  return { ws, opened, closed }
}
