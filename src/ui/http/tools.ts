// The gateway's own tools over HTTP, for its MCP bridge. They require the key of a run: the owner's token does not open them, and the key opens nothing else.
import type { ToolCalls } from '../../base/tools.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'

/** The tool server has its own, stricter limit. */
const bodyBytes = 300 * 1024

export const toolsPath = '/api/tools'

export function listTools(exchange: Exchange, admin: ToolCalls): void {
  const tools = admin.list(keyOf(exchange))
  if (tools) replyJson(exchange, 200, { tools })
  else turnAway(exchange)
}

export async function callTool(exchange: Exchange, admin: ToolCalls, signal: AbortSignal): Promise<void> {
  const { request, response, url } = exchange
  const key = keyOf(exchange)
  if (admin.list(key) === null) return turnAway(exchange)
  const { readCall } = await import('./body.ts')
  const body = await readCall(request, bodyBytes)
  if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const name = decoded(url.pathname.slice(toolsPath.length + 1))
  replyJson(exchange, 200, await admin.call(key, name, body.value.arguments, AbortSignal.any([signal, gone.signal])))
}

const keyOf = ({ request }: Exchange): string => /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''

const turnAway = (exchange: Exchange): void =>
  replyError(exchange, 401, 'The gateway does not know this key (any more), so nothing was done.', {
    'WWW-Authenticate': 'Bearer',
  })

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // no tool has such a name
  }
}
