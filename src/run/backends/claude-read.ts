// The output of claude as events.
import type { AgentEvent, Ended, Usage } from '../../base/agent.ts'
import type { TodoItem, ToolResult, ToolUse } from '../../base/tool-use.ts'
import { failure } from '../diagnosis.ts'
import { type Answer, openAnswer, unasked } from '../events.ts'
import { type Json, number, object, objects, string, strings } from '../stdio.ts'
import { boundedOutput, workOf } from '../tool-work.ts'
import { toolLabel } from '../tools.ts'
import type { Asks, Steering } from './claude-asks.ts'
import { planTool } from './claude-asks.ts'

/** What can come back to a turn in its middle. */
export interface Talk {
  readonly asks: Asks | null
  readonly steering: Steering
}

/**
 * For the lines of one process; each turn gets its own reader. `own`: the id of the message of the turn. Not all output belongs to
 * it: claude starts turns by itself, for example when a background command ends. Without an id, all output belongs to the turn.
 */
export function createReading(
  tools: Tools = createTools(),
): (own?: string, talk?: Talk) => (line: Json) => readonly AgentEvent[] {
  // Claude reports it when it changes, not again in each turn that hits it.
  let limit: Json = {}
  return (own = '', talk) => {
    let mine = own === ''
    let stored = false
    let session: string | null = null
    let model: string | null = null
    let spoke = false
    const answer = openAnswer()
    const used = createUsage()

    /** Every line carries the session. A new id means that claude continued in another session. */
    const noteSession = (line: Json): AgentEvent[] => {
      const id = line.session_id
      if (typeof id !== 'string' || id === '' || id === session) return []
      session = id
      return [{ type: 'started', session: id }]
    }

    /** Messages from claude itself in place of the model, mostly errors, have the model name `<synthetic>`. */
    const noteModel = (name: unknown) => {
      if (typeof name === 'string' && name !== '' && !name.startsWith('<')) model = name
    }

    /** By then it has stored the prompt. */
    const noteStored = (): AgentEvent[] => {
      if (stored) return []
      stored = true
      return [{ type: 'stored' }, ...(talk ? [{ type: 'steerable', steer: talk.steering.steer } as const] : [])]
    }

    const streamed = (line: Json): AgentEvent[] => {
      const event = object(line.event)
      if (line.parent_tool_use_id) return []
      if (event.type === 'content_block_start' && object(event.content_block).type === 'text')
        return spoke ? [{ type: 'text', delta: '\n\n' }] : []
      const delta = object(event.delta)
      if (/thinking/.test(string(delta.type) || string(object(event.content_block).type)))
        return [{ type: 'thinking', quietly: false, ...summaryIn(delta) }]
      if (event.type !== 'content_block_delta' || delta.type !== 'text_delta' || typeof delta.text !== 'string')
        return []
      spoke = true
      return [{ type: 'text', delta: delta.text }]
    }

    /** Each part also comes as a whole when it is complete. Messages from claude itself are skipped. */
    const addText = (line: Json): void => {
      const message = object(line.message)
      if (line.parent_tool_use_id || string(message.model).startsWith('<')) return
      for (const block of objects(message.content)) if (block.type === 'text') answer.add(string(block.text))
    }

    const isOfTurn = (uuid: string) => uuid === own || talk?.steering.has(uuid) === true

    /** True from the first line on that refers to a message of the turn. */
    const isMine = (line: Json): boolean => {
      const about = [...strings(line.user_message_uuids), string(line.user_message_uuid)].filter(Boolean)
      if (own !== '' && about.length > 0) mine = about.some(isOfTurn)
      else mine ||= line.type === 'user' && isOfTurn(string(line.uuid))
      return mine
    }

    /** Also what it asks for a turn that it began by itself, or for an agent in the background: without an answer it would wait forever. */
    const asked = (line: Json): readonly AgentEvent[] => {
      const id = string(line.request_id)
      if (!talk?.asks) return []
      if (line.type === 'control_cancel_request') return talk.asks.cancelled(id)
      const request = object(line.request)
      if (request.subtype !== 'can_use_tool') return []
      const about = { id: string(request.tool_use_id), tool: string(request.tool_name), input: object(request.input) }
      return talk.asks.asked(id, about, tools.plan())
    }

    return line => {
      if (line.type === 'rate_limit_event') limit = object(line.rate_limit_info)
      if (line.type === 'control_request' || line.type === 'control_cancel_request') return asked(line)
      if (!isMine(line)) return line.type === 'result' && line.is_error !== true ? [unasked] : []
      const events = noteSession(line)
      switch (line.type) {
        case 'system':
          if (line.subtype === 'init') noteModel(line.model)
          return line.subtype === 'api_retry' ? [...events, ...noteStored()] : events
        case 'stream_event':
          return [...events, ...noteStored(), ...used(object(line.event), model), ...streamed(line)]
        case 'assistant':
          addText(line)
          if (!line.parent_tool_use_id) noteModel(object(line.message).model)
          return [...events, ...noteStored(), ...tools.read(line)]
        case 'user':
          talk?.steering.taken(string(line.uuid))
          return [...events, ...noteStored(), ...tools.read(line)]
        case 'result':
          // It goes on with the words that it has not read yet.
          if (talk?.steering.waits()) return [...events, ...usageOf(line, model)]
          return [...events, ...usageOf(line, model), endOf(line, limit, answer)]
        default:
          return events
      }
    }
  }
}

