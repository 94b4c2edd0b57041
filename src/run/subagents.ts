// Sub-agents: each has its own lane. Starts and asks them within limits, and keeps the channels they publish on.
import type { DescentLimits } from '../base/descent.ts'
import {
  agentLane,
  agentOf,
  type EventSink,
  type LaneKey,
  type NewEvent,
  type Principal,
  type ReportTo,
} from '../base/event.ts'
import type { Lanes } from '../base/lanes.ts'
import { parseModelOverride } from '../base/model-override.ts'
import { excerpt, label } from '../base/scrub.ts'
import { createSerial } from '../base/serial.ts'
import type { NewSubAgent, Parent, SpawnResult, SubAgent, SubAgents } from '../base/subagents.ts'
import { type EndParts, openSubAgentEnds, type SubAgentTurns } from './subagent-ends.ts'
import { openSubAgentWaits, type SubAgentWaits } from './subagent-waits.ts'

export interface SubAgentParts extends EndParts {
  readonly inbox: Pick<Lanes<NewEvent>, 'change' | 'file' | 'knows' | 'lend' | 'stop'>
  readonly accept: EventSink
  readonly limits: {
    readonly depth: number
    readonly running: number
    /** Of these, how many guests and webhooks together leave to the owner. */
    readonly ownerOnly: number
    /** For one guest, or one call of a webhook. */
    perGuest(): number
  }
  readonly takeTurns: DescentLimits['takeTurns']
  /** Short enough for people to type: a few lowercase letters and digits. */
  newId(): string
}

export interface OpenSubAgents extends SubAgents, SubAgentTurns, Pick<SubAgentWaits, 'notify' | 'skipReceived'> {
  /** Ends all waits, because the gateway stops. */
  endWaits(): void
  /** On start, when the inbox is open: enqueues assignments that a kill prevented. */
  recover(): Promise<void>
}

/** The task, the report that follows, and the report that each sub-agent above makes in turn. */
const turnsFor = (by: SubAgent | null) => 2 + (by?.depth ?? 0)

const longest = { task: 50_000, post: 10_000, progress: 300 }

type Assignee = Omit<SubAgent, 'state' | 'at' | 'endedAt' | 'progress'>

