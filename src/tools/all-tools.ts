// All tools of the gateway. A tool is offered only if the part behind it exists.

import type { DescentLimits } from '../base/descent.ts'
import type { Jobs } from '../base/jobs.ts'
import type { BoardTask, ContentItem, Fact, Records } from '../base/records.ts'
import type { SubAgents } from '../base/subagents.ts'
import type { Tool } from '../base/tools.ts'
import { type AskUser, askTools } from './ask-user.ts'
import { type FormatTime, jobTools } from './jobs.ts'
import { type Memory, memoryTools } from './memory.ts'
import { brainTools, contentTools, taskTools } from './records.ts'
import { type MessageSender, messageTools } from './send-message.ts'
import { agentTools } from './subagents.ts'

export interface ToolPorts {
  readonly formatTime: FormatTime
  /** Counts a message that an agent sends or publishes. */
  readonly takeMessage: DescentLimits['takeMessage']
  readonly messages?: MessageSender
  readonly jobs?: Jobs
  readonly memory?: Memory
  readonly facts?: Records<Fact>
  readonly tasks?: Records<BoardTask>
  readonly content?: Records<ContentItem>
  readonly agents?: SubAgents
  readonly askUser?: AskUser
}

export const createTools = ({
  formatTime,
  takeMessage,
  messages,
  jobs,
  memory,
  facts,
  tasks,
  content,
  agents,
  askUser,
}: ToolPorts): readonly Tool[] => [
  ...(messages ? messageTools(messages, takeMessage) : []),
  ...(askUser ? askTools(askUser) : []),
  ...(jobs ? jobTools(jobs, formatTime) : []),
  ...(memory ? memoryTools(memory, takeMessage) : []),
  ...(facts ? brainTools(facts) : []),
  ...(tasks ? taskTools(tasks) : []),
  ...(content ? contentTools(content) : []),
  ...(agents ? agentTools(agents, ms => formatTime(ms, null), takeMessage) : []),
]
