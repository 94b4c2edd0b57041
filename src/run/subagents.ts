// Sub-agents: lanes of their own, started and asked within limits, and the channels on which they publish.
import {
  agentLane,
  agentOf,
  type NewSubAgent,
  type Parent,
  type SpawnResult,
  type SubAgent,
  type SubAgents,
} from '../base/agents.ts'
import type { Behalf, EventSink, LaneKey, NewEvent, ReportTo } from '../base/event.ts'
import { label } from '../base/label.ts'
import type { Lanes } from '../base/lanes.ts'
import { excerpt } from '../base/scrub.ts'
import { type EndParts, openSubAgentEnds, type SubAgentTurns, wishOf } from './subagent-ends.ts'

export interface SubAgentParts extends EndParts {
  readonly inbox: Pick<Lanes<NewEvent>, 'change' | 'file' | 'knows' | 'stop'>
  readonly accept: EventSink
  readonly limits: { readonly depth: number; readonly running: number }
  /** Short, for people to type: a few small letters and digits. */
  newId(): string
}

export interface OpenSubAgents extends SubAgents, SubAgentTurns {
  /** On start, when the inbox is open: puts in what a kill kept from it. */
  recover(): Promise<void>
}

const longest = { task: 50_000, post: 10_000, progress: 300 }

type Assignee = Omit<SubAgent, 'state' | 'at' | 'endedAt' | 'progress'>

export function openSubAgents(parts: SubAgentParts): OpenSubAgents {
  const { book, inbox, accept, limits } = parts
  const ends = openSubAgentEnds(parts)
  let queue: Promise<unknown> = Promise.resolve()

  /** One after the other, so that what was counted still holds when it is put in. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = queue.then(work)
    queue = mine.catch(() => undefined)
    return mine
  }

  async function spawn(wanted: NewSubAgent, parent: Parent, key: string): Promise<SpawnResult> {
    const known = book.withKey(key)
    if (known) return book.notEntered().some(one => one.key === key) ? enter(known, key) : { ok: true, agent: known }
    const by = starterOf(parent)
    if (by === undefined) return refused('You are being stopped and may not start anything.')
    const depth = (by?.depth ?? 0) + 1
    if (depth > limits.depth)
      return refused(
        'You were started by a sub-agent and may not start any yourself. Do it yourself, or say so in your report.',
      )
    const why = objectionTo(wanted.instruction) ?? objectionToModel(wanted.model)
    if (why !== null) return refused(why)
    const { lane, place } = reportToOf(parent)
    const id = freshId()
    if (isTooMany(id, { lane, place })) return refused(tooMany())
    const { instruction, model } = wanted
    const name = label(wanted.name ?? '', 40) || label(instruction, 40) || 'unnamed'
    const root = by?.root ?? lane
    const agent = { id, name, instruction, parent: lane, place, root, depth, behalf: parent.behalf, model }
    await book.add(agent, key)
    return enter(agent, key)
  }

  /** The row is there first. A kill before the event is leaves a row that `recover` puts in; after it, one that it only marks. */
  async function enter(agent: Assignee, key: string): Promise<SpawnResult> {
    const answer = await accept(firstAssignment(agent, key))
    if (answer.type === 'refused') {
      await book.remove(agent.id)
      return refused(answer.reason)
    }
    await book.entered(agent.id)
    return answerWith(agent.id)
  }

  const firstAssignment = (agent: Assignee, key: string) => {
    const { parent: lane, place, behalf, instruction } = agent
    return assignment(agent, key, instruction, { lane, place }, behalf)
  }

  async function ask(id: string, question: string, parent: Parent, key: string): Promise<SpawnResult> {
    const agent = book.find(id)
    const by = starterOf(parent)
    if (by === undefined) return refused('You are being stopped and may not ask anybody.')
    if (!agent || agent.root !== (by?.root ?? parent.lane))
      return refused(`There is no sub-agent ${label(id, 20)} here.`)
    if (by?.id === id) return refused('That is you.')
    const why = objectionTo(question)
    if (why !== null) return refused(why)
    const reportTo = reportToOf(parent)
    // What somebody else began does not become the owner's by a further question.
    const behalf = { owner: agent.behalf.owner && parent.behalf.owner, person: parent.behalf.person }
    const event = assignment(agent, key, question, reportTo, behalf)
    if (!(await inbox.knows(event.key))) {
      if (isTooMany(id, reportTo)) return refused(tooMany())
      const answer = await accept(event)
      if (answer.type === 'refused') return refused(answer.reason)
    }
    return answerWith(id)
  }

  /** The sub-agent that wants something; null: a conversation; undefined: one that may not any more. */
  function starterOf({ agent, lane }: Parent): SubAgent | null | undefined {
    const by = agent ?? agentOf(lane)
    if (by === null) return null
    return ends.isStopping(by) ? undefined : (book.find(by) ?? undefined)
  }

  /**
   * Whether there would be too many with this one. Who waits for a report counts as well: it is woken by it, and that cannot be
   * refused.
   */
  function isTooMany(id: string, reportTo: ReportTo): boolean {
    const counted = new Set([id, ...book.notEntered().map(one => one.agent.id)])
    const waitedFor = new Set<string>()
    const waits = (lane: LaneKey | undefined): void => {
      const up = lane === undefined ? null : agentOf(lane)
      if (up === null || waitedFor.has(up)) return
      waitedFor.add(up)
      counted.add(up)
      waits(book.find(up)?.parent)
    }
    waits(reportTo.lane)
    for (const work of book.open()) {
      counted.add(work.agent)
      waits(ends.targetOf(work.agent, work.event)?.lane)
    }
    return counted.size > limits.running
  }

  const tooMany = () =>
    `${limits.running} sub-agents are at work or waiting, and there may not be more. Wait for a report, or do it without one.`

  return {
    spawn: (wanted, parent, key) => alone(() => spawn(wanted, parent, key)),
    ask: (id, question, parent, key) => alone(() => ask(id, question, parent, key)),
    stop: id => alone(() => ends.stop(id)),

    async list(lane) {
      const above = lane === undefined ? null : agentOf(lane)
      if (above === null) return book.list(lane).map(shown)
      const root = book.find(above)?.root
      if (root === undefined) return []
      return book
        .list(root)
        .filter(({ id }) => id !== above && ends.isWithin(id, above))
        .map(shown)
    },
    async find(id) {
      const agent = book.find(id)
      return agent && withProgress(agent)
    },

    async publish(channel, from, text) {
      checkChannel(channel)
      if (text.trim() === '') throw new RangeError('There is nothing to publish: the text is empty.')
      if (Buffer.byteLength(text) > longest.post)
        throw new RangeError('At most 10 kB can be published at a time. Write it into a file, and publish where it is.')
      await book.post(channel, from, text)
    },
    async read(channel, most) {
      checkChannel(channel)
      return book.posts(channel, most)
    },

    reports: ends.reports,
    live: ends.live,
    recover: () =>
      alone(async () => {
        for (const { agent, key } of book.notEntered()) await putIn(agent, key)
      }),
  }

  async function putIn(agent: SubAgent, key: string): Promise<void> {
    const event = firstAssignment(agent, key)
    const answer = await accept(event)
    if (answer.type !== 'refused') return book.entered(agent.id)
    // A disk that takes nothing now may do so at the next start.
    if (answer.why === 'not-stored' || answer.why === 'stopping') return
    const end = { ok: false, text: `It could not be started. ${answer.reason}` }
    const parent = { lane: agent.parent, place: agent.place }
    await inbox.file(event.lane, event.key, event, ends.reportsTo([parent], agent, 0, end, agent.behalf))
    await book.remove(agent.id)
  }

  function shown(agent: SubAgent): SubAgent {
    const { progress, ...rest } = withProgress(agent)
    return { ...rest, progress: excerpt(progress, longest.progress) }
  }

  function withProgress(agent: SubAgent): SubAgent {
    return { ...agent, progress: ends.progressOf(agent.id) || agent.progress }
  }

  function answerWith(id: string): SpawnResult {
    const agent = book.find(id)
    return agent ? { ok: true, agent } : refused('It could not be kept. Try again.')
  }

  function freshId(): string {
    for (;;) {
      const id = parts.newId()
      if (!book.find(id)) return id
    }
  }
}

