// One request to a gateway on this machine.
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'

export interface Asked {
  readonly token?: string
  /** Sent as JSON by POST. Without it, the request is a GET. */
  readonly order?: object
  readonly timeoutMs: number
}

export type Answered =
  | { readonly ok: true; readonly status: number; readonly body: string }
  /** `late`: something may be listening, but did not answer in time. */
  | { readonly ok: false; readonly late: boolean; readonly cause: unknown }

/** Never rejects. */
export function ask(url: string, { token, order, timeoutMs }: Asked): Promise<Answered> {
  const signal = AbortSignal.timeout(timeoutMs)
  return new Promise(resolve => {
    const failed = (cause: unknown) => resolve({ ok: false, late: signal.aborted, cause })
    const options = {
      ...{ method: order === undefined ? 'GET' : 'POST', signal, agent: false as const },
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    }
    try {
      const request = requestOf(url, options, response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', failed)
        response.on('end', () =>
          resolve({ ok: true, status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        )
      })
      request.on('error', failed).end(order === undefined ? undefined : JSON.stringify(order))
    } catch (error) {
      failed(error) // not a valid address
    }
  })
}

/** Not with `import` or fetch: both load all of undici, which takes longer than the rest of `aetheel status`. */
const requestOf = (url: string, options: RequestOptions, answered: (r: IncomingMessage) => void): ClientRequest =>
  process.getBuiltinModule('node:http').request(url, options, answered)
