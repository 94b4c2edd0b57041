// What a sub-agent is told, and how its report reads where it arrives.
import { agentOf, subAgentLimits } from '../base/agents.ts'
import type { Assignment, Behalf, Report } from '../base/event.ts'
import { label } from '../base/label.ts'
import { defused } from './sender.ts'

/** `[Gateway: you are sub-agent scout (k3f9), …]` above the task. */
export const assignmentWords = (what: Assignment, { owner }: Behalf): string => {
  const { depth, instruction } = what
  const by = agentOf(what.reportTo.lane)
  const whom = by === null ? `the conversation ${label(what.reportTo.lane, 100)}` : `sub-agent ${label(by)}`
  const further =
    depth < subAgentLimits.depth
      ? 'You may start sub-agents of your own for parts of it.'
      : 'You may not start sub-agents.'
  const line =
    `[Gateway: you are sub-agent ${named(what)} at depth ${depth} of ${subAgentLimits.depth}, at work for ${whom}${owner ? '' : stranger}. ` +
    `Nobody reads along and nobody can be asked: your final text is the report, so let it say what you found or did. ${further}]`
  return `${line}\n${owner ? instruction : defused(instruction)}`
}

/** What it says may come from anywhere, so that no line of it can pass for one of ours. */
export const reportWords = (what: Report, { owner }: Behalf): string =>
  `[Gateway: sub-agent ${named(what)}${owner ? '' : `${stranger},`} ${what.ok ? 'reports' : 'failed'}:]\n${defused(what.text)}`

const stranger = ', begun on the words of somebody who is not the owner'

const named = ({ name, agent }: { readonly name: string; readonly agent: string }) =>
  `${label(name) || 'unnamed'} (${label(agent)})`
