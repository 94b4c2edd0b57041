// The HTTP side of the loopback Slack: calls of methods, uploads, downloads, and answers to commands.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Args, Method } from './methods.ts'
import { SlackRefusal } from './refusal.ts'
import type { State } from './state.ts'
import type { Failure, RequestSeen, SlackOptions } from './types.ts'

interface Limit {
  readonly method: string
  readonly most: number
  readonly perMs: number
  readonly times: number[]
}

export interface Address {
  uses: number
  readonly until: number
  readonly responses: { text: string; ephemeral: boolean }[]
}

/** Slack reads these methods' arguments from a form only. */
const formOnly = /^(conversations|users|auth|files)\./

export async function openServer(state: State, methods: () => Readonly<Record<string, Method>>, options: SlackOptions) {
  const requests: RequestSeen[] = []
  const failures: { readonly method: string; readonly failure: Failure; left: number }[] = []
  const limits: Limit[] = []
  const uploads = new Map<string, { readonly name: string; bytes: Buffer | null }>()
  const addresses = new Map<string, Address>()
  const sockets = new Set<Socket>()
  let offline = false

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const raw = await bodyOf(request)
    const [, part = '', name = ''] = url.pathname.split('/')
    if (part === 'api') return call(name, request, raw, response)
    if (part === 'upload') return upload(name, url, raw, response)
    if (part === 'files') return download(name, request, response)
    if (part === 'respond') return respond(name, raw, response)
    response.writeHead(404).end()
  }

  function call(name: string, request: IncomingMessage, raw: Buffer, response: ServerResponse): void {
    const seen: RequestSeen = { method: name, args: argsOf(request, raw), at: state.now(), error: null }
    requests.push(seen)
    const trouble = failures.find(({ method, left }) => method === name && left > 0)
    if (trouble) trouble.left--
    const failure = trouble?.failure
    const body = failure && !failure.storeFirst ? null : answer(name, request, seen)
    if (failure?.cut) return void request.socket.destroy()
    if (failure) seen.error = failure.error ?? String(failure.status ?? 502)
    if (failure?.error !== undefined) return json(response, 200, { ok: false, error: failure.error })
    if (failure) {
      const later = failure.retryAfter === undefined ? {} : { 'retry-after': String(failure.retryAfter) }
      return void response.writeHead(failure.status ?? 502, later).end('<html>upstream error</html>')
    }
    if (body !== null && 'retryAfter' in body) {
      seen.error = 'ratelimited'
      response.setHeader('retry-after', String(body.retryAfter))
      return json(response, 429, { ok: false, error: 'ratelimited' })
    }
    json(response, 200, body ?? {})
  }

  function answer(name: string, request: IncomingMessage, seen: RequestSeen): Record<string, unknown> {
    try {
      const method = methods()[name]
      if (!method || options.without?.includes(name)) throw new SlackRefusal('unknown_method')
      authorize(request.headers.authorization ?? '', method)
      if (formOnly.test(name) && !/form-urlencoded/.test(request.headers['content-type'] ?? 'x'))
        throw new SlackRefusal('invalid_arguments')
      for (const given of Object.keys(seen.args))
        if (!method.takes.includes(given)) throw new SlackRefusal('invalid_arguments', { unknown: given })
      for (const needed of method.needs)
        if (seen.args[needed] === undefined) throw new SlackRefusal('invalid_arguments', { missing: needed })
      const wait = tooFast(name, String(seen.args.channel ?? ''))
      if (wait > 0) return { retryAfter: Math.ceil(wait / 1000) }
      return { ok: true, ...method.answer(seen.args) }
    } catch (error) {
      if (!(error instanceof SlackRefusal)) throw error
      seen.error = error.code
      return { ok: false, error: error.code, ...error.more }
    }
  }

  function authorize(header: string, { app = false }: { readonly app?: boolean }): void {
    const token = /^Bearer (.+)$/.exec(header)?.[1]
    if (token === undefined) throw new SlackRefusal('not_authed')
    if (token === state.tokens[app ? 'bot' : 'app']) throw new SlackRefusal('not_allowed_token_type')
    if (token !== state.tokens[app ? 'app' : 'bot']) throw new SlackRefusal('invalid_auth')
    if (!app && state.revoked !== null) throw new SlackRefusal(state.revoked)
  }

  /** Milliseconds to wait; 0: none. */
  function tooFast(name: string, channel: string): number {
    const now = state.now()
    for (const { method, most, perMs, times } of limits) {
      if (method !== name && method !== `${name} ${channel}`) continue
      const recent = times.filter(at => at > now - perMs)
      if (recent.length >= most) return perMs - (now - (recent[0] ?? now))
      times.splice(0, times.length, ...recent, now)
    }
    return 0
  }

  function upload(id: string, url: URL, raw: Buffer, response: ServerResponse): void {
    if (!uploads.has(id)) return void response.writeHead(404).end()
    uploads.set(id, { name: url.searchParams.get('name') ?? id, bytes: raw })
    response.end(`OK - ${raw.length}`)
  }

  function download(id: string, request: IncomingMessage, response: ServerResponse): void {
    const file = state.files.get(id)
    if (!file) return void response.writeHead(404).end()
    if (request.headers.authorization !== `Bearer ${state.tokens.bot}`)
      return void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Sign in</html>')
    response.writeHead(200, { 'content-type': file.type, 'content-length': String(file.bytes.length) }).end(file.bytes)
  }

  function respond(id: string, raw: Buffer, response: ServerResponse): void {
    const address = addresses.get(id)
    if (!address || address.until < state.now()) return void response.writeHead(404).end('expired_url')
    if (++address.uses > 5) return void response.writeHead(404).end('used_url')
    const { text = '', response_type } = JSON.parse(raw.toString()) as { text?: string; response_type?: string }
    if (text === '') return void response.writeHead(400).end('no_text')
    address.responses.push({ text, ephemeral: response_type !== 'in_channel' })
    response.end('ok')
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // A bug of the fake: said aloud, for no test may take it for Slack's behaviour.
      console.error('loopback Slack', error)
      request.socket.destroy()
    })
  })
  server.on('connection', socket => {
    if (offline) return socket.destroy()
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  state.origin = `http://127.0.0.1:${port}`

  return {
    server,
    port,
    requests,
    addresses,
    uploadUrl(id: string) {
      uploads.set(id, { name: id, bytes: null })
      return `${state.origin}/upload/${id}`
    },
    uploaded: (id: string) => uploads.get(id),
    fail(method: string, failure: Failure = {}): () => void {
      const one = { method, failure, left: failure.times ?? 1 }
      failures.push(one)
      return () => {
        one.left = 0
      }
    },
    /** For a method, or a method and a channel: `chat.postMessage C1`. */
    limit: (method: string, most: number, perMs: number) => void limits.push({ method, most, perMs, times: [] }),
    offline(on: boolean) {
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

const json = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Objects and lists are JSON in a form. */
function argsOf(request: IncomingMessage, raw: Buffer): Args {
  if (request.headers['content-type']?.startsWith('application/json')) return JSON.parse(raw.toString()) as Args
  const args: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(raw.toString()))
    args[name] =
      /^[[{]/.test(value) && ['blocks', 'metadata', 'files', 'view'].includes(name) ? JSON.parse(value) : value
  return args
}
