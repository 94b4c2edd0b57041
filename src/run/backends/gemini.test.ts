// What the contract does not cover for gemini: tools as rules, MCP servers, exit errors, and a session that is too young.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { AgentEvent, McpServer, Turn } from '../../base/agent.ts'
import type { Clock } from '../../base/time.ts'
import { createCliBackend } from '../cli.ts'
import { openPool } from '../pool.ts'
import { isAlive } from '../process-table.ts'
import { createTempDirs } from '../temp-dirs.ts'
import { turnWith } from '../turn.fixture.ts'
import { gemini } from './gemini.ts'
import { acpServer, settingOf } from './gemini-mcp.ts'
import { policyFor } from './gemini-policy.ts'
import { readTurn } from './gemini-turn.ts'

const home = mkdtempSync(join(tmpdir(), 'aetheel-gemini-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const turn = turnWith({
  allowedTools: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch', 'Bash'],
  workingDir: home,
})

describe('its policy', () => {
  const rules = (given: Partial<Turn>) =>
    policyFor(turn(given))
      .split('[[rule]]\n')
      .slice(1)
      .map(text =>
        Object.fromEntries(
          text
            .trim()
            .split('\n')
            .map(line => line.split(' = ', 2))
            .map(([name = '', value = '']) => [name, JSON.parse(value)]),
        ),
      )
  test('allows the gateway’s own tools in every mode, under both names that gemini uses', () => {
    const own: McpServer = { name: 'aetheel', command: 'node', args: [], env: {} }
    for (const permissionMode of ['default', 'acceptEdits', 'plan'] as const) {
      const all = rules({ permissionMode, allowedTools: ['Read'], mcpServers: [own] })
      expect(all).toContainEqual(expect.objectContaining({ mcpName: 'aetheel', decision: 'allow' }))
      const named = all.find(rule => rule.toolName.includes('mcp_aetheel_send_message'))
      expect(named).toMatchObject({ decision: 'allow', priority: 950 })
      expect(JSON.stringify(rules({ permissionMode, mcpServers: [] }))).not.toContain('aetheel')
    }
  })

  test('allows resources of MCP servers only if nothing has to be asked for', () => {
    const mentions = (permissionMode: Turn['permissionMode']) => JSON.stringify(rules({ permissionMode }))
    expect(mentions('bypassPermissions')).toContain('read_mcp_resource')
    for (const mode of ['default', 'acceptEdits', 'plan'] as const) expect(mentions(mode)).not.toContain('mcp_resource')
  })

  /** The tools that are allowed completely. */
  const tools = (given: Partial<Turn>) =>
    rules(given)
      .flatMap(rule => (Array.isArray(rule.toolName) && rule.decision === 'allow' ? rule.toolName : []))
      .filter(tool => tool !== 'activate_skill' && !tool.includes('mcp'))
      .sort()

  test('denies everything it does not name, with lower priority than what it allows', () => {
    const [first, ...others] = rules({})
    expect(first).toEqual({ toolName: '*', decision: 'deny', priority: 900 })
    for (const rule of others) expect(rule).toMatchObject({ decision: 'allow', priority: 950 })
  })

  test('allows the tools under gemini’s own names', () => {
    expect(tools({ allowedTools: ['Grep', 'Write'] })).toEqual(['grep_search', 'write_file'])
    expect(tools({ allowedTools: ['Bash'] })).toContain('run_shell_command')
    expect(tools({ allowedTools: ['constructor', 'Nothing'] })).toEqual([])
  })

  test('leaves out tools that would ask for permission', () => {
    const allowedTools = ['Grep', 'Write', 'Bash', 'WebFetch']
    expect(tools({ allowedTools, permissionMode: 'plan' })).toEqual(['grep_search'])
    expect(tools({ allowedTools, permissionMode: 'default' })).toEqual(['grep_search'])
    expect(tools({ allowedTools, permissionMode: 'acceptEdits' })).toEqual(['grep_search', 'write_file'])
  })

  test('allows commands by prefix or exactly', () => {
    const commands = (...allowedTools: string[]) =>
      rules({ allowedTools }).filter(rule => rule.toolName === 'run_shell_command')
    expect(commands('Bash(git log:*)')).toMatchObject([{ commandPrefix: 'git log' }])
    expect(commands('Bash(npm run *)')).toMatchObject([{ commandPrefix: 'npm run' }])
    expect(commands('Bash(ls -l.)')).toMatchObject([{ commandRegex: 'ls -l\\."' }])
    expect(commands('Bash', 'Bash(git log:*)')).toEqual([])
  })

  test('allows all MCP tools if nothing is asked, otherwise those that are named', () => {
    const servers = (given: Partial<Turn>) => rules(given).filter(rule => 'mcpName' in rule)
    expect(servers({})).toMatchObject([{ mcpName: '*', toolName: '*' }])
    const allowedTools = ['mcp__gw', 'mcp__db__query']
    expect(servers({ allowedTools, permissionMode: 'default' })).toMatchObject([
      { mcpName: 'gw', toolName: '*' },
      { mcpName: 'db', toolName: 'query' },
    ])
    expect(servers({ allowedTools, permissionMode: 'plan' })).toEqual([])
  })

  test('reports what cannot be allowed in part', () => {
    expect(gemini.ignores(turn())).toEqual([])
    expect(gemini.ignores(turn({ allowedTools: ['Bash(git log:*)', 'Read(./src/**)'] }))).toEqual([
      expect.stringContaining('Read(./src/**)'),
    ])
  })
})