export function openSubAgents(parts: SubAgentParts): OpenSubAgents {
  const { store, inbox, accept, limits, takeTurns } = parts
  const ends = openSubAgentEnds(parts)
  const waits = openSubAgentWaits(parts)
  /** Serialized, so that the count is still correct when the assignment is enqueued. */
  const serial = createSerial()

  async function spawn(wanted: NewSubAgent, parent: Parent, key: string): Promise<SpawnResult> {
    const known = store.withKey(key)
    if (known) return store.notEntered().some(one => one.key === key) ? enter(known, key) : { ok: true, agent: known }
    const by = starterOf(parent)
    if (by === undefined) return refused('You are being stopped, so you cannot start a sub-agent.')
    const depth = (by?.depth ?? 0) + 1
    if (depth > limits.depth)
      return refused(
        'You were started by a sub-agent, so you cannot start sub-agents. Do the work yourself, or say so in your report.',
      )
    const why = instructionProblem(wanted.instruction) ?? modelProblem(wanted.model, parent.principal)
    if (why !== null) return refused(why)
    const { lane, place } = reportToOf(parent)
    const id = freshId()
    const wrong = tooMany(id, { lane, place }, parent.principal) ?? (await takeTurns(parent.principal, turnsFor(by)))
    if (wrong !== null) return refused(wrong)
    const { instruction, model } = wanted
    const name = label(wanted.name ?? '', 40) || label(instruction, 40) || 'unnamed'
    const root = by?.root ?? lane
    const agent = { id, name, instruction, parent: lane, place, root, depth, principal: parent.principal, model }
    await store.add(agent, key)
    return enter(agent, key)
  }

  /** The row is written before the event. After a kill in between, `recover` enqueues the event; after a later kill it only updates the row. */
  async function enter(agent: Assignee, key: string): Promise<SpawnResult> {
    const answer = await accept(firstAssignment(agent, key))
    if (answer.type === 'refused') {
      await store.remove(agent.id)
      return refused(answer.reason)
    }
    await store.entered(agent.id)
    return answerWith(agent.id)
  }

  const firstAssignment = (agent: Assignee, key: string) => {
    const { parent: lane, place, principal, instruction } = agent
    return assignment(agent, key, instruction, { lane, place }, principal)
  }

  async function ask(id: string, question: string, parent: Parent, key: string): Promise<SpawnResult> {
    const agent = store.find(id)
    const by = starterOf(parent)
    if (by === undefined) return refused('You are being stopped, so you cannot ask a sub-agent.')
    if (!agent || agent.root !== (by?.root ?? parent.lane))
      return refused(`There is no sub-agent ${label(id, 20)} here.`)
    if (by?.id === id) return refused('That is you.')
    const why = instructionProblem(question)
    if (why !== null) return refused(why)
    const reportTo = reportToOf(parent)
    // A follow-up question by the owner does not give owner rights to an agent that somebody else started.
    const principal = { ...parent.principal, owner: agent.principal.owner && parent.principal.owner }
    const event = assignment(agent, key, question, reportTo, principal)
    if (!(await inbox.knows(event.key))) {
      const wrong = tooMany(id, reportTo, principal) ?? (await takeTurns(principal, turnsFor(by)))
      if (wrong !== null) return refused(wrong)
      const answer = await accept(event)
      if (answer.type === 'refused') return refused(answer.reason)
    }
    return answerWith(id)
  }

  /** The sub-agent that makes the request; null: a conversation; undefined: a sub-agent that is being stopped or is unknown. */
  function starterOf({ agent, lane }: Parent): SubAgent | null | undefined {
    const by = agent ?? agentOf(lane)
    if (by === null) return null
    return ends.isStopping(by) ? undefined : (store.find(by) ?? undefined)
  }

  /**
   * Why there would be too many with this one; null: there would not. A sub-agent that waits for a report counts too: the report starts it
   * again, and that cannot be refused.
   */
  function tooMany(id: string, reportTo: ReportTo, principal: Principal): string | null {
    const counted = new Set([id, ...store.notEntered().map(one => one.agent.id)])
    const waitedFor = new Set<string>()
    const waits = (lane: LaneKey | undefined): void => {
      const up = lane === undefined ? null : agentOf(lane)
      if (up === null || waitedFor.has(up)) return
      waitedFor.add(up)
      counted.add(up)
      waits(store.find(up)?.parent)
    }
    waits(reportTo.lane)
    for (const work of store.open()) {
      counted.add(work.agent)
      waits(ends.targetOf(work.agent, work.event)?.lane)
    }
    const limit = (most: number, whose = '') =>
      `The limit of ${most} sub-agents${whose} that are running or waiting is reached. Wait for a report, or do it yourself.`
    if (counted.size > limits.running) return limit(limits.running)
    if (principal.owner) return null
    const guests = [...counted]
      .flatMap(one => (one === id ? principal : (store.find(one)?.principal ?? [])))
      .filter(isGuest)
    if (guests.filter(one => isSame(one, principal)).length > limits.perGuest())
      return limit(limits.perGuest(), ' of one guest')
    const together = limits.running - limits.ownerOnly
    return guests.length > together ? limit(together, ' of all guests') : null
  }

  return {
    spawn: (wanted, parent, key) => serial(() => spawn(wanted, parent, key)),
    ask: (id, question, parent, key) => serial(() => ask(id, question, parent, key)),
    stop: id => serial(() => ends.stop(id)),
    answer: (id, parent, key, ms, signal) =>
      waits.answer(id, assignmentKey(id, key), reportToOf(parent).lane, { lane: parent.lane, ms, signal }),

    async list(lane) {
      const above = lane === undefined ? null : agentOf(lane)
      if (above === null) return store.list(lane).map(shown)
      const root = store.find(above)?.root
      if (root === undefined) return []
      return store
        .list(root)
        .filter(({ id }) => id !== above && ends.isWithin(id, above))
        .map(shown)
    },
    async find(id) {
      const agent = store.find(id)
      return agent && withProgress(agent)
    },

    async publish(channel, from, text) {
      checkChannel(channel)
      if (text.trim() === '') throw new RangeError('The text is empty, so there is nothing to publish.')
      if (Buffer.byteLength(text) > longest.post)
        throw new RangeError('At most 10 kB can be published at a time. Write it to a file and publish its path.')
      await store.post(channel, from, text)
      waits.notify()
    },
    async read(channel, most, wait) {
      checkChannel(channel)
      return wait ? waits.posts(channel, most, wait.after, wait) : store.posts(channel, most)
    },

    notify: waits.notify,
    skipReceived: waits.skipReceived,
    endWaits: waits.close,

    reports: ends.reports,
    live: ends.live,
    recover: () =>
      serial(async () => {
        for (const { agent, key } of store.notEntered()) await enqueue(agent, key)
      }),
  }

  async function enqueue(agent: SubAgent, key: string): Promise<void> {
    const event = firstAssignment(agent, key)
    const answer = await accept(event)
    if (answer.type !== 'refused') return store.entered(agent.id)
    // The disk may accept it at the next start.
    if (answer.why === 'not-stored' || answer.why === 'stopping') return
    const end = { ok: false, text: `It could not be started. ${answer.reason}` }
    const parent = { lane: agent.parent, place: agent.place }
    await inbox.file(event.lane, event.key, event, ends.reportsTo([parent], agent, 0, end, agent.principal))
    await store.remove(agent.id)
  }

  function shown(agent: SubAgent): SubAgent {
    const { progress, ...rest } = withProgress(agent)
    return { ...rest, progress: excerpt(progress, longest.progress) }
  }

  function withProgress(agent: SubAgent): SubAgent {
    return { ...agent, progress: ends.progressOf(agent.id) || agent.progress }
  }

  function answerWith(id: string): SpawnResult {
    const agent = store.find(id)
    return agent ? { ok: true, agent } : refused('The sub-agent could not be stored. Try again.')
  }

  function freshId(): string {
    for (;;) {
      const id = parts.newId()
      if (!store.find(id)) return id
    }
  }
}

