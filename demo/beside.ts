// The sample's data besides conversations: sub-agents, changes of memory and persona, pairing requests.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentLane, type NewEvent, type Place } from '../src/base/event.ts'
import { reportKey } from '../src/base/subagents.ts'
import { createGuardedFiles, versionOf } from '../src/store/guarded-files.ts'
import { createChanges, createPairing, createSubAgentStore } from '../src/store/index.ts'
import type { Past } from './past.ts'
import { people, workshop } from './story.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** One that is done, and one that waits for a limit to end. */
export async function startHelpers(past: Past, now: number): Promise<void> {
  const book = createSubAgentStore(past.db, past.clock)
  const place: Place = { chat: 'webchat', conversation: 'desk' }
  const parent = 'webchat:desk'
  const principal = { owner: true, person: 'owner', origin: 'demo' }
  const spawn = async (id: string, name: string, instruction: string): Promise<NewEvent> => {
    await book.add(
      { id, name, instruction, parent, place, root: parent, depth: 1, principal, model: 'haiku' },
      `spawn-${id}`,
    )
    await book.entered(id)
    const reportTo = { lane: parent, place }
    const what = { kind: 'assignment', agent: id, name, instruction, depth: 1, reportTo } as const
    return { key: `${agentLane(id)}:first`, lane: agentLane(id), what, replyTo: null, source: 'agent', principal }
  }
  const work = {
    ...{ at: now - 2.5 * minute, backend: 'claude', model: 'haiku', failed: null, answer: null },
    ...{ tools: ['Read: notes/site.md'], firstWordMs: 1_200, ms: 9_400 },
    ...{ inputTokens: 9_300, outputTokens: 410, costUsd: 0.013 },
  }
  past.goTo(work.at)
  const item = await past.play({
    ...work,
    event: await spawn('k3f9', 'links', 'Find dead links in notes/ and list them.'),
  })
  const text = 'Four links are dead: two in notes/site.md, two in notes/wholesalers.md.'
  const what = { kind: 'report', agent: 'k3f9', name: 'links', text, ok: true } as const
  const event = { key: reportKey('k3f9', item), lane: parent, what, replyTo: place, source: 'agent', principal }
  await past.play({ ...work, event, answer: 'The helper found four dead links; they are on the board.' })
  const asked = 'Read the small print of the three offers and list what each warranty leaves out.'
  const waits = { failed: 'rate-limited', laterAt: now + 95 * minute } as const
  await past.play({ ...work, event: await spawn('m7q2', 'warranties', asked), ...waits })
}

/** The last event of somebody before a time. */
type LastOf = (author: object, before: number) => number

/** By the agent, by hand, and by a guest, whose change is pending. */
export async function changeFiles(past: Past, dir: string, now: number, lastOf: LastOf): Promise<void> {
  const changes = createChanges(past.db, past.clock)
  const files = createGuardedFiles(dir)
  const kept = files.names().flatMap(file => {
    const found = files.look(file)
    return found.what === 'unreadable' ? [] : [[file, { text: found.text, hash: found.hash }] as const]
  })
  await changes.keep(new Map(kept))
  const [memory, soul] = ['memory.md', 'soul.md'].map(file => readFileSync(join(dir, file), 'utf8')) as [string, string]
  const without = (...parts: string[]) =>
    memory
      .split('\n')
      .filter(line => !parts.some(part => line.includes(part)))
      .join('\n')
  const made = { events: [], person: 'owner', owner: true, state: 'made', aside: null } as const
  const grown = [
    { ago: 12, before: without('Spoke lengths', 'Mrs Aydin', 'heat pump'), after: without('Mrs Aydin', 'heat pump') },
    { ago: 5, before: without('Mrs Aydin', 'heat pump'), after: without('heat pump') },
    { ago: 1, before: without('heat pump'), after: memory },
  ]
  for (const { ago, before, after } of grown) {
    past.goTo(now - ago * day)
    const change = {
      ...{ ...made, events: [lastOf(people.owner, now - ago * day)] },
      file: 'memory.md',
      lane: 'webchat:desk',
      before: versionOf(before),
      after: versionOf(after),
    }
    await changes.record(change, versionOf(memory))
  }
  past.goTo(now - 9 * hour)
  const before = versionOf(soul.replace('Calm, precise, a little dry.', 'Friendly and thorough.'))
  const byHand = { ...made, file: 'soul.md', lane: null, person: null, before, after: versionOf(soul) }
  await changes.record(byHand, versionOf(soul))
  past.goTo(now - 32 * minute)
  const modelOverride = memory.replace('is lent to Kim until the end of the month', 'belongs to Kim now')
  const byGuest = {
    events: [lastOf(people.kim, now)],
    lane: `discord:${workshop}`,
    person: people.kim.id,
    owner: false,
    aside: null,
  }
  const wanted = { file: 'memory.md', before: versionOf(memory), after: versionOf(modelOverride), ...byGuest }
  await changes.record({ ...wanted, state: 'waiting' }, versionOf(memory))
}

export async function letIn(past: Past, now: number): Promise<void> {
  const pairing = createPairing(past.db, past.clock, below => Math.floor(past.chance() * below))
  const asks = async (at: number, user: string, name: string) => {
    past.goTo(at)
    return (await pairing.request({ chat: 'discord', user, name }, '#workshop')) ?? ''
  }
  await pairing.approve(await asks(now - 21 * day, people.robin.id, 'Robin'), true)
  await pairing.approve(await asks(now - 19 * day, people.kim.id, 'Kim'), false)
  await pairing.deny(await asks(now - 4 * day, '77123400981234560', 'Cheap Parts 24'))
  await asks(now - 21 * minute, '502993817745621001', 'Deniz Aydin')
  await asks(now - 4 * minute, '611740293385120768', 'Jo from the course')
}
