// The gateway's own tools: what an agent may ask of the gateway while it works on a turn.
import type { Behalf, LaneKey, Place } from './event.ts'

/** The turn that calls. */
export interface Caller {
  readonly event: number
  readonly key: string
  readonly lane: LaneKey
  /** Where its answer goes; null: nowhere. */
  readonly place: Place | null
  readonly behalf: Behalf
  /** The sub-agent that calls; null: the agent itself. */
  readonly agent: string | null
}

export interface ToolField {
  readonly type: 'string' | 'integer' | 'boolean' | 'strings'
  /** Empty: its name says it. */
  readonly about: string
  readonly required?: true
  readonly oneOf?: readonly string[]
}

/** Arguments that have been checked against `takes`. */
export type ToolArguments = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** For the agent, in words it can act upon. */
export interface ToolAnswer {
  readonly ok: boolean
  readonly text: string
}

export interface Tool {
  readonly name: string
  readonly about: string
  readonly takes: Readonly<Record<string, ToolField>>
  /** Refused in a turn on the words of somebody else. */
  readonly ownerOnly?: true
  readonly readOnly?: true
  call(args: ToolArguments, caller: Caller, signal: AbortSignal): Promise<ToolAnswer>
}

export type OfferedTool = Pick<Tool, 'name' | 'about' | 'takes' | 'readOnly'>

/** The tools as they are offered to one run. */
export interface ToolDesk {
  /** What this key may ask for; null: nobody has such a key. */
  list(key: string): readonly OfferedTool[] | null
  /** Never rejects: what goes wrong is an answer. */
  call(key: string, tool: string, args: unknown, signal: AbortSignal): Promise<ToolAnswer>
}

/** The names of all there are, for whoever must know them beforehand. */
export const ownTools = [
  ...['send_message', 'schedule_job', 'list_jobs', 'remove_job', 'pause_job', 'memory_search', 'remember', 'forget'],
  ...['brain_add', 'brain_search', 'brain_list', 'brain_update', 'brain_remove'],
  ...['tasks_add', 'tasks_list', 'tasks_update', 'tasks_remove'],
  ...['content_add', 'content_list', 'content_update', 'content_remove'],
  ...['spawn_agent', 'ask_agent', 'list_agents', 'stop_agent', 'publish', 'read_channel'],
]

/** How the gateway's own MCP server is called; nobody else's may be. */
export const ownServer = 'aetheel'
