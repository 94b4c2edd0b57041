// All tools of the gateway. What has no part behind it is not offered.
import type { SubAgents } from '../../base/agents.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { BoardTask, ContentItem, Fact, Records } from '../../base/records.ts'
import type { Tool } from '../../base/tools.ts'
import { agentTools } from './agents.ts'
import { type FormatTime, jobTools } from './jobs.ts'
import { type Memory, memoryTools } from './memory.ts'
import { brainTools, contentTools, taskTools } from './records.ts'
import { type Speech, speechTools } from './speech.ts'

export interface ToolPorts {
  readonly formatTime: FormatTime
  readonly speech?: Speech
  readonly jobs?: Jobs
  readonly memory?: Memory
  readonly facts?: Records<Fact>
  readonly tasks?: Records<BoardTask>
  readonly content?: Records<ContentItem>
  readonly agents?: SubAgents
}

export const openTools = ({
  formatTime,
  speech,
  jobs,
  memory,
  facts,
  tasks,
  content,
  agents,
}: ToolPorts): readonly Tool[] => [
  ...(speech ? speechTools(speech) : []),
  ...(jobs ? jobTools(jobs, formatTime) : []),
  ...(memory ? memoryTools(memory) : []),
  ...(facts ? brainTools(facts) : []),
  ...(tasks ? taskTools(tasks) : []),
  ...(content ? contentTools(content) : []),
  ...(agents ? agentTools(agents, ms => formatTime(ms, null)) : []),
]
