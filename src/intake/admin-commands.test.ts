// `/cron` and `/memory`: what they answer, and to whom.
import { expect, test } from 'vitest'
import { briefing, learnt, recordingAdmin } from '../../test/fakes/admin.ts'
import type { CommandRow } from './command.ts'
import { cronRow } from './cron-command.ts'
import { memoryRow } from './memory-command.ts'

const owner = { id: '1', name: 'Ada', owner: true }
const guest = { id: '2', name: 'Bo', owner: false }

function setup(given: Partial<ReturnType<typeof recordingAdmin>> = {}) {
  const admin = { ...recordingAdmin(), ...given }
  const parts = { ...admin, time: (ms: number) => new Date(ms).toISOString().slice(0, 16) }
  const rows: readonly CommandRow[] = [cronRow(parts), memoryRow(parts)]
  const say = async (text: string, by = owner) => {
    const [, name = '', rest = ''] = /^\/(\w+)\s*([\s\S]*)$/.exec(text) ?? []
    const row = rows.find(({ names }) => names.includes(name)) ?? expect.fail('no such command')
    return row.answer?.({ lane: 'l', author: by, place: { chat: 'webchat', conversation: 'home' }, key: 'k', rest })
  }
  return { ...admin, say, rows }
}

test('/cron lists the jobs for everybody, and their problems only for the owner', async () => {
  const { say } = setup()
  const line = '- briefing: every weekday at 09:00; next 2026-11-17T08:00'
  expect(await say('/cron', guest)).toBe(line)
  expect(await say('/cron list')).toBe(`${line}\n\n**Invalid jobs**\n- broken in agents.md: no schedule`)
  const list = async () => ({ jobs: [{ ...briefing, paused: true, next: [] }], troubles: [] })
  expect(await setup({ jobs: { ...recordingAdmin().jobs, list } }).say('/cron')).toBe(
    '- briefing: every weekday at 09:00; paused',
  )
  const many = async () => ({ jobs: Array.from({ length: 60 }, () => briefing), troubles: [] })
  const flood = setup({ jobs: { ...recordingAdmin().jobs, list: many } })
  expect(
    String(await flood.say('/cron'))
      .split('\n')
      .slice(40),
  ).toEqual(['- and 20 more; `npx aetheel cron list` shows them all'])
  expect(
    String(await flood.say('/cron', guest))
      .split('\n')
      .slice(40),
  ).toEqual(['- and 20 more'])
  const none = setup({ jobs: { ...recordingAdmin().jobs, list: async () => ({ jobs: [], troubles: [] }) } })
  expect(await none.say('/cron', guest)).toBe('There are no jobs.')
  expect(await none.say('/cron')).toContain('/cron add NAME | SCHEDULE | INSTRUCTION')
})

test('/cron changes jobs for the owner and keeps the instruction verbatim', async () => {
  const { say, asked } = setup()
  expect(await say('/cron add tea | every weekday at 9:00 |\nMake tea | or coffee.')).toBe(
    'Added: tea, every weekday at 09:00. The next runs:\n- 2026-11-17T08:00\n- 2026-11-18T08:00\n- 2026-11-19T08:00\n\nIts answers go to discord:7.',
  )
  expect(await say('/cron add tea | sometimes | x')).toBe('Not done. Say when, such as "every 30 minutes".')
  expect(await say('/cron PAUSE briefing')).toBe('Paused: briefing.')
  expect(await say('/cron resume briefing')).toBe('Resumed: briefing. Next run: 2026-11-17T08:00.')
  expect(await say('/cron run briefing')).toBe('Started: briefing. Its answers go to discord:7.')
  expect(await say('/cron remove my job')).toBe('Not done. There is no job called "my job".')
  expect(asked).toEqual([
    [
      'add',
      { name: 'tea', schedule: 'every weekday at 9:00', instruction: 'Make tea | or coffee.', channel: 'webchat:home' },
    ],
    ['add', { name: 'tea', schedule: 'sometimes', instruction: 'x', channel: 'webchat:home' }],
    ['pause', 'briefing', true],
    ['pause', 'briefing', false],
    ['run', 'briefing'],
    ['remove', 'my job'],
  ])
})

