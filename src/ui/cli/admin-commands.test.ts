// cron, sessions and memory as a person types them: at a running gateway, over its real API, and without one.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { briefing, hit, kitchen, learnt, recordingAdmin } from '../../../test/fakes/admin.ts'
import { noPorts } from '../../../test/fakes/ports.ts'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import type { SessionsAdmin } from '../../base/sessions.ts'
import { closeAll, open, token } from '../http/server.rig.ts'
import { runCli } from './index.ts'
import type { CliPorts, Flags } from './ports.ts'

afterEach(closeAll)

type Admin = ReturnType<typeof recordingAdmin>

async function run(args: readonly string[], ports: Partial<CliPorts> = {}, terminal = fakeTerminal()) {
  const code = await runCli(args, { ...noPorts(), ...ports }, terminal, '1.2.3')
  return { code, out: terminal.out(), err: terminal.err() }
}

/** With a running gateway over its API; otherwise the stores are opened and closed again. */
const ways = {
  async running(admin: Admin) {
    const { url } = await open({ admin: admin })
    const shut = async () => Promise.reject(new Error('opened although a gateway runs'))
    return {
      ports: { find: async () => ({ pid: 7, url, token }), jobs: shut, sessions: shut, memory: shut },
      left: () => 0,
    }
  },
  async stopped({ jobs, sessions, memory }: Admin) {
    let opened = 0
    const kept = <Admin>(admin: Admin) => {
      opened++
      return { ...admin, close: async () => void opened-- }
    }
    const ports = {
      jobs: async () => kept(jobs),
      sessions: async () => kept(sessions),
      memory: async () => kept(memory),
    }
    return { ports, left: () => opened }
  },
}

