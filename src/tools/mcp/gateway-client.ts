// The gateway as the bridge sees it: two calls over loopback HTTP. Every failure becomes a readable message; nothing hangs.
import { setTimeout as sleep } from 'node:timers/promises'
import type { OfferedTool, ToolAnswer } from '../../base/tools.ts'
import { errorCode, errorText } from '../../base/unknown.ts'

// As in the gateway's own server: an `import` of node:http, or fetch, would load undici.
const { request } = process.getBuiltinModule('node:http')

export interface FarGateway {
  /** Rejects with a readable message. */
  list(signal: AbortSignal): Promise<readonly OfferedTool[]>
  /** Never rejects. */
  call(tool: string, args: unknown, signal: AbortSignal): Promise<ToolAnswer>
}

export interface Patience {
  /** How long to keep trying while the connection is refused. */
  readonly refusedMs: number
  readonly answerMs: number
}

export const usualPatience: Patience = { refusedMs: 2000, answerMs: 600_000 }

interface Reply {
  readonly status: number
  readonly body: string
}

export function createGatewayClient(url: string, key: string, patience: Patience = usualPatience): FarGateway {
  async function ask(method: string, path: string, body: string | null, signal: AbortSignal): Promise<Reply> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(patience.answerMs)])
    for (let waited = 0; ; waited += 100) {
      try {
        return await once(new URL(path, url), method, key, body, limit)
      } catch (error) {
        const refused = errorCode(error) === 'ECONNREFUSED'
        if (!refused || waited >= patience.refusedMs || limit.aborted) throw error
      }
      await sleep(100)
    }
  }

  return {
    async list(signal) {
      const { status, body } = await ask('GET', '/api/tools', null, signal).catch(unreachable)
      if (status !== 200) throw new Error(errorIn(body))
      return (JSON.parse(body) as { tools: OfferedTool[] }).tools
    },
    async call(tool, args, signal) {
      try {
        const path = `/api/tools/${encodeURIComponent(tool)}`
        const { status, body } = await ask('POST', path, JSON.stringify({ arguments: args ?? {} }), signal).catch(
          unreachable,
        )
        if (status !== 200) return { ok: false, text: errorIn(body) }
        const { ok, text } = JSON.parse(body) as ToolAnswer
        return { ok: ok === true, text: String(text) }
      } catch (error) {
        return { ok: false, text: errorText(error) }
      }
    },
  }
}

function unreachable(error: unknown): never {
  const { code, name } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') throw new Error('The gateway did not answer in time. It may or may not have done this.')
  if (code === 'ECONNREFUSED') throw new Error('The gateway is not running (any more), so nothing was done.')
  throw new Error('The connection to the gateway broke. It may or may not have done this.', { cause: error })
}

function errorIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // Not from the gateway; the message below is used.
  }
  return 'The gateway gave an answer that cannot be read.'
}

function once(url: URL, method: string, key: string, body: string | null, signal: AbortSignal): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(body === null ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    }
    // A new connection each time: a kept one might just be closed by the other side.
    const outgoing = request(url, { method, headers, signal, agent: false }, answered => {
      const chunks: Buffer[] = []
      answered.on('data', (chunk: Buffer) => chunks.push(chunk))
      answered.on('error', reject)
      answered.on('end', () =>
        resolve({ status: answered.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      )
      answered.on('close', () => reject(new Error('cut off')))
    })
    outgoing.on('error', error => reject(signal.aborted ? (signal.reason ?? error) : error))
    outgoing.end(body ?? undefined)
  })
}
