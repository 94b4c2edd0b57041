// Requests with Node's own HTTP client: undici would take fifteen megabytes more.
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest, STATUS_CODES } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'

/** The part of `Response` that clients use. The body can be read once, in one of these ways. */
export type Answer = Pick<
  Response,
  'arrayBuffer' | 'bodyUsed' | 'headers' | 'json' | 'ok' | 'status' | 'statusText' | 'text'
> & { readonly body: IncomingMessage }

/** As a library passes it. */
export interface Init {
  readonly method?: string | undefined
  readonly headers?: unknown
  readonly body?: unknown
  readonly signal?: AbortSignal | null | undefined
  /** False: it must not be sent a second time, even over a connection that seems to have been closed before; true if missing. */
  readonly repeatable?: boolean
}

/** A request without any data for this long is dead. A slow one with data may take longer, such as a large upload. */
const silenceMs = 15_000

export function createRequests(timeout = silenceMs): (url: string, init: Init) => Promise<Answer> {
  const keep = { keepAlive: true, keepAliveMsecs: 30_000 }
  const agents = { 'http:': new PlainAgent(keep), 'https:': new SecureAgent(keep) }

  return async (url, { method = 'GET', headers, body, signal, repeatable = true }) => {
    const target = new URL(url)
    const secure = target.protocol === 'https:'
    const agent = agents[secure ? 'https:' : 'http:']
    const { bytes, type } = await encoded(body)
    const length = method === 'GET' ? {} : { 'content-length': String(bytes.length) }
    const all = { ...(headers as Record<string, string>), ...type, ...length }
    const once = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const options = { method, agent, headers: all, timeout, ...(signal ? { signal } : {}) }
        const request = (secure ? secureRequest : plainRequest)(target, options, resolve)
        request.on('timeout', () => request.destroy(new Error('no answer')))
        // The server may have just closed a kept-alive connection; then it has not read the request.
        request.on('error', (error: NodeJS.ErrnoException) =>
          reject(request.reusedSocket && error.code === 'ECONNRESET' ? new StaleConnection() : error),
        )
        request.end(bytes)
      })
    const answer = await once().catch(error => {
      if (error instanceof StaleConnection && repeatable) return once()
      throw error
    })
    return responseOf(answer)
  }
}

class StaleConnection extends Error {}

async function encoded(body: unknown): Promise<{ bytes: Uint8Array; type: Record<string, string> }> {
  if (body === null || body === undefined) return { bytes: new Uint8Array(), type: {} }
  if (typeof body === 'string') return { bytes: Buffer.from(body), type: {} }
  if (body instanceof Uint8Array) return { bytes: body, type: {} }
  // Files are rare, so Response may encode the form.
  const form = new Response(body as FormData)
  const type = form.headers.get('content-type') ?? 'application/octet-stream'
  return { bytes: new Uint8Array(await form.arrayBuffer()), type: { 'content-type': type } }
}

function responseOf(answer: IncomingMessage): Answer {
  const status = answer.statusCode ?? 0
  const headerOf = (name: string) => {
    const value = answer.headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : (value ?? null)
  }
  const buffer = async () => {
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
  }
  const text = async () => (await buffer()).toString('utf8')
  // Nobody reads these bodies; unread, they would block the connection.
  if (status === 204 || status === 429 || status >= 500) answer.resume()
  return {
    body: answer,
    bodyUsed: false,
    status,
    statusText: STATUS_CODES[status] ?? '',
    ok: status >= 200 && status < 300,
    text,
    json: async () => JSON.parse(await text()) as unknown,
    arrayBuffer: async () => new Uint8Array(await buffer()).buffer,
    // Headers are only read by name.
    headers: { get: headerOf, has: (name: string) => headerOf(name) !== null } as unknown as Headers,
  } as Answer
}