const summaryIn = ({ thinking }: Json): { readonly summary?: string } =>
  typeof thinking === 'string' && thinking !== '' ? { summary: thinking } : {}

function endOf(line: Json, limit: Json, answer: Answer): Ended {
  const text = string(line.result)
  if (line.is_error !== true) return answer.end(text)
  const detail = [text, ...strings(line.errors)].filter(Boolean).join('; ') || string(line.subtype) || 'error'
  if (line.subtype === 'error_max_turns') return { type: 'ended', ok: false, why: 'max-turns', detail }
  const end = failure(detail, number(line.api_error_status))
  const isOver = !end.ok && end.why === 'rate-limited' && limit.status === 'rejected' && number(limit.resetsAt) > 0
  return isOver ? { ...end, until: number(limit.resetsAt) * 1000 } : end
}

/** Usage of its messages so far, for a turn that does not reach its end. */
function createUsage(): (event: Json, model: string | null) => readonly AgentEvent[] {
  const done: Json[] = []
  let current: Json = {}
  return (event, model) => {
    if (event.type === 'message_start') current = object(object(event.message).usage)
    else if (event.type === 'message_delta') {
      done.push({ ...current, ...object(event.usage) })
      current = {}
    } else return []
    const usage = usageIn([...done, current])
    return usage.inputTokens + usage.outputTokens === 0 ? [] : [{ type: 'usage', usage, of: 'turn', model }]
  }
}

const count = (from: readonly Json[], ...names: readonly string[]) =>
  from.flatMap(one => names.map(name => number(one[name]))).reduce((sum, one) => sum + one, 0)

const usageIn = (messages: readonly Json[]): Usage => ({
  inputTokens: count(messages, 'input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'),
  outputTokens: count(messages, 'output_tokens'),
  costUsd: null,
})

/** `modelUsage` and the cost cover the whole session with its subagents. Older versions have only `usage`, which covers the turn. */
function usageOf(line: Json, model: string | null): readonly AgentEvent[] {
  const models = objects(Object.values(object(line.modelUsage)))
  if (models.length > 0) {
    const usage: Usage = {
      inputTokens: count(models, 'inputTokens', 'cacheCreationInputTokens', 'cacheReadInputTokens'),
      outputTokens: count(models, 'outputTokens'),
      costUsd: typeof line.total_cost_usd === 'number' ? line.total_cost_usd : null,
    }
    return [{ type: 'usage', usage, of: 'session', model }]
  }
  // A session without any usage yet reports an empty list.
  if (line.modelUsage !== undefined || line.usage === undefined) return []
  return [{ type: 'usage', usage: usageIn([object(line.usage)]), of: 'turn', model }]
}

// What claude does with its tools, from the messages that contain their calls and results.

