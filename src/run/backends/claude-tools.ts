// What claude does with its tools, from the messages that contain their calls and results.
import type { AgentEvent } from '../../base/agent.ts'
import type { TodoItem, ToolResult, ToolUse } from '../../base/tool-use.ts'
import { type Json, object, objects, string } from '../stdio.ts'
import { boundedOutput, workOf } from '../tool-work.ts'
import { toolLabel } from '../tools.ts'
import { planTool } from './claude-asks.ts'

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
