// /subagents: who sees what, who may start and stop, and how it reads.
import { expect, test } from 'vitest'
import type { NewSubAgent, Parent, SubAgent } from '../base/subagents.ts'
import { subagentsRow } from './subagents.ts'

const owner = { id: 'owner', name: 'Ada', owner: true }
const guest = { id: 'g', name: 'Bob', owner: false }
const place = { chat: 'webchat', conversation: 'main' }
const minute = 60_000

const agent = (given: Partial<SubAgent> = {}): SubAgent => ({
  ...{ id: 'k3f9', name: 'scout', instruction: 'Look around.', parent: 'webchat:main', place, root: 'webchat:main' },
  ...{
    depth: 1,
    principal: { owner: true, person: 'owner', origin: 'k' },
    model: null,
    state: 'working',
    at: 0,
    endedAt: null,
  },
  progress: 'Reading\nnotes.md',
  ...given,
})

function setup(all: readonly SubAgent[] = [agent()]) {
  const spawned: [NewSubAgent, Parent, string][] = []
  const stopped: string[] = []
  const row = subagentsRow({
    now: () => 3 * minute,
    subagents: {
      list: async lane => all.filter(one => lane === undefined || one.root === lane),
      find: async id => all.find(one => one.id === id) ?? null,
      async spawn(wanted, parent, key) {
        spawned.push([wanted, parent, key])
        return wanted.instruction === 'too much' ? { ok: false, why: 'No more.' } : { ok: true, agent: agent() }
      },
      async stop(id) {
        stopped.push(id)
        return all.find(one => one.id === id)?.endedAt === null
      },
    },
  })
  const say = (rest: string, author = owner, lane = 'webchat:main') =>
    row.answer?.({ lane, author, place, key: 'webchat:main:1', rest })
  return { say, spawned, stopped }
}

test('the list shows state, age and progress, with running sub-agents first', async () => {
  const done = agent({ id: 'aaaa', name: 'old', state: 'done', endedAt: minute, progress: 'All is well.' })
  const { say } = setup([done, agent()])
  expect(await say('')).toBe(
    '- **scout** (`k3f9`): working for 3 min: Reading notes.md\n- **old** (`aaaa`): done 2 min ago: All is well.',
  )
  expect(await setup([]).say('')).toContain('no sub-agents')
})

test('a long list is cut, and says so', async () => {
  const lines = String(await setup(Array.from({ length: 30 }, () => agent())).say('')).split('\n')
  expect([lines.length, lines.at(-1)]).toEqual([21, '… and 10 older ones.'])
})

test('guests see only what works for them, also in a conversation with the owner and other guests', async () => {
  const principal = (person: string) => ({ principal: { owner: false, person, origin: 'k' } })
  const { say } = setup([
    ...[agent(), agent({ id: 'bobs', name: 'mine', ...principal('g') })],
    ...[agent({ id: 'eves', name: 'hers', ...principal('e') })],
    agent({ id: 'away', name: 'elsewhere', root: 'discord:dm', ...principal('g') }),
  ])
  expect(await say('', guest)).toBe('- **mine** (`bobs`): working for 3 min: Reading notes.md')
  for (const id of ['k3f9', 'eves', 'away']) expect(await say(`show ${id}`, guest)).toContain('There is no sub-agent')
  expect(await say('show bobs', guest)).toContain('mine')
})

test('guests see only their conversation; the owner sees all, but no text from other conversations', async () => {
  const { say } = setup([agent({ id: 'dm11', name: 'secret plan', root: 'discord:dm' }), agent()])
  expect(await say('', guest)).not.toContain('dm11')
  expect(await say('show dm11', guest)).toContain('There is no sub-agent "dm11"')
  const seen = await say('')
  expect(seen).toContain('`dm11` (another conversation): working')
  expect(seen).not.toContain('secret')
  expect(await say('show dm11')).toContain('secret plan')
})

test('show prints the task and its progress or result', async () => {
  expect(await setup().say('show K3F9')).toBe(
    '**scout** (`k3f9`): working for 3 min\n\n**Task**\nLook around.\n\n**Right now**\nReading\nnotes.md',
  )
  const over = agent({ state: 'failed', endedAt: minute, progress: 'It burnt.', depth: 2, parent: 'agent:aaaa' })
  const answer = await setup([over]).say('show k3f9')
  expect(answer).toContain('failed 2 min ago, started by agent:aaaa')
  expect(answer).toContain('**Result**\nIt burnt.')
})

test('new starts a sub-agent in this conversation, under the key of the command, for the owner', async () => {
  const { say, spawned } = setup()
  expect(await say('new  find the\nbug ')).toBe('Started **scout** (`k3f9`). It will report here.')
  expect(spawned).toEqual([
    [
      { name: null, instruction: 'find the\nbug', model: null },
      {
        lane: 'webchat:main',
        place,
        principal: { owner: true, person: 'owner', origin: 'webchat:main:1' },
        agent: null,
      },
      'webchat:main:1',
    ],
  ])
  expect(await say('new too much')).toBe('Not started. No more.')
  expect(await say('new')).toContain('/subagents new …')
})

test('only the owner may start and stop', async () => {
  const { say, spawned, stopped } = setup()
  expect(await say('new x', guest)).toBe('/subagents new is for the owner of this gateway.')
  expect(await say('STOP k3f9', guest)).toBe('/subagents stop is for the owner of this gateway.')
  expect([spawned, stopped]).toEqual([[], []])
  expect(await say('stop k3f9')).toBe('Stopped **scout** (`k3f9`), and the sub-agents it had started.')
  expect(await setup([agent({ endedAt: 1 })]).say('stop k3f9')).toContain('is no longer running')
  expect(await say('stop nobody')).toContain('There is no sub-agent "nobody"')
})

test('anything else is answered with the usage', async () => {
  const { say } = setup()
  for (const rest of ['what', 'show', 'stop ']) expect(await say(rest)).toContain('Use `/subagents`')
})
