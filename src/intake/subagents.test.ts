// /subagents: who sees what, who may start and stop, and how it reads.
import { expect, test } from 'vitest'
import type { NewSubAgent, Parent, SubAgent } from '../base/agents.ts'
import { subagentsRow } from './subagents.ts'

const owner = { id: 'owner', name: 'Ada', owner: true }
const guest = { id: 'g', name: 'Bob', owner: false }
const place = { chat: 'webchat', conversation: 'main' }
const minute = 60_000

const agent = (given: Partial<SubAgent> = {}): SubAgent => ({
  ...{ id: 'k3f9', name: 'scout', instruction: 'Look around.', parent: 'webchat:main', place, root: 'webchat:main' },
  ...{ depth: 1, behalf: { owner: true, person: 'owner' }, model: null, state: 'working', at: 0, endedAt: null },
  progress: 'Reading\nnotes.md',
  ...given,
})

function setup(all: readonly SubAgent[] = [agent()]) {
  const spawned: [NewSubAgent, Parent, string][] = []
  const stopped: string[] = []
  const { answer } = subagentsRow({
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
    answer?.({ lane, author, place, key: 'webchat:main:1', rest })
  return { say, spawned, stopped }
}

test('the list tells state, age and progress, with those at work first', async () => {
  const done = agent({ id: 'aaaa', name: 'old', state: 'done', endedAt: minute, progress: 'All is well.' })
  const { say } = setup([done, agent()])
  expect(await say('')).toBe(
    '- **scout** (`k3f9`): working for 3 min: Reading notes.md\n- **old** (`aaaa`): done 2 min ago: All is well.',
  )
  expect(await setup([]).say('')).toContain('no sub-agents')
})

test('a long list is cut, and says so', async () => {
  const lines = (await setup(Array.from({ length: 30 }, () => agent())).say(''))?.split('\n') ?? []
  expect([lines.length, lines.at(-1)]).toEqual([21, '… and 10 older ones.'])
})

test('others see their own conversation; the owner sees all, without what was said elsewhere', async () => {
  const { say } = setup([agent({ id: 'dm11', name: 'secret plan', root: 'discord:dm' }), agent()])
  expect(await say('', guest)).not.toContain('dm11')
  expect(await say('show dm11', guest)).toContain('There is no sub-agent "dm11"')
  const seen = await say('')
  expect(seen).toContain('`dm11` (another conversation): working')
  expect(seen).not.toContain('secret')
  expect(await say('show dm11')).toContain('secret plan')
})

test('show tells the task and what it does, or its last words', async () => {
  expect(await setup().say('show K3F9')).toBe(
    '**scout** (`k3f9`): working for 3 min\n\n**Task**\nLook around.\n\n**Right now**\nReading\nnotes.md',
  )
  const over = agent({ state: 'failed', endedAt: minute, progress: 'It burnt.', depth: 2, parent: 'agent:aaaa' })
  const told = await setup([over]).say('show k3f9', guest)
  expect(told).toContain('failed 2 min ago, started by agent:aaaa')
  expect(told).toContain('**Last words**\nIt burnt.')
})

test('new starts one from here under the key of the command, on the words of the owner', async () => {
  const { say, spawned } = setup()
  expect(await say('new  find the\nbug ')).toBe('Started **scout** (`k3f9`). Its report comes here.')
  expect(spawned).toEqual([
    [
      { name: null, instruction: 'find the\nbug', model: null },
      { lane: 'webchat:main', place, behalf: { owner: true, person: 'owner' }, agent: null },
      'webchat:main:1',
    ],
  ])
  expect(await say('new too much')).toBe('Not started. No more.')
  expect(await say('new')).toContain('/subagents new …')
})

test('only the owner starts and stops', async () => {
  const { say, spawned, stopped } = setup()
  expect(await say('new x', guest)).toBe('/subagents new is for the owner of this gateway.')
  expect(await say('STOP k3f9', guest)).toBe('/subagents stop is for the owner of this gateway.')
  expect([spawned, stopped]).toEqual([[], []])
  expect(await say('stop k3f9')).toBe('Stopped **scout** (`k3f9`), and what it had started.')
  expect(await setup([agent({ endedAt: 1 })]).say('stop k3f9')).toContain('does not work any more')
  expect(await say('stop nobody')).toContain('There is no sub-agent "nobody"')
})

test('anything else is told how to use it', async () => {
  const { say } = setup()
  for (const rest of ['what', 'show', 'stop ']) expect(await say(rest)).toContain('Use `/subagents`')
})
