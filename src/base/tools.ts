// The gateway's own tools, which an agent can call during a turn.
import type { LaneKey, Place, Principal } from './event.ts'

/** The turn that calls a tool. */
export interface Caller {
  readonly event: number
  readonly key: string
  readonly lane: LaneKey
  /** Where its answer goes; null: nowhere. */
  readonly place: Place | null
  readonly principal: Principal
  /** The sub-agent that calls; null: the main agent. */
  readonly agent: string | null
}

export interface ToolField {
  readonly type: 'string' | 'integer' | 'boolean' | 'strings'
  /** Empty: the name says it all. */
  readonly about: string
  readonly required?: true
  readonly oneOf?: readonly string[]
}

/** Arguments that were checked against `takes`. */
export type ToolArguments = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** For the agent: a text it can act on. */
export interface ToolAnswer {
  readonly ok: boolean
  readonly text: string
}

export interface Tool {
  readonly name: string
  readonly about: string
  readonly takes: Readonly<Record<string, ToolField>>
  /** Refused in turns whose principal is not the owner. */
  readonly ownerOnly?: true
  readonly readOnly?: true
  call(args: ToolArguments, caller: Caller, signal: AbortSignal): Promise<ToolAnswer>
}

export type OfferedTool = Pick<Tool, 'name' | 'about' | 'takes' | 'readOnly'>

/** The tools as offered to one run. */
export interface ToolCalls {
  /** The tools this key may call; null: the key is not valid. */
  list(key: string): readonly OfferedTool[] | null
  /** Never rejects: errors are returned as answers. */
  call(key: string, tool: string, args: unknown, signal: AbortSignal): Promise<ToolAnswer>
}

/** The names of all tools, for code that needs them in advance. */
export const ownTools = [
  ...[
    'send_message',
    'ask_user',
    'schedule_job',
    'list_jobs',
    'remove_job',
    'pause_job',
    'memory_search',
    'remember',
    'forget',
  ],
  ...['brain_add', 'brain_search', 'brain_list', 'brain_update', 'brain_remove'],
  ...['tasks_add', 'tasks_list', 'tasks_update', 'tasks_remove'],
  ...['content_add', 'content_list', 'content_update', 'content_remove'],
  ...['spawn_agent', 'ask_agent', 'list_agents', 'stop_agent', 'publish', 'read_channel'],
]

/** The name of the gateway's own MCP server; no other server may use it. */
export const ownServer = 'aetheel'
