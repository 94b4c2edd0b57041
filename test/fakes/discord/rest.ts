// The REST API: every call is recorded, may be made to fail or wait, and otherwise goes to its route.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Upload } from './body.ts'
import { openLimits } from './limits.ts'
import { matcher } from './match.ts'
import { Refusal, refusal } from './refusal.ts'
import { signedWell } from './shape.ts'
import type { Json, State } from './state.ts'
import type { Failure, Match, RequestSeen } from './types.ts'

export interface Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: unknown
  readonly uploads: readonly Upload[]
}

export interface Route {
  readonly method: string
  readonly path: string
  /** Interactions and webhooks are authorized by their path. */
  readonly open?: boolean
  readonly run: (call: Call) => { readonly status: number; readonly body?: unknown }
}

interface Reply {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const requestMost = 25 * 1024 * 1024
const noSuchRoute = new Refusal(404, { message: '404: Not Found', code: 0 })

const paramsOf = (pattern: string, path: string): Record<string, string> | null => {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [at, step] of wanted.entries()) {
    const value = given[at] ?? ''
    if (step.startsWith(':')) params[step.slice(1)] = decodeURIComponent(value)
    else if (step !== value) return null
  }
  return params
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw refusal(50109)
  }
}

const parse = async (type: string, raw: Buffer): Promise<{ body: unknown; uploads: Upload[] }> => {
  if (raw.length === 0) return { body: null, uploads: [] }
  if (!type.startsWith('multipart/form-data')) return { body: json(raw.toString()), uploads: [] }
  const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData()
  const uploads: Upload[] = []
  let body: unknown = null
  for (const [field, value] of form) {
    if (typeof value !== 'string') {
      const bytes = Buffer.from(await value.arrayBuffer())
      uploads.push({ field, name: value.name, type: value.type === '' ? null : value.type, bytes })
    } else if (field === 'payload_json') body = json(value)
  }
  return { body, uploads }
}

export const openRest = (state: State, routes: () => readonly Route[]) => {
  const requests: Writable<RequestSeen>[] = []
  const failures: { matches: (method: string, path: string) => boolean; left: number; failure: Failure }[] = []
  const limits = openLimits()
  const sockets = new Set<Socket>()
  let offline = false

  const ask = (method: string, path: string, authorization: string, call: Omit<Call, 'params'>): Reply => {
    let otherMethod = false
    for (const route of routes()) {
      const params = paramsOf(route.path, path)
      if (params === null) continue
      otherMethod = true
      if (route.method !== method) continue
      if (route.open !== true && authorization !== `Bot ${state.token}`) throw refusal(0)
      return route.run({ ...call, params })
    }
    throw otherMethod ? new Refusal(405, { message: '405: Method Not Allowed', code: 0 }) : noSuchRoute
  }

  const failureFor = (method: string, path: string): Failure | null => {
    const found = failures.find(one => one.left > 0 && one.matches(method, path))
    if (found === undefined) return null
    found.left--
    return found.failure
  }

  const broken = (failure: Failure): Reply => {
    const status = failure.status ?? 502
    const retry = failure.retryAfter
    if (status === 429) {
      const body = { message: 'You are being rate limited.', retry_after: retry ?? 1, global: false }
      const headers = { 'Retry-After': String(Math.ceil(retry ?? 1)), 'X-RateLimit-Scope': 'shared' }
      return { status, body: failure.body ?? body, headers }
    }
    const body = failure.body ?? { message: `${status}: loopback failure`, code: 0 }
    return { status, body, headers: retry === undefined ? {} : { 'Retry-After': String(retry) } }
  }

  const write = (response: ServerResponse, seen: Writable<RequestSeen>, reply: Reply): void => {
    seen.status = reply.status
    const code = (reply.body as Json | undefined)?.code
    seen.code = reply.status >= 400 && typeof code === 'number' ? code : null
    const type = reply.body === undefined ? {} : { 'content-type': 'application/json' }
    response.writeHead(reply.status, { ...type, ...reply.headers })
    response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body))
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', state.origin())
    if (url.pathname.startsWith('/attachments/')) {
      // Of the simulated failures, only the delay applies to downloads.
      const { delayMs = 0 } = failureFor('GET', url.pathname) ?? {}
      await new Promise(resolve => setTimeout(resolve, delayMs).unref())
      return download(state, url, response)
    }
    const method = request.method ?? 'GET'
    const [, version, rest] = /^\/api\/v(\d+)(\/.*)$/.exec(url.pathname) ?? []
    // The library writes `%40me`.
    const path = (rest ?? url.pathname).replaceAll('%40', '@')
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const seen: Writable<RequestSeen> = {
      method,
      path: `${path}${url.search}`,
      body: null,
      files: [],
      headers,
      at: state.now(),
      status: 0,
      code: null,
    }
    requests.push(seen)
    const raw = await readBody(request)
    const failure = failureFor(method, seen.path)
    const authorization = headers.authorization ?? ''

    const answer = async (): Promise<Reply> => {
      let marks: Readonly<Record<string, string>> = {}
      try {
        if (rest === undefined) throw noSuchRoute
        if (version !== '10') throw refusal(50041)
        if (raw.length > requestMost) throw refusal(40005)
        const { body, uploads } = await parse(headers['content-type'] ?? '', raw)
        seen.body = body
        seen.files = uploads.map(upload => ({ field: upload.field, name: upload.name, bytes: upload.bytes.length }))
        marks = limits.count(method, seen.path, authorization !== '')
        const reply = ask(method, path, authorization, { query: url.searchParams, body, uploads })
        return { ...reply, headers: marks }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return { status: error.status, body: error.body, headers: { ...marks, ...error.headers } }
      }
    }

    const breaks =
      failure !== null && (failure.status !== undefined || failure.hang !== undefined || failure.delayMs === undefined)
    const reply = !breaks || failure.storeFirst === true ? await answer() : null
    if (failure?.delayMs !== undefined) await new Promise(resolve => setTimeout(resolve, failure.delayMs).unref())
    if (breaks && failure.hang === 'cut') request.socket.destroy()
    else if (!breaks || failure.hang !== true) write(response, seen, breaks ? broken(failure) : (reply as Reply))
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error: unknown) => {
      // A bug of the fake: reported loudly, so that no test mistakes it for Discord's behaviour.
      console.error('loopback Discord', error)
      request.socket.destroy()
    })
  }
  const server: Server = createServer(listener)
  server.on('connection', (socket: Socket) => {
    if (offline) return socket.destroy()
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })

  return {
    server,
    serve: listener,
    requests,
    limit: limits.add,
    fail(match: Match, failure: Failure): () => void {
      const one = { matches: matcher(match), left: failure.times ?? 1, failure }
      failures.push(one)
      return () => {
        one.left = 0
      }
    },
    offline(on: boolean): void {
      offline = on
      if (on) for (const socket of sockets) socket.destroy()
    },
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

const download = (state: State, url: URL, response: ServerResponse): void => {
  const [, , channel, id] = url.pathname.split('/')
  const messages = state.channels.get(channel ?? '') === undefined ? [] : [...state.messages.values()]
  const posted = messages.flatMap(message => message.attachments).find(attachment => attachment.id === id)
  const file = posted ?? state.given.get(id ?? '')
  if (file === undefined || !signedWell(state, url)) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('This content is no longer available.')
    return
  }
  response
    .writeHead(200, {
      'content-type': file.type ?? 'application/octet-stream',
      'content-length': String(file.bytes.length),
    })
    .end(file.bytes)
}
