// Tools for sub-agents and the channels between agents.
import { createHash } from 'node:crypto'
import type { DescentLimits } from '../base/descent.ts'
import { maySee, type SpawnResult, type SubAgent, type SubAgents } from '../base/subagents.ts'
import type { Caller, Tool, ToolAnswer } from '../base/tools.ts'
import { createIdempotencyKeys, done, excerpt, limited, lines, refused, tool } from './tool.ts'

export function agentTools(
  agents: SubAgents,
  when: (ms: number) => string,
  takeMessage: DescentLimits['takeMessage'],
): readonly Tool[] {
  const idempotencyKey = createIdempotencyKeys()
  /** The last post of each channel that a turn has been shown, so that no post between two of its calls is missed. */
  const shown = new WeakMap<Caller, Map<string, number>>()
  const agent = { type: 'string', about: 'its id or name', required: true } as const
  const channel = { type: 'string', about: 'its name', required: true } as const

  /** A guest sees only their own sub-agents, in their conversation. */
  const visibleTo = async ({ principal, lane }: Caller) =>
    (await agents.list(principal.owner ? undefined : lane)).filter(one => maySee(principal, one))

  async function find(wanted: string, caller: Caller): Promise<SubAgent | null> {
    const all = await visibleTo(caller)
    return all.find(one => one.id === wanted) ?? all.find(one => one.name === wanted) ?? null
  }

  return [
    tool({
      name: 'spawn_agent',
      about: 'Starts a sub-agent for one piece of work. Its report starts a new turn.',
      takes: {
        task: { type: 'string', about: 'what to do, self-contained', required: true },
        name: { type: 'string', about: '' },
        model: { type: 'string', about: 'model or backend/model' },
      },
      async call({ task, name = null, model = null }, caller) {
        if (model !== null && !caller.principal.owner)
          return refused('Only the owner chooses backends and models. Leave out the model. Nothing was started.')
        const key = `${caller.key}#spawn-${idempotencyKey(caller, task, name ?? '', model ?? '')}`
        const result = await agents.spawn({ name, instruction: task, model }, parentOf(caller), key)
        return answer(result, ({ name, id }) => `Started ${name} (${id}). Its report comes automatically.`)
      },
    }),
    tool({
      name: 'ask_agent',
      about: 'Asks a sub-agent something; it answers with a report, or here with wait.',
      takes: {
        agent,
        question: { type: 'string', about: '', required: true },
        wait: { type: 'integer', about: `seconds, ${longestWait} at most` },
      },
      async call({ agent, question, wait = 0 }, caller, signal) {
        const found = await find(agent, caller)
        if (!found) return unknown(agent)
        const key = `${caller.key}#ask-${idempotencyKey(caller, found.id, question)}`
        const result = await agents.ask(found.id, question, parentOf(caller), key)
        if (!result.ok) return refused(result.why)
        const who = `${found.name} (${found.id})`
        if (wait <= 0) return done(`Asked ${who}. ${byReport}`)
        const answered = await agents.answer(found.id, parentOf(caller), key, waitMs(wait), signal)
        if (answered.type === 'pending') return done(`Asked ${who}. ${notYet[answered.why]} ${byReport}`)
        return { ok: answered.ok, text: `${who} ${answered.ok ? 'answers' : 'failed'}:\n${answered.text}` }
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
      takes: { channel, text: { type: 'string', about: '', required: true } },
      call: ({ channel, text }, caller) =>
        inWords(async () => {
          const limit = await takeMessage(caller.principal)
          if (limit !== null) return refused(`${limit} Nothing was posted.`)
          await agents.publish(apart(channel, caller), caller.agent ?? 'agent', text)
          return done('Posted.')
        }),
    }),
    tool({
      name: 'read_channel',
      about: 'The newest posts of a channel of agents; with wait, new ones.',
      takes: {
        channel,
        limit: { type: 'integer', about: '' },
        wait: { type: 'integer', about: 'seconds' },
      },
      readOnly: true,
      call: ({ channel, limit, wait = 0 }, caller, signal) =>
        inWords(async () => {
          const name = apart(channel, caller)
          const last = shown.get(caller) ?? new Map<string, number>()
          shown.set(caller, last)
          const after = last.get(name) ?? (await agents.read(name, 1)).at(-1)?.id ?? 0
          const waits = { after, lane: caller.lane, ms: waitMs(wait), signal }
          const posts = await agents.read(name, limited(limit, 20, 200), wait > 0 ? waits : undefined)
          last.set(name, posts.at(-1)?.id ?? after)
          return lines(
            wait > 0 ? 'Nothing new was posted there.' : 'Nothing was posted there.',
            posts.map(({ at, from, text }) => `- ${when(at)}, ${from}: ${text}`),
          )
        }),
    }),
  ]
}

/** In seconds. */
const longestWait = 300

const waitMs = (seconds: number) => Math.min(longestWait, Math.max(0, seconds)) * 1000

const byReport = 'The answer comes automatically, as a report.'

const notYet = {
  late: 'There is no answer yet.',
  stopping: 'The gateway is stopping, so waiting has ended.',
  'too-many': 'Too many agents are waiting already, so you cannot wait.',
  'waits-for-you': 'It is waiting for an answer from you, so you cannot wait for it.',
} as const

const parentOf = ({ lane, place, principal, agent }: Caller) => ({ lane, place, principal, agent })

/** Agents that work for a guest share channels with each other only. */
const apart = (channel: string, { principal }: Caller) => {
  const hash = () =>
    createHash('sha256')
      .update(principal.person ?? '')
      .digest('hex')
      .slice(0, 8)
  return principal.owner ? channel : `guest-${hash()}.${channel}`
}

/** A RangeError becomes a refusal. */
async function inWords(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RangeError) return refused(error.message)
    throw error
  }
}

const unknown = (agent: string) =>
  refused(`There is no sub-agent ${JSON.stringify(agent.slice(0, 80))}; list_agents shows them.`)

const answer = (result: SpawnResult, words: (agent: SubAgent) => string): ToolAnswer =>
  result.ok ? done(words(result.agent)) : refused(result.why)