describe('its MCP servers', () => {
  const local: McpServer = { name: 'gw', command: 'serve', args: ['$HOME'], env: { KEY: 'pa$$word${HOME}' } }
  const remote: McpServer = { name: 'far', url: 'https://example.com/$x', headers: { Authorization: 'Bearer $t' } }
  /** Like gemini, which substitutes variables in its settings, and then again in what it passes to a server. */
  const inSettings = (text: string) =>
    text.replace(/\$(?:(\w+)|{([^}]+?)(?::-([^}]*))?})/g, (all, one, two, or) =>
      (one || two) === 'HOME' ? '/home/user' : (or ?? all),
    )
  const inServer = (text: string) => text.replaceAll('\\$', '$')

  test('keep text in their settings that looks like a variable', () => {
    const [name, setting] = settingOf(local)
    const { args, env } = setting as { args: string[]; env: Record<string, string> }
    expect([name, args.map(inSettings)]).toEqual(['gw', ['$HOME']])
    expect(inServer(inSettings(env.KEY ?? ''))).toBe('pa$$word${HOME}')
    const { httpUrl, headers } = settingOf(remote)[1] as { httpUrl: string; headers: Record<string, string> }
    expect(inSettings(httpUrl)).toBe('https://example.com/$x')
    expect(inServer(inSettings(headers.Authorization ?? ''))).toBe('Bearer $t')
  })

  test('are passed over ACP with variables and headers as pairs', () => {
    expect(acpServer(local, { MARK: 'm' })).toEqual({
      name: 'gw',
      command: 'serve',
      args: ['$HOME'],
      env: [
        { name: 'KEY', value: 'pa\\$\\$word\\${HOME}' },
        { name: 'MARK', value: 'm' },
      ],
    })
    expect(acpServer(remote, {})).toMatchObject({ type: 'http', url: 'https://example.com/$x' })
  })

  test('are neither on the command line nor in the environment', () => {
    const given = turn({ mcpServers: [local] })
    const told = [...gemini.arguments(given, home), ...Object.values(gemini.environment(given, home, {}))]
    expect(told.join('\n')).not.toContain('word')
  })
})

test('an exit for lack of a login is recognised, and so is a folder without any session', () => {
  const end = (code: number, stderr: string) =>
    gemini.read(turn()).end({ code, signal: null, stderr, trouble: null, detail: '' })
  expect(end(41, 'Please set an Auth method')).toMatchObject({ why: 'not-logged-in' })
  expect(end(42, 'Error resuming session: No previous sessions found for this project.')).toMatchObject({
    why: 'session-lost',
  })
})

describe('a turn over ACP', () => {
  const ended = (result: object) =>
    readTurn('s')
      .answer({ ok: true, result: { ...result } })
      .at(-1)

  test.each([
    ['end_turn', { ok: true }],
    ['cancelled', { ok: false, why: 'stopped' }],
    ['max_turn_requests', { ok: false, why: 'max-turns' }],
    ['refusal', { ok: false, why: 'refused' }],
    ['something new', { ok: false, why: 'refused' }],
  ])('that stops with %s', (stopReason, end) => expect(ended({ stopReason })).toMatchObject(end))

  test.each([
    [-32000, 'Authentication required.', 'not-logged-in'],
    [429, 'Rate limit exceeded. Try again later.', 'rate-limited'],
    [500, 'server error', 'overloaded'],
    // Not `crashed`, which would end the process of all other conversations.
    [-32603, 'Internal error', 'refused'],
  ])('that is answered with the error %i', (code, message, why) =>
    expect(readTurn('s').answer({ ok: false, code, message, data: {} })).toMatchObject([{ ok: false, why }]),
  )

  test('a tool that is refused begins and fails', () => {
    const update = { sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'failed', kind: 'execute' }
    expect(readTurn('s').update(update)).toMatchObject([
      { type: 'started', session: 's' },
      { type: 'action', id: 't', phase: 'started' },
      { type: 'action', id: 't', phase: 'failed' },
    ])
  })
})

/** The real clock, because gemini reads it too; nothing here waits for it. */
const clock: Clock = {
  now: () => Date.now(),
  sleep: (_, signal) => new Promise(resolve => signal.addEventListener('abort', () => resolve())),
}