describe.each(Object.keys(ways) as (keyof typeof ways)[])('the gateway is %s', way => {
  const setup = async (given: Partial<Admin> = {}) => {
    const admin = { ...recordingAdmin(), ...given }
    const { ports, left } = await ways[way](admin)
    const say = async (...args: string[]) => {
      const ran = await run(args, ports)
      expect(left()).toBe(0)
      return ran
    }
    return { ...admin, ports, say }
  }

  test('cron list shows when each job runs, and the entries that cannot be used', async () => {
    const twin = {
      ...briefing,
      kind: 'heartbeat' as const,
      paused: true,
      next: [],
      last: null,
      channel: null,
      answersTo: null,
    }
    const evil = { ...briefing, name: 'e\u001b[2Jvil\nline', next: [], words: 'at 2020-01-01 09:00' }
    const list = async () => ({
      jobs: [briefing, twin, evil],
      troubles: [{ file: 'agents.md', name: 'broken', why: 'no\u001b schedule' }],
    })
    const { say, jobs } = await setup({ jobs: { ...recordingAdmin().jobs, list } })
    const { code, out } = await say('cron', 'list')
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      'NAME                SCHEDULE                NEXT                      LAST                      ANSWERS TO',
      'cron:briefing       every weekday at 09:00  Tue 2026-11-17 09:00 CET  Mon 2026-11-16 09:00 CET  discord:7',
      'heartbeat:briefing  every weekday at 09:00  paused                    never                     nowhere',
      'e[2Jvil line        at 2020-01-01 09:00     never                     Mon 2026-11-16 09:00 CET  discord:7',
      '',
      'Cannot be used:',
      'broken in agents.md: no schedule',
      '',
    ])
    expect(JSON.parse((await say('cron', 'list', '--json')).out)).toEqual(await jobs.list())
  })

  test('cron add passes on all options and shows the next three runs', async () => {
    const { say, asked } = await setup()
    expect(await say('cron', 'add', 'tea', 'every weekday at 9:00', 'Make', 'tea.')).toEqual({
      code: 0,
      out: 'Added: tea, every weekday at 09:00. The next runs:\n  Tue 2026-11-17 09:00 CET\n  Wed 2026-11-18 09:00 CET\n  Thu 2026-11-19 09:00 CET\nIts answers go to discord:7.\n',
      err: '',
    })
    const all = ['--channel', 'discord:1', '--timezone', 'Asia/Tokyo', '--model', 'codex/x', '--if-missed', 'once']
    const json = await say('cron', 'add', 'a', 'b', 'c', ...all, '--skip-if-unchanged', 'file x.md', '--json')
    expect(JSON.parse(json.out)).toMatchObject({ ok: true, job: { name: 'a' } })
    expect(asked).toEqual([
      [
        'add',
        {
          ...{ name: 'tea', schedule: 'every weekday at 9:00', instruction: 'Make tea.' },
          ...{ zone: null, channel: null, model: null, skipIf: null },
        },
      ],
      [
        'add',
        {
          ...{ name: 'a', schedule: 'b', instruction: 'c', zone: 'Asia/Tokyo', channel: 'discord:1' },
          ...{ model: 'codex/x', missed: 'once', skipIf: 'file x.md' },
        },
      ],
    ])
    const refused = { code: 1, out: '', err: 'aetheel: Say when, such as "every 30 minutes".\n' }
    expect(await say('cron', 'add', 'tea', 'sometimes', 'x')).toEqual(refused)
    const refusedJson = await say('cron', 'add', 'tea', 'sometimes', 'x', '--json')
    expect([refusedJson.code, JSON.parse(refusedJson.out)]).toMatchObject([1, { ok: false }])
  })

  test('cron pauses, resumes and removes', async () => {
    const { say, asked } = await setup()
    expect(await say('cron', 'pause', 'briefing')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Paused: briefing'),
    })
    expect(await say('cron', 'resume', 'briefing')).toMatchObject({
      code: 0,
      out: 'Resumed: briefing. Next run: Tue 2026-11-17 09:00 CET.\n',
    })
    expect(await say('cron', 'remove', 'briefing')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Removed: briefing'),
    })
    expect(await say('cron', 'remove', 'x')).toEqual({
      code: 1,
      out: '',
      err: 'aetheel: There is no job called "x".\n',
    })
    expect(asked).toEqual([
      ['pause', 'briefing', true],
      ['pause', 'briefing', false],
      ['remove', 'briefing'],
      ['remove', 'x'],
    ])
  })

  test('cron run needs a running gateway', async () => {
    const { say, asked } = await setup()
    const ran = await say('cron', 'run', 'briefing')
    if (way === 'running')
      expect(ran).toMatchObject({ code: 0, out: 'Started: briefing. Its answers go to discord:7.\n' })
    else
      expect(ran).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^aetheel: no gateway is running here.*npx aetheel start\n$/),
      })
    expect(asked).toEqual(way === 'running' ? [['run', 'briefing']] : [])
  })

  test('sessions are listed', async () => {
    const { say } = await setup()
    expect((await say('sessions', 'list')).out.split('\n')).toEqual([
      'CONVERSATION     BACKEND  LAST USED                 WAITING  SESSION',
      'webchat:kitchen  claude   Mon 2026-11-16 09:00 CET  1        7f1c',
      '',
    ])
    expect(JSON.parse((await say('sessions', 'list', '--json')).out)).toEqual([kitchen])
    const none = await setup({
      sessions: { ...recordingAdmin().sessions, list: async () => ({ sessions: [], conversations: 0, next: null }) },
    })
    expect((await none.say('sessions', 'list')).out).toBe('No conversation has a session yet.\n')
  })

  test('of many sessions the latest hundred are listed, or the given number, or all with --json', async () => {
    const many = Array.from({ length: 2500 }, (_, i) => ({ ...kitchen, lane: `webchat:${i}` }))
    const asked: number[] = []
    const list: SessionsAdmin['list'] = async (most, after = '0') => {
      asked.push(most)
      const end = Number(after) + most
      const next = end < many.length ? String(end) : null
      return { sessions: many.slice(Number(after), end), conversations: many.length, next }
    }
    const { say } = await setup({ sessions: { ...recordingAdmin().sessions, list } })
    const lines = (await say('sessions', 'list')).out.trimEnd().split('\n')
    expect([lines.length, lines.at(-1)]).toEqual([
      102,
      'These are the 100 used last, of 2500 conversations. More: -n NUMBER.',
    ])
    expect((await say('sessions', 'list', '-n', '1500')).out.trimEnd().split('\n')).toHaveLength(1502)
    expect((await say('sessions', 'list', '-n', '2500')).out.trimEnd().split('\n')).toHaveLength(2501)
    expect(JSON.parse((await say('sessions', 'list', '--json')).out)).toEqual(many)
    expect(Math.max(...asked)).toBe(1000)
  })

  test('sessions clear clears one, all, or by default the stale ones; more than one of these is an error', async () => {
    const { say, asked } = await setup()
    expect(await say('sessions', 'clear', 'webchat:kitchen')).toEqual({
      ...{ code: 0, out: '1 conversation will start over:\n  webchat:kitchen\n', err: '' },
    })
    expect((await say('sessions', 'clear')).out).toBe('There is nothing to clear.\n')
    expect((await say('sessions', 'clear', '--stale')).code).toBe(0)
    expect(JSON.parse((await say('sessions', 'clear', '--all', '--json')).out)).toEqual({
      ok: true,
      lanes: [kitchen.lane],
    })
    expect(await say('sessions', 'clear', 'x')).toMatchObject({ code: 1, err: expect.stringContaining('No such') })
    expect(asked).toEqual(['webchat:kitchen', 'stale', 'stale', 'all', 'x'].map(which => ['clear', which]))
    for (const args of [
      ['a', '--all'],
      ['a', '--stale'],
      ['--stale', '--all'],
      ['a', 'b'],
    ])
      expect((await say('sessions', 'clear', ...args)).code).toBe(2)
    expect(asked).toHaveLength(5)
  })

  test('memory is searched and synced', async () => {
    const { say, asked } = await setup()
    const { out } = await say('memory', 'search', 'the', 'train & more')
    expect(out).toBe('notes/trip.md  Trip  Sun 2026-11-01 01:00 CET\n  the train leaves at nine\n')
    expect(JSON.parse((await say('memory', 'search', '-n', '3', '--json', 'train')).out)).toEqual([hit])
    expect(await say('memory', 'search', 'nothing')).toEqual({ code: 0, out: 'Nothing was found.\n', err: '' })
    expect(asked).toEqual([
      ['search', 'the train & more', 10],
      ['search', 'train', 3],
      ['search', 'nothing', 10],
    ])
    expect((await say('memory', 'sync')).out).toBe('12 documents, 1 of them new or changed.\n')
    expect(JSON.parse((await say('memory', 'sync', '--json')).out)).toEqual({ documents: 12, changed: 1 })
  })

  test('memory log says who changed what where, and shows the changes with --diff', async () => {
    const changes = [
      learnt,
      { ...learnt, id: 6, owner: true, state: 'made' as const },
      {
        ...learnt,
        id: 5,
        events: [],
        owner: true,
        person: null,
        lane: null,
        state: 'undone' as const,
        diff: '+\u001b[31mred\n',
      },
    ]
    const { say } = await setup({ memory: { ...recordingAdmin().memory, list: async most => changes.slice(0, most) } })
    const plain = (await say('memory', 'log')).out.split('\n')
    expect(plain).toEqual([
      'ID  WHEN                      FILE       BY                        CONVERSATION  STATE',
      '7   Mon 2026-11-16 09:00 CET  memory.md  the agent for discord:66  discord:7     waits for you',
      '6   Mon 2026-11-16 09:00 CET  memory.md  the agent for the owner   discord:7     in effect',
      '5   Mon 2026-11-16 09:00 CET  memory.md  hand                      -             undone',
      '',
      'Decide with: npx aetheel memory approve ID, or: npx aetheel memory deny ID',
      '',
    ])
    const { out } = await say('memory', 'log', '--diff')
    expect(out).toContain('waits for you\n    @@ -1 +1,2 @@\n     Likes tea.\n    -Has a cat.\n    +Has two cats.\n6 ')
    expect(out).toContain('undone\n    +[31mred\n\nDecide')
    expect(JSON.parse((await say('memory', 'log', '-n', '1', '--json')).out)).toEqual([learnt])
  })

  test('memory changes are undone, approved and denied', async () => {
    const { say, asked } = await setup()
    expect((await say('memory', 'undo')).out).toBe('Undone: change 7 of memory.md.\n')
    expect((await say('memory', 'undo', '7')).code).toBe(0)
    expect((await say('memory', 'approve', '7')).out).toContain('Approved: change 7 of memory.md')
    expect((await say('memory', 'deny', '7')).out).toContain('Denied: change 7')
    expect(JSON.parse((await say('memory', 'deny', '7', '--json')).out)).toMatchObject({ ok: true, change: { id: 7 } })
    expect(await say('memory', 'approve', '8')).toEqual({ code: 1, out: '', err: 'aetheel: There is no change 8.\n' })
    expect(asked).toEqual([
      ['undo', null],
      ['undo', 7],
      ['approve', 7],
      ['deny', 7],
      ['deny', 7],
      ['approve', 8],
    ])
  })
})

