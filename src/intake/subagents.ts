// The `/subagents` command: lists, shows, stops and starts sub-agents.

import { excerpt } from '../base/scrub.ts'
import { maySee, type SubAgent, type SubAgents } from '../base/subagents.ts'
import type { CommandRequest, CommandRow } from './command.ts'

export interface SubAgentsParts {
  readonly subagents: Pick<SubAgents, 'find' | 'list' | 'spawn' | 'stop'>
  now(): number
}

const mostShown = 20

export const subagentsRow = (parts: SubAgentsParts): CommandRow => ({
  names: ['subagents'],
  takes: '[stop ID | show ID | new TASK]',
  about: 'List sub-agents, look at one, stop one, or start one.',
  answer: request => run(parts, request),
})

async function run(parts: SubAgentsParts, request: CommandRequest): Promise<string> {
  const { subagents, now } = parts
  const { author, lane, rest } = request
  const [, word = '', given = ''] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? []
  const verb = word.toLowerCase()
  const isVisible = (agent: SubAgent) =>
    maySee({ owner: author.owner, person: author.id }, agent) && (author.owner || agent.root === lane)
  if (verb === '') return listOf((await subagents.list(author.owner ? undefined : lane)).filter(isVisible), lane, now())
  if ((verb === 'stop' || verb === 'new') && !author.owner)
    return `/subagents ${verb} is for the owner of this gateway.`
  if (verb === 'new') return start(parts, request, given)
  if (verb !== 'show' && verb !== 'stop') return usage
  const id = given.trim().toLowerCase()
  if (id === '') return usage
  const agent = await subagents.find(id)
  // Guests must not even learn that it exists.
  if (!agent || !isVisible(agent)) return `There is no sub-agent "${excerpt(given, 20)}". /subagents lists them.`
  if (verb === 'show') return details(agent, now())
  return (await subagents.stop(id))
    ? `Stopped ${title(agent)}, and the sub-agents it had started.`
    : `${title(agent)} is no longer running.`
}

const usage = 'Use `/subagents`, `/subagents show ID`, `/subagents stop ID` or `/subagents new TASK`.'

async function start({ subagents }: SubAgentsParts, request: CommandRequest, task: string): Promise<string> {
  const { lane, place, author, key } = request
  if (task.trim() === '') return 'Add the task after the command: /subagents new …'
  const principal = { owner: author.owner, person: author.id, origin: key }
  // With the key of the command, so that a command received twice starts only one.
  const wanted = { name: null, instruction: task.trim(), model: null }
  const started = await subagents.spawn(wanted, { lane, place, principal, agent: null }, key)
  return started.ok ? `Started ${title(started.agent)}. It will report here.` : `Not started. ${started.why}`
}

function listOf(all: readonly SubAgent[], lane: string, now: number): string {
  if (all.length === 0) return 'There are no sub-agents. /subagents new TASK starts one.'
  // Tasks from other conversations are hidden: the people there may not be here.
  const line = (agent: SubAgent) => {
    const isHere = agent.root === lane
    const doing = isHere ? oneLine(agent.progress) : ''
    return `- ${isHere ? title(agent) : `\`${agent.id}\` (another conversation)`}: ${stateOf(agent, now)}${doing && `: ${doing}`}`
  }
  const isOpen = ({ state }: SubAgent) => state === 'waiting' || state === 'working'
  const sorted = [...all.filter(isOpen), ...all.filter(agent => !isOpen(agent))]
  const more = sorted.length > mostShown ? [`… and ${sorted.length - mostShown} older ones.`] : []
  return [...sorted.slice(0, mostShown).map(line), ...more].join('\n')
}

function details(agent: SubAgent, now: number): string {
  const by = agent.depth > 1 ? `, started by ${agent.parent}` : ''
  const { progress } = agent
  const words = agent.endedAt === null ? '**Right now**' : '**Result**'
  return [
    `${title(agent)}: ${stateOf(agent, now)}${by}`,
    `**Task**\n${excerpt(agent.instruction, 1500)}`,
    ...(progress.trim() === '' ? [] : [`${words}\n${excerpt(progress, 1500)}`]),
  ].join('\n\n')
}

const title = ({ name, id }: SubAgent) => `**${name}** (\`${id}\`)`

function stateOf({ state, at, endedAt }: SubAgent, now: number): string {
  return endedAt === null ? `${state} for ${age(now - at)}` : `${state} ${age(now - endedAt)} ago`
}

const oneLine = (text: string) => excerpt(text.replace(/\s+/g, ' '), 120)

function age(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000)
  if (minutes < 1) return `${Math.floor(Math.max(0, ms) / 1000)} s`
  if (minutes < 120) return `${minutes} min`
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`
}