test('a session created in this minute is not loaded, which would delete it, but gets its own process', async () => {
  const pool = openPool({
    rules: { most: 1, memoryBytes: 4e9, idleMs: 60_000 },
    clock,
    emit: () => undefined,
    memoryOf: () => 1,
  })
  const parts = {
    program: join(import.meta.dirname, '../../../test/fakes/gemini.mjs'),
    environment: { PATH: process.env.PATH, HOME: home },
    handOn: [],
    extra: {},
    scrub: (text: string) => text,
    tempDirs: createTempDirs(join(home, 'runs')),
  }
  const served = join(home, 'served')
  const program = `require('node:fs').appendFileSync(${JSON.stringify(served)}, process.pid + ' '); process.stdin.resume()`
  const server = { name: 'notes', command: process.execPath, args: ['-e', program], env: {} }
  const servers = () => readFileSync(served, 'utf8').trim().split(' ').map(Number)
  const run = async (way: typeof pool | null, prompt: string, session: Turn['session']) => {
    const events: AgentEvent[] = []
    const given = turn({ prompt, session, mcpServers: way ? [server] : [] })
    const backend = createCliBackend(gemini, { ...parts, pool: way })
    for await (const event of backend.run(given, new AbortController().signal)) events.push(event)
    return events.at(-1)
  }
  const begun = (prompt: string): { args: string[]; pid: number; session: string } => {
    const lines = readFileSync(join(home, '.claude-stand-in', 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n')
    return lines.map(line => JSON.parse(line)).find(entry => entry.prompt === prompt)
  }
  const [young, old] = [crypto.randomUUID(), crypto.randomUUID()]
  const chats = join(home, '.gemini', 'tmp', 'space', 'chats')
  mkdirSync(chats, { recursive: true })
  for (const ahead of [0, 1]) {
    const minute = new Date(clock.now() + ahead * 60_000).toISOString().slice(0, 16).replace(':', '-')
    writeFileSync(join(chats, `session-${minute}-${young.slice(0, 8)}.jsonl`), '')
  }
  for (const id of [young, old]) await run(null, 'one', { id, resume: false })
  expect(await run(pool, 'young', { id: young, resume: true })).toMatchObject({ ok: true, text: 'turn 2: young' })
  expect(await run(pool, 'old', { id: old, resume: true })).toMatchObject({ ok: true, text: 'turn 2: old' })
  expect(begun('young').args).not.toContain('--acp')
  expect(begun('old').args).toContain('--acp')

  // What the others start meanwhile does not belong to it and does not end with it.
  const mayLeave = join(home, 'may-leave')
  const lingering = `still young [[linger:${mayLeave}]]`
  expect(await run(pool, lingering, { id: young, resume: true })).toMatchObject({ ok: true })
  expect(await run(pool, 'new', null)).toMatchObject({ ok: true })
  await expect.poll(() => servers().length).toBe(2)
  writeFileSync(mayLeave, '')
  // Waits until the one before is gone.
  expect(await run(pool, 'young again', { id: young, resume: true })).toMatchObject({ ok: true })
  expect(begun(lingering).args).not.toContain('--acp')
  expect(await run(pool, 'new again', { id: begun('new').session, resume: true })).toMatchObject({ ok: true })
  expect(servers().map(isAlive)).toEqual([true, true])
  expect(begun('new again')).toMatchObject({ pid: begun('new').pid, args: expect.arrayContaining(['--acp']) })
  await pool.close()
})

test('a cold turn has MCP servers by one turn of --acp; without servers it needs no --acp', async () => {
  const space = mkdtempSync(join(tmpdir(), 'aetheel-gemini-cold-'))
  const backend = createCliBackend(gemini, {
    program: join(import.meta.dirname, '../../../test/fakes/gemini.mjs'),
    environment: { PATH: process.env.PATH, HOME: space },
    handOn: [],
    extra: {},
    scrub: text => text,
    tempDirs: createTempDirs(join(space, 'runs')),
    pool: null,
  })
  const run = async (given: Partial<Turn>) => {
    const events: AgentEvent[] = []
    for await (const event of backend.run(turn({ workingDir: space, ...given }), new AbortController().signal))
      events.push(event)
    const lines = readFileSync(join(space, '.claude-stand-in', 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n')
    return { end: events.at(-1), ...JSON.parse(lines.findLast(line => line.includes('"what":"begin"')) ?? '{}') }
  }
  const mcpServers = [{ name: 'gw', command: 'serve', args: [], env: { KEY: 'secret' } }]
  const first = await run({ prompt: 'one', mcpServers, session: { id: crypto.randomUUID(), resume: false } })
  expect(first.end).toMatchObject({ ok: true, text: 'turn 1: one' })
  expect(first.args).toContain('--acp')
  expect(JSON.parse(first.mcpConfig)).toMatchObject([{ name: 'gw', command: 'serve' }])
  expect(first.args.join()).not.toContain('secret')
  const again = await run({ prompt: 'two', mcpServers, session: { id: first.session, resume: true } })
  expect(again.end).toMatchObject({ ok: true, text: 'turn 2: two' })
  const plain = await run({ prompt: 'three' })
  expect(plain.args).not.toContain('--acp')
  rmSync(space, { recursive: true, force: true })
})