test.each([
  ['cron'],
  ['cron', 'add', 'name'],
  ['cron', 'add', 'name', 'every hour'],
  ['cron', 'add', 'a', 'b', 'c', '--if-missed', 'twice'],
  ['cron', 'pause'],
  ['cron', 'list', 'more'],
  ['memory', 'search'],
  ['memory', 'search', 'x', '-n', '0'],
  ['memory', 'search', 'x', '-n', '1e2'],
  ['memory', 'log', '-n', '1001'],
  ['memory', 'undo', 'x'],
  ['memory', 'approve'],
  ['memory', 'approve', '-1'],
  ['memory', 'forget'],
  ['sessions', 'lst'],
])('%s %s %s is a usage error, and nothing happens', async (...args) => {
  const admin = recordingAdmin()
  const { ports } = await ways.stopped(admin)
  const { code, out, err } = await run(args, ports)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).not.toBe('')
  expect(admin.asked).toEqual([])
})

test.each([
  ['y\n', 0, [['clear', 'all']]],
  ['YES\n', 0, [['clear', 'all']]],
  ['\n', 1, []],
  ['no\n', 1, []],
  [null, 1, []],
])('on a terminal, sessions clear --all asks first; %j', async (typed, code, expected) => {
  const admin = recordingAdmin()
  const { ports } = await ways.stopped(admin)
  const terminal = fakeTerminal({ stdin: true, stdout: true, stderr: true })
  const running = run(['sessions', 'clear', '--all'], ports, terminal)
  if (typed === null) terminal.stdin.end()
  else terminal.stdin.write(typed)
  expect((await running).code).toBe(code)
  expect(terminal.err()).toContain('Reset 1 conversation?')
  expect(admin.asked).toEqual(expected)
})