function assignment(agent: Assignee, key: string, instruction: string, reportTo: ReportTo, behalf: Behalf): NewEvent {
  const { id, name, depth, model } = agent
  const wish = wishOf(model)
  return {
    key: `${agentLane(id)}:${key}`,
    lane: agentLane(id),
    what: { kind: 'assignment', agent: id, name, instruction, depth, reportTo },
    replyTo: null,
    source: 'agent',
    behalf,
    ...(wish && { wish }),
  }
}

/** A sub-agent that is told something tells nobody but its parent. */
const reportToOf = ({ lane, place, agent }: Parent): ReportTo => {
  const by = agent ?? agentOf(lane)
  return by === null ? { lane, place } : { lane: agentLane(by), place: null }
}

const refused = (why: string): SpawnResult => ({ ok: false, why })

function objectionTo(instruction: string): string | null {
  if (instruction.trim() === '') return 'Say what is to be done: the instruction is empty.'
  if (instruction.length <= longest.task) return null
  return `An instruction may have ${longest.task} characters. Write it into a file, and say where it is.`
}

const objectionToModel = (model: string | null) =>
  model === null || /^[\w.:/@+[\]-]{1,200}$/.test(model) ? null : 'That does not look like the name of a model.'

function checkChannel(name: string): void {
  if (!/^[a-z0-9._-]{1,40}$/.test(name))
    throw new RangeError('A channel is named with 1 to 40 of a-z, 0-9, dot, dash and underscore.')
}
