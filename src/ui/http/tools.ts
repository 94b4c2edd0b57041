// The gateway's own tools over HTTP, for its MCP bridge. They open with the key of a run: the owner's token opens none of them, and the key nothing else.
import type { ToolDesk } from '../../base/tools.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'

/** The desk itself looks more closely. */
const bodyBytes = 300 * 1024

export const toolsPath = '/api/tools'

export function listTools(exchange: Exchange, desk: ToolDesk): void {
  const tools = desk.list(keyOf(exchange))
  if (tools) replyJson(exchange, 200, { tools })
  else turnAway(exchange)
}

export async function callTool(exchange: Exchange, desk: ToolDesk, signal: AbortSignal): Promise<void> {
  const { request, response, url } = exchange
  const key = keyOf(exchange)
  if (desk.list(key) === null) return turnAway(exchange)
  const { readCall } = await import('./body.ts')
  const body = await readCall(request, bodyBytes)
  if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const name = decoded(url.pathname.slice(toolsPath.length + 1))
  replyJson(exchange, 200, await desk.call(key, name, body.value.arguments, AbortSignal.any([signal, gone.signal])))
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
