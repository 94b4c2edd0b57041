// Actions and errors of Codex: nearly the same format in cold and warm mode, once in snake case and once in camel case.
import type { ActionPhase, AgentEvent, Ended } from '../../base/agent.ts'
import type { TodoItem, ToolResult, ToolUse } from '../../base/tool-use.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { type Json, number, object, objects, string } from '../stdio.ts'
import { boundedOutput, diffWork, workOf } from '../tool-work.ts'
import { toolLabel } from '../tools.ts'
import { commandIn } from './codex-commands.ts'

/** The start or end of an action; null: nothing worth showing. */
export function createActions(): (item: Json, began: boolean) => AgentEvent | null {
  /** Actions whose use was told. */
  const told = new Set<string>()
  return (item, began) => {
    const label = labelOf(item)
    if (label === null) return null
    const id = string(item.id)
    const failed = ['failed', 'declined'].includes(string(item.status)) || Boolean(item.error)
    const phase: ActionPhase = began ? 'started' : failed ? 'failed' : 'ended'
    const use = told.has(id) ? null : useOf(item)
    if (use) told.add(id)
    const result = began ? null : resultOf(item)
    return { type: 'action', id, label, phase, ...(use ? { use } : {}), ...(result ? { result } : {}) }
  }
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

/** Null: it is not known yet. */
export function useOf(item: Json): ToolUse | null {
  switch (item.type) {
    case 'command_execution':
    case 'commandExecution':
      return used('Bash', { command: commandIn(string(item.command)) })
    case 'mcp_tool_call':
    case 'mcpToolCall':
      return used(`mcp__${string(item.server)}__${string(item.tool)}`, object(item.arguments))
    case 'file_change':
    case 'fileChange': {
      const changes = changesIn(item)
      const [first] = changes
      if (!first || changes.length === 1) return first?.use ?? null
      // One action, many files: all of them are in its diff.
      const diff = changes.map(({ path, diff }) => `@@ ${path} @@\n${diff}`).join('\n')
      return { tool: 'Edit', work: diffWork(`${first.path} and ${changes.length - 1} more`, diff) }
    }
    case 'web_search':
    case 'webSearch':
      return string(item.query) === '' ? null : used('WebSearch', { query: item.query })
    case 'collab_tool_call':
    case 'collabAgentToolCall':
      return used('Task', { tool: item.tool, prompt: item.prompt })
    default:
      return null
  }
}

interface Change {
  readonly path: string
  readonly diff: string
  readonly use: ToolUse
}

/** The files of a change, each with its diff. `codex exec` reports no diffs. */
export const changesIn = (item: Json): readonly Change[] =>
  objects(item.changes).map(({ path, kind, diff }) => {
    const how = string(object(kind).type) || string(kind)
    const moved = string(object(kind).move_path)
    const text = how === 'update' ? string(diff) : allLines(how === 'delete' ? '-' : '+', string(diff))
    const shown = moved === '' ? text : `@@ moved to ${moved} @@\n${text}`
    const use = { tool: how === 'add' ? 'Write' : 'Edit', work: diffWork(string(path), shown) }
    return { path: string(path), diff: shown, use }
  })

/** For a new or deleted file it reports the content. */
const allLines = (sign: string, content: string): string =>
  content === '' ? '' : content.replace(/\n$/, '').replace(/^/gm, sign)

const used = (tool: string, input: Json): ToolUse => ({ tool, work: workOf(tool, input) })

function resultOf(item: Json): ToolResult | null {
  switch (item.type) {
    case 'command_execution':
    case 'commandExecution': {
      const exit = item.exitCode ?? item.exit_code
      if (typeof exit !== 'number') return null
      return { output: boundedOutput(string(item.aggregatedOutput ?? item.aggregated_output)), exit }
    }
    case 'mcp_tool_call':
    case 'mcpToolCall': {
      const parts = objects(object(item.result).content).map(part => string(part.text))
      const output = string(object(item.error).message) || parts.join('\n')
      return output === '' ? null : { output: boundedOutput(output), exit: null }
    }
    default:
      return null
  }
}

/** A plan, each time that it changes. */
export function planned(id: string, steps: readonly Json[]): readonly AgentEvent[] {
  const todos = steps.map(({ step, text, status, completed }) => ({
    text: string(step) || string(text),
    status,
    completed,
  }))
  const work = workOf('TodoWrite', { todos })
  const items: readonly TodoItem[] = work.kind === 'todo' ? work.items : []
  const label = `Plan: ${items.filter(({ state }) => state === 'done').length} of ${items.length} done`
  const action = { type: 'action', id, label } as const
  return [
    { ...action, phase: 'started', use: { tool: 'TodoWrite', work } },
    { ...action, phase: 'ended' },
  ]
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