export interface Tools {
  read(line: Json): readonly AgentEvent[]
  /** The last plan that it wrote; `''`: none. */
  plan(): string
}

/** For one process: it changes its list of tasks one by one, across turns. */
export function createTools(): Tools {
  const calls = new Map<string, { readonly tool: string; readonly label: string }>()
  const tasks = openTasks()
  let plan = ''

  const started = (id: string, tool: string, input: Json): AgentEvent => {
    const label = toolLabel(tool, input)
    calls.set(id, { tool, label })
    if (tool === planTool) plan = string(input.plan) || plan
    if (tool === 'Write' && /\/\.claude\/plans\/[^/]+$/.test(string(input.file_path))) plan = string(input.content)
    const use: ToolUse = { tool, work: tasks.began(id, tool, input) ?? workOf(tool, input) }
    return { type: 'action', id, label, phase: 'started', use }
  }

  const ended = (id: string, block: Json, details: Json): AgentEvent => {
    const { tool, label } = calls.get(id) ?? { tool: '', label: 'tool' }
    calls.delete(id)
    const failed = block.is_error === true
    tasks.ended(id, failed, details)
    return { type: 'action', id, label, phase: failed ? 'failed' : 'ended', result: resultOf(tool, block, details) }
  }

  return {
    read: line =>
      objects(object(line.message).content).flatMap((block): AgentEvent[] => {
        if (block.type === 'tool_use' && typeof block.id === 'string')
          return [started(block.id, string(block.name), object(block.input))]
        if (block.type !== 'tool_result' || typeof block.tool_use_id !== 'string') return []
        return [ended(block.tool_use_id, block, object(line.tool_use_result))]
      }),
    plan: () => plan,
  }
}

/** The result that the model reads names the exit code of a failed command in its first line. */
function resultOf(tool: string, block: Json, details: Json): ToolResult {
  const text =
    string(block.content) ||
    objects(block.content)
      .map(part => string(part.text))
      .join('\n')
  const code = tool === 'Bash' ? /^Exit code (\d{1,3})(?:\n|$)/.exec(text) : null
  if (code) return { output: boundedOutput(text.slice(code[0].length)), exit: Number(code[1]) }
  if (tool !== 'Bash' || block.is_error === true || typeof details.stdout !== 'string')
    return { output: boundedOutput(text), exit: null }
  const output = [details.stdout, string(details.stderr)].filter(Boolean).join('\n')
  return { output: boundedOutput(output), exit: typeof details.backgroundTaskId === 'string' ? null : 0 }
}

/** Newer versions have no tool for the whole list, but one that adds a task and one that changes it. */
function openTasks() {
  interface Task extends TodoItem {
    /** The call that added it. */
    readonly call: string
    readonly id: string
  }
  let tasks: readonly Task[] = []
  const list = () => ({ kind: 'todo' as const, items: tasks.slice(-200).map(({ text, state }) => ({ text, state })) })
  const changed = (isIt: (task: Task) => boolean, change: Partial<Task>) =>
    tasks.map(task => (isIt(task) ? { ...task, ...change } : task))
  return {
    began(call: string, tool: string, input: Json) {
      if (tool === 'TaskCreate' && typeof input.subject === 'string') {
        tasks = [...tasks, { call, id: '', text: input.subject.slice(0, 1000), state: 'open' }]
        return list()
      }
      const id = string(input.taskId)
      if (tool !== 'TaskUpdate' || !tasks.some(task => task.id === id)) return null
      const state = states[string(input.status)]
      if (input.status === 'deleted') tasks = tasks.filter(task => task.id !== id)
      else if (state) tasks = changed(task => task.id === id, { state })
      return list()
    },
    ended(call: string, failed: boolean, details: Json) {
      if (failed) tasks = tasks.filter(task => task.call !== call)
      else if (tasks.some(task => task.call === call && task.id === ''))
        tasks = changed(task => task.call === call, { id: string(object(details.task).id) })
    },
  }
}

const states: Readonly<Record<string, TodoItem['state'] | undefined>> = {
  __proto__: null as never,
  ...{ pending: 'open', in_progress: 'active', completed: 'done' },
}
