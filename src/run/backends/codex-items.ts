// Actions and errors of Codex: nearly the same format in cold and warm mode, once in snake case and once in camel case.
import type { ActionPhase, AgentEvent, Ended } from '../../base/agent.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, objects, string } from '../stdio.ts'
import { toolLabel } from '../tools.ts'

/** The start or end of an action; null: nothing worth showing. */
export function actionOf(item: Json, began: boolean): AgentEvent | null {
  const label = labelOf(item)
  if (label === null) return null
  const failed = ['failed', 'declined'].includes(string(item.status)) || Boolean(item.error)
  const phase: ActionPhase = began ? 'started' : failed ? 'failed' : 'ended'
  return { type: 'action', id: string(item.id), label, phase }
}

function labelOf(item: Json): string | null {
  switch (item.type) {
    case 'command_execution':
    case 'commandExecution':
      return `Shell: ${string(item.command).replace(/\s+/g, ' ').slice(0, 80)}`
    case 'mcp_tool_call':
    case 'mcpToolCall':
      return `${string(item.server)}: ${string(item.tool)}`
    case 'file_change':
    case 'fileChange':
      return toolLabel('Edit', objects(item.changes)[0] ?? {})
    case 'web_search':
    case 'webSearch':
      return `WebSearch: ${string(item.query).slice(0, 80)}`
    case 'collab_tool_call':
    case 'collabAgentToolCall':
      return `Task: ${string(item.tool)}`
    default:
      return null
  }
}

export function ofError(error: Json): Ended {
  const message = string(error.message) || 'the turn failed'
  return failure(message, statusOf(error.codexErrorInfo) || statusIn(message) || statusFromMessage(message))
}

const refused = ['badRequest', 'contextWindowExceeded', 'cyberPolicy', 'misalignmentPolicyViolation']
const limited = ['usageLimitExceeded', 'rateLimitExceeded', 'sessionBudgetExceeded']
const busy = ['serverOverloaded', 'internalServerError', 'flexUnavailable', 'policyCapacityUnavailable']
const disconnected = ['httpConnectionFailed', 'responseStreamConnectionFailed', 'responseStreamDisconnected']

/** A word, or an object with one key that may hold the status itself. */
function statusOf(info: unknown): number {
  const [word = '', inner] = typeof info === 'string' ? [info] : (Object.entries(object(info))[0] ?? [])
  const status = number(object(inner).httpStatusCode)
  if (status > 0) return status
  if (word === 'unauthorized') return 401
  if (limited.includes(word)) return 429
  if (busy.includes(word) || disconnected.includes(word)) return 503
  if (word === 'modelNotFound') return 404
  return refused.includes(word) ? 400 : 0
}

/** In cold mode there is only an error message. */
function statusFromMessage(message: string): number {
  if (/high demand|stream disconnected|active writer|retry later/i.test(message)) return 503
  return /invalid_request_error|context window/i.test(message) ? 400 : 0
}
