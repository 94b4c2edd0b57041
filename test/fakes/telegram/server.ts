// The HTTP side of the loopback Telegram: tokens, parameters, long polling, and everything that can go wrong on the way.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parameters } from './checks.ts'
import type { Method, Uploaded } from './methods.ts'
import { bad, bodyOf, Refusal } from './refusal.ts'
import type { Json, State } from './state.ts'
import type { Failure, RequestSeen } from './types.ts'

export async function openServer(state: State, methods: Readonly<Record<string, Method>>) {
  const seen: RequestSeen[] = []
  const failures: { readonly method: string; readonly failure: Failure; left: number }[] = []
  let offline = false
  let poll: { abort(): void } | null = null
  const waiting = new Set<() => void>()
  state.wake = () => {
    for (const wake of waiting) wake()
  }

  /** Confirms everything before the offset, and waits for something to tell. */
  async function getUpdates(
    { offset = 0, limit = 100, timeout = 0 }: Json,
    request: IncomingMessage,
  ): Promise<unknown> {
    if (state.webhook !== '')
      throw new Refusal(409, "can't use getUpdates method while webhook is active; use deleteWebhook")
    poll?.abort()
    let replaced = false
    const mine = {
      abort() {
        replaced = true
        state.wake()
      },
    }
    poll = mine
    const before = state.updates.filter(one => Number(one.update_id) < Number(offset))
    for (const one of before) state.updates.splice(state.updates.indexOf(one), 1)
    const until = performance.now() + Number(timeout) * 1000
    while (
      state.updates.length === 0 &&
      performance.now() < until &&
      !replaced &&
      !request.socket.destroyed &&
      !offline
    ) {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.add(resolve)
      const timer = setTimeout(resolve, Math.min(1000, until - performance.now()))
      request.socket.once('close', resolve)
      await promise
      clearTimeout(timer)
      request.socket.off('close', resolve)
      waiting.delete(resolve)
    }
    if (poll === mine) poll = null
    if (replaced)
      throw new Refusal(409, 'terminated by other getUpdates request; make sure that only one bot instance is running')
    return state.updates.slice(0, Number(limit))
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (offline) return void request.socket.destroy()
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
    const [, prefix = '', token = '', rest = ''] = /^\/(file\/)?bot([^/]+)\/(.+)$/.exec(pathname) ?? []
    const reply = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const refuse = (refusal: Refusal) => reply(refusal.code, bodyOf(refusal))
    if (token !== state.token) return refuse(new Refusal(/^\d+:[\w-]{10,}$/.test(token) ? 401 : 404, ''))
    if (prefix === 'file/') {
      const file = [...state.files.values()].find(one => one.path === rest)
      return file ? void response.writeHead(200).end(file.bytes) : refuse(new Refusal(404, ''))
    }
    const planned = failures.find(one => one.method === rest && one.left > 0)
    try {
      const { payload, files } = await read(request)
      seen.push({ method: rest, payload, at: performance.now() })
      if (planned) planned.left--
      if (planned && !planned.failure.storeFirst) return fail(planned.failure, request, reply)
      const result = await run(rest, payload, files, request)
      if (planned) return fail(planned.failure, request, reply)
      if (!response.destroyed) reply(200, { ok: true, result })
    } catch (error) {
      if (error instanceof Refusal) return refuse(error)
      throw error
    }
  }

  function run(method: string, payload: Json, files: ReadonlyMap<string, Uploaded>, request: IncomingMessage): unknown {
    const known = parameters[method]
    if (!known || (method !== 'getUpdates' && !methods[method])) throw new Refusal(404, 'method not found')
    const strange = Object.keys(payload).find(name => !known.includes(name))
    if (strange !== undefined) throw bad(`unknown parameter ${strange}`)
    return method === 'getUpdates' ? getUpdates(payload, request) : methods[method]?.(payload, files)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error)
      request.socket.destroy()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: (method?: string): readonly RequestSeen[] =>
      seen.filter(one => method === undefined || one.method === method),
    fail(method: string, failure: Failure): () => void {
      const planned = { method, failure, left: failure.times ?? 1 }
      failures.push(planned)
      return () => {
        planned.left = 0
      }
    },
    offline(on: boolean) {
      offline = on
      if (on) server.closeAllConnections()
    },
    /** Another program asks for the updates of this bot. */
    conflict: () => poll?.abort(),
    async close() {
      offline = true
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function fail(
  { status = 500, description = '', retryAfter, cut }: Failure,
  request: IncomingMessage,
  reply: (status: number, body: object) => void,
): void {
  if (cut) return void request.socket.destroy()
  const parameters = retryAfter === undefined ? {} : { retry_after: retryAfter }
  reply(status, bodyOf(new Refusal(status, description, parameters as Record<string, number>)))
}

/** JSON, or a form with files. */
async function read(request: IncomingMessage): Promise<{ payload: Json; files: ReadonlyMap<string, Uploaded> }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const type = request.headers['content-type'] ?? ''
  const files = new Map<string, Uploaded>()
  if (!type.startsWith('multipart/form-data')) {
    const text = body.toString()
    return { payload: text === '' ? {} : (JSON.parse(text) as Json), files }
  }
  const payload: Json = {}
  for (const [name, value] of await new Response(body, { headers: { 'content-type': type } }).formData()) {
    if (typeof value === 'string') payload[name] = parsed(value)
    else files.set(name, { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) })
  }
  return { payload, files }
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