const assignmentKey = (id: string, key: string) => `${agentLane(id)}:${key}`

export function assignment(
  agent: Assignee,
  key: string,
  instruction: string,
  reportTo: ReportTo,
  principal: Principal,
): NewEvent {
  const { id, name, depth, model } = agent
  return {
    key: assignmentKey(id, key),
    lane: agentLane(id),
    what: { kind: 'assignment', agent: id, name, instruction, depth, reportTo },
    replyTo: null,
    source: 'agent',
    principal,
    ...(model === null ? {} : { modelOverride: parseModelOverride(model) }),
  }
}

/** A sub-agent gets its reports in its own lane and posts nowhere else. */
const reportToOf = ({ lane, place, agent }: Parent): ReportTo => {
  const by = agent ?? agentOf(lane)
  return by === null ? { lane, place } : { lane: agentLane(by), place: null }
}

const isGuest = ({ owner }: Principal) => !owner

/** Calls of webhooks have no person, so each is counted by itself. */
const isSame = (a: Principal, b: Principal) =>
  a.person === null ? b.person === null && a.origin === b.origin : a.person === b.person

const refused = (why: string): SpawnResult => ({ ok: false, why })

function instructionProblem(instruction: string): string | null {
  if (instruction.trim() === '') return 'The instruction is empty. Say what to do.'
  if (instruction.length <= longest.task) return null
  return `An instruction may have at most ${longest.task} characters. Write it to a file and give its path.`
}

function modelProblem(model: string | null, { owner }: Principal): string | null {
  if (model === null) return null
  if (!/^[\w.:/@+[\]-]{1,200}$/.test(model)) return 'That does not look like the name of a model.'
  // Each backend has other tools and other walls.
  return owner || parseModelOverride(model).backend === null
    ? null
    : 'Only the owner can choose another backend. Name a model only, or none.'
}

function checkChannel(name: string): void {
  if (!/^[a-z0-9._-]{1,40}$/.test(name))
    throw new RangeError('A channel name has 1 to 40 characters: a-z, 0-9, dot, dash and underscore.')
}
