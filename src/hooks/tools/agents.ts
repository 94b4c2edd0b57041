// Sub-agents and the channels between agents, by tools.
import { createHash } from 'node:crypto'
import type { SpawnResult, SubAgent, SubAgents } from '../../base/agents.ts'
import type { Caller, Tool, ToolAnswer } from '../../base/tools.ts'
import { done, excerpt, limited, lines, openMarks, refused, tool } from './tool.ts'

export function agentTools(agents: SubAgents, when: (ms: number) => string): readonly Tool[] {
  const mark = openMarks()
  const agent = { type: 'string', about: 'its id or name', required: true } as const
  const channel = { type: 'string', about: 'its name', required: true } as const

  /** A guest sees those of their own conversation. */
  const visibleTo = ({ behalf, lane }: Caller) => agents.list(behalf.owner ? undefined : lane)

  async function find(wanted: string, caller: Caller): Promise<SubAgent | null> {
    const all = await visibleTo(caller)
    return all.find(one => one.id === wanted) ?? all.find(one => one.name === wanted) ?? null
  }

  return [
    tool({
      name: 'spawn_agent',
      about:
        'Starts a sub-agent for one piece of work. It works beside you; its report wakes you later, so do not wait for it.',
      takes: {
        task: { type: 'string', about: 'what to do, complete in itself', required: true },
        name: { type: 'string', about: 'a short name' },
        model: { type: 'string', about: 'model or backend/model' },
      },
      async call({ task, name = null, model = null }, caller) {
        const key = `${caller.key}#spawn-${mark(caller, task, name ?? '', model ?? '')}`
        const result = await agents.spawn({ name, instruction: task, model }, parentOf(caller), key)
        return answer(result, ({ name, id }) => `Started ${name} (${id}). Its report comes by itself.`)
      },
    }),
    tool({
      name: 'ask_agent',
      about: 'Asks a sub-agent something more; it answers by a report.',
      takes: { agent, question: { type: 'string', about: 'complete in itself', required: true } },
      async call({ agent, question }, caller) {
        const found = await find(agent, caller)
        if (!found) return unknown(agent)
        const key = `${caller.key}#ask-${mark(caller, found.id, question)}`
        const result = await agents.ask(found.id, question, parentOf(caller), key)
        return answer(result, ({ name, id }) => `Asked ${name} (${id}). The answer comes by itself, as a report.`)
      },
    }),
    tool({
      name: 'list_agents',
      about: 'Sub-agents and what they do.',
      takes: {},
      readOnly: true,
      async call(_, caller) {
        const all = await visibleTo(caller)
        return lines(
          'There are none.',
          all
            .slice(0, 50)
            .map(one => `- ${one.id} ${one.name}: ${one.state}; ${excerpt(one.progress || one.instruction, 200)}`),
        )
      },
    }),
    tool({
      name: 'stop_agent',
      about: 'Stops a sub-agent and what it has started.',
      takes: { agent },
      async call({ agent }, caller) {
        const found = await find(agent, caller)
        if (!found) return unknown(agent)
        return (await agents.stop(found.id))
          ? done(`${found.name} was stopped.`)
          : done(`${found.name} had ended already.`)
      },
    }),
    tool({
      name: 'publish',
      about: 'Posts to a channel that other agents read.',
      takes: { channel, text: { type: 'string', about: 'what to tell', required: true } },
      call: ({ channel, text }, caller) =>
        inWords(async () => {
          await agents.publish(apart(channel, caller), caller.agent ?? 'agent', text)
          return done('Posted.')
        }),
    }),
    tool({
      name: 'read_channel',
      about: 'The newest posts of a channel of agents.',
      takes: { channel, limit: { type: 'integer', about: 'default 20' } },
      readOnly: true,
      call: ({ channel, limit }, caller) =>
        inWords(async () => {
          const posts = await agents.read(apart(channel, caller), limited(limit, 20, 200))
          return lines(
            'Nothing was posted there.',
            posts.map(({ at, from, text }) => `- ${when(at)}, ${from}: ${text}`),
          )
        }),
    }),
  ]
}

const parentOf = ({ lane, place, behalf, agent }: Caller) => ({ lane, place, behalf, agent })

/** Agents that work on the words of a guest share channels with each other, and with nobody else. */
const apart = (channel: string, { behalf }: Caller) => {
  const hash = () =>
    createHash('sha256')
      .update(behalf.person ?? '')
      .digest('hex')
      .slice(0, 8)
  return behalf.owner ? channel : `guest-${hash()}.${channel}`
}

/** What will not do is told by a RangeError. */
async function inWords(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RangeError) return refused(error.message)
    throw error
  }
}

const unknown = (agent: string) =>
  refused(`There is no sub-agent ${JSON.stringify(agent.slice(0, 80))}; list_agents tells which there are.`)

const answer = (result: SpawnResult, words: (agent: SubAgent) => string): ToolAnswer =>
  result.ok ? done(words(result.agent)) : refused(result.why)
