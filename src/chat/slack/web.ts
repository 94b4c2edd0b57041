// Slack's Web API: a method, its arguments as a form, an answer in JSON.
import { createRequests } from '../requests.ts'
import { SlackError } from './errors.ts'

export type Arguments = Readonly<Record<string, unknown>>

/** Rejects with `SlackError` if Slack does not do it. */
export interface Web {
  call<Answer = object>(method: string, args?: Arguments, signal?: AbortSignal): Promise<Answer>
  /** Requests to other addresses that Slack gave us: answers to commands, uploads, downloads. */
  readonly request: ReturnType<typeof createRequests>
  readonly token: string
}

/** For a request with all its data. A stalled request is given up much earlier. */
const patienceMs = 120_000

export function createWeb(api: string, token: string, request = createRequests()): Web {
  return {
    request,
    token,
    async call<Answer>(method: string, args: Arguments = {}, signal?: AbortSignal) {
      const patience = AbortSignal.timeout(patienceMs)
      const answer = await request(`${api}/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
        body: formOf(args),
        // Slack has nothing that recognizes a repeated post; the poster looks for the first one before it tries again.
        repeatable: !/^(chat|files)\./.test(method),
        signal: signal ? AbortSignal.any([signal, patience]) : patience,
      })
      const retryAfterMs = Math.ceil(Number(answer.headers.get('retry-after') ?? 0) * 1000)
      if (answer.status === 429) throw new SlackError('ratelimited', 429, { retryAfterMs: retryAfterMs || 1000 })
      if (answer.status >= 500) throw new SlackError('unavailable', answer.status, { retryAfterMs })
      const found = await bodyOf(answer)
      if (found?.ok === true) return found as Answer
      const needed = typeof found?.needed === 'string' ? found.needed : ''
      throw new SlackError(String(found?.error ?? `status ${answer.status}`), answer.status, { retryAfterMs, needed })
    },
  }
}

function formOf(args: Arguments): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(args))
    if (value !== undefined && value !== null) form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  return form.toString()
}

async function bodyOf(answer: { text(): Promise<string> }): Promise<Record<string, unknown> | null> {
  const text = await answer.text()
  try {
    return JSON.parse(text) as Record<string, unknown> | null
  } catch {
    return null // A proxy's page, for example.
  }
}