test('with --yes it does not ask', async () => {
  const admin = recordingAdmin()
  const { ports } = await ways.stopped(admin)
  const { code, err } = await run(
    ['sessions', 'clear', '--all', '--yes'],
    ports,
    fakeTerminal({ stdin: true, stderr: true }),
  )
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(admin.asked).toEqual([['clear', 'all']])
})

test('diffs and search matches are coloured on a terminal with colours', async () => {
  const terminal = fakeTerminal({ stdout: true })
  terminal.stdout.hasColors = () => true
  await run(['memory', 'log', '--diff'], {}, terminal)
  await run(['memory', 'search', 'train'], {}, terminal)
  expect(terminal.out()).toContain('\u001b[31m-Has a cat.\u001b[39m')
  expect(terminal.out()).toContain('\u001b[32m+Has two cats.\u001b[39m')
  expect(terminal.out()).toContain('the \u001b[1mtrain\u001b[22m leaves')
})

test('options of a job do not select another gateway', async () => {
  const seen: Flags[] = []
  const find = async (flags: Flags) => {
    seen.push(flags)
    return null
  }
  await run(['cron', 'add', 'a', 'b', 'c', '--model', 'opus', '--channel', 'x', '--config-dir', 'd'], { find })
  expect(seen).toEqual([{ configDir: 'd' }])
})

test('a gateway that does not support the command, or fails, is reported', async () => {
  const older = createServer((_, response) => response.writeHead(404).end('{"error":"There is nothing here."}'))
  await once(older.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
  const { code, err } = await run(['cron', 'list'], { find: async () => ({ pid: 7, url, token }) })
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('another version') })
  older.close()
  const broken = await open({
    admin: { sessions: { ...recordingAdmin().sessions, list: async () => Promise.reject(new Error('x')) } },
  })
  const { err: words } = await run(['sessions', 'list'], { find: async () => ({ pid: 7, url: broken.url, token }) })
  expect(words).toBe('aetheel: Something went wrong here. The log of the gateway says what.\n')
})

test('init --example lists written and existing files, and says what to do next', async () => {
  const initExample = async () => ({ dir: '/w', written: ['soul.md'], kept: ['agents.md'] })
  const { code, out } = await run(['init', '--example'], { initExample })
  expect(code).toBe(0)
  expect(out).toContain('Written to /w:\n  soul.md\nNot changed:\n  agents.md\n')
  expect(out).toContain('npx aetheel start')
  expect(JSON.parse((await run(['init', '--example', '--json'], { initExample })).out)).toEqual(await initExample())
  const all = await run(['init', '--example'], { initExample: async () => ({ dir: '/w', written: [], kept: ['a'] }) })
  expect(all.out).toContain('Nothing was written to /w')
})