test('/cron says of a job that runs once that it does', async () => {
  const once = { ...briefing, name: 'tea', words: 'once', next: [Date.UTC(2026, 10, 17, 8)] }
  const { say } = setup({ jobs: { ...recordingAdmin().jobs, add: async () => ({ ok: true, job: once }) } })
  expect(await say('/cron add tea | in an hour | x')).toBe(
    'Added: tea, once. It runs once:\n- 2026-11-17T08:00\n\nIts answers go to discord:7.',
  )
})

test('/cron explains its usage when it cannot parse the text, and changes nothing for a guest', async () => {
  const { say, asked } = setup()
  for (const text of [
    '/cron add',
    '/cron add tea',
    '/cron add tea | hourly',
    '/cron add | a | b',
    '/cron pause',
    '/cron constructor x',
    '/cron toString x',
  ])
    expect(await say(text)).toContain('Usage:\n`/cron add NAME')
  for (const text of [
    '/cron add a | every hour | c',
    '/cron pause briefing',
    '/cron run briefing',
    '/cron remove briefing',
  ])
    expect(await say(text, guest)).toBe('Only the owner of this gateway can change jobs.')
  expect(asked).toEqual([])
})

test('/memory treats any text that is not a subcommand as a search', async () => {
  const { say, asked } = setup()
  expect(await say('/memory the train')).toBe('- notes/trip.md: the **train** leaves at nine')
  expect(await say('/memory deny the cookies')).toBe('Nothing found.')
  expect(await say('/memory')).toContain('/memory WORDS')
  await say(`/memory ${'x'.repeat(5000)}`)
  expect(asked).toEqual([
    ['search', 'the train', 5],
    ['search', 'deny the cookies', 5],
    ['search', 'x'.repeat(1000), 5],
  ])
})

test('/memory log lists changes, and undo, approve and deny decide about them', async () => {
  const { say, asked } = setup()
  expect(await say('/memory log')).toBe(
    '- 7. 2026-11-16T08:00: memory.md, by the agent for discord:66, **waiting for your approval**: `-Has a cat.`',
  )
  expect(await say('/memory undo')).toBe('Undone: change 7 of memory.md.')
  expect(await say('/memory undo #7')).toBe('Undone: change 7 of memory.md.')
  expect(await say('/memory Approve 7')).toBe('Approved: change 7 of memory.md.')
  expect(await say('/memory deny 9')).toBe('Not done. There is no change 9.')
  expect(await say('/memory approve')).toContain('number of the change')
  expect(asked).toEqual([
    ['log', 10],
    ['undo', null],
    ['undo', 7],
    ['approve', 7],
    ['deny', 9],
  ])
  const none = setup({ memory: { ...recordingAdmin().memory, list: async () => [] } })
  expect(await none.say('/memory log')).toBe('No changes yet.')
  const byHand = { ...learnt, events: [], owner: true, state: 'made' as const, diff: '@@\n+a `b` c' }
  const list = async () => [byHand, { ...byHand, owner: false }]
  const shown = String(await setup({ memory: { ...recordingAdmin().memory, list } }).say('/memory log'))
  const [mine, unclear] = shown.split('\n')
  expect(mine).toMatch(/by hand: `\+a 'b' c`$/)
  expect(unclear).toMatch(/by hand or a guest: /)
})

test('/memory is only for the owner', () => {
  expect(setup().rows.map(({ names, ownerOnly = false }) => [...names, ownerOnly])).toEqual([
    ['cron', false],
    ['memory', true],
  ])
})

test('both descriptions fit into the limit of Discord', () => {
  for (const { about } of setup().rows) expect(about.length).toBeLessThanOrEqual(100)
})
