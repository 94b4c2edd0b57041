// What Codex says it does, and why it failed: nearly the same words in both of its ways, once in snake and once in camel case.
import type { ActionPhase, AgentEvent, Ended } from '../../base/agent.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, string } from '../json.ts'

/** The beginning or end of something that it does; null: nothing worth telling. */
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
      return 'Edit'
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
  const said = string(error.message) || 'the turn failed'
  return failure(said, statusOf(error.codexErrorInfo) || statusIn(said) || statusBehind(said))
}

const refused = ['badRequest', 'contextWindowExceeded', 'modelNotFound', 'cyberPolicy', 'misalignmentPolicyViolation']
const limited = ['usageLimitExceeded', 'rateLimitExceeded', 'sessionBudgetExceeded']
const busy = ['serverOverloaded', 'internalServerError', 'flexUnavailable', 'policyCapacityUnavailable']
const cut = ['httpConnectionFailed', 'responseStreamConnectionFailed', 'responseStreamDisconnected']

/** A word, or an object with one key that may hold the status itself. */
function statusOf(info: unknown): number {
  const [word = '', inner] = typeof info === 'string' ? [info] : (Object.entries(object(info))[0] ?? [])
  const status = number(object(inner).httpStatusCode)
  if (status > 0) return status
  if (word === 'unauthorized') return 401
  if (limited.includes(word)) return 429
  if (busy.includes(word) || cut.includes(word)) return 503
  return refused.includes(word) ? 400 : 0
}

/** One turn alone tells nothing but a sentence. */
function statusBehind(said: string): number {
  if (/high demand|stream disconnected|active writer|retry later/i.test(said)) return 503
  return /invalid_request_error|context window/i.test(said) ? 400 : 0
}
