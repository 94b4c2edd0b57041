// What is specific to Codex: tools and permissions as settings, secrets kept off the command line, threads and agents.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AgentEvent, McpServer, Turn } from '../../base/agent.ts'
import { createCliBackend } from '../cli.ts'
import { openPool } from '../pool.ts'
import type { Rpc } from '../rpc.ts'
import type { Json } from '../stdio.ts'
import { createTempDirs } from '../temp-dirs.ts'
import { turnWith } from '../turn.fixture.ts'
import { codex } from './codex.ts'
import { ofError } from './codex-items.ts'
import { keyFrom } from './codex-settings.ts'
import { createAgents, openThreads } from './codex-threads.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-codex-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const everything = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch', 'Bash', 'Task']
const turn = (given: Partial<Turn> = {}) => turnWith({ allowedTools: everything, workingDir: dir })(given)
const settings = (given: Partial<Turn>) => {
  const list = codex.arguments(turn(given), dir)
  return list.filter((_, i) => list[i - 1] === '-c')
}

test.each([
  [everything, []],
  [
    ['Read', 'Edit'],
    ['features.multi_agent=false', 'web_search="disabled"'],
  ],
  [['WebSearch'], ['features.shell_tool=false', 'features.view_image=false', 'features.multi_agent=false']],
  [
    [],
    [
      ...['features.shell_tool=false', 'features.view_image=false', 'features.multi_agent=false'],
      'web_search="disabled"',
    ],
  ],
  [
    ['Bash(git log:*)'],
    ['features.shell_tool=false', 'features.view_image=false', 'features.multi_agent=false', 'web_search="disabled"'],
  ],
])('%j disables everything else', (allowedTools, off) => {
  const told = settings({ allowedTools }).filter(one => /^(?:features|web_search)/.test(one))
  expect(told).toEqual(['features.goals=false', ...off])
})

test.each([
  ['acceptEdits', everything, 'workspace-write'],
  ['default', ['Read', 'Edit'], 'workspace-write'],
  ['acceptEdits', ['Read', 'Grep'], 'read-only'],
  ['plan', everything, 'read-only'],
  // Without Bash it never gets full access, whatever the mode.
  ['bypassPermissions', ['Read', 'Edit'], 'workspace-write'],
  ['bypassPermissions', ['Read', 'Edit', 'Bash(git log:*)'], 'workspace-write'],
  ['bypassPermissions', ['Read'], 'read-only'],
] as const)('%s with %j is held by the sandbox: %s, and nobody is asked', (permissionMode, allowedTools, sandbox) => {
  expect(settings({ permissionMode, allowedTools })).toEqual(
    expect.arrayContaining([`sandbox_mode="${sandbox}"`, 'approval_policy="never"']),
  )
})

test('the network is enabled if a tool that needs it is allowed', () => {
  const network = 'sandbox_workspace_write.network_access=true'
  expect(settings({ permissionMode: 'acceptEdits', allowedTools: ['Edit', 'WebFetch'] })).toContain(network)
  expect(settings({ permissionMode: 'acceptEdits', allowedTools: ['Edit', 'Read'] })).not.toContain(network)
})

test.each([
  [everything, 'bypassPermissions', []],
  [everything, 'plan', []],
  [['Read', 'Write', 'Edit'], 'bypassPermissions', [/does not contain Bash/]],
  [['Read'], 'acceptEdits', [/does not contain Bash/]],
  [['Read'], 'bypassPermissions', [/does not contain Bash/]],
  [['WebSearch'], 'bypassPermissions', []],
  [['WebSearch'], 'default', []],
  [['Bash(git log:*)'], 'bypassPermissions', [/Bash\(git log:\*\) in ALLOWED_TOOLS is not available/]],
  [['Bash', 'Write'], 'bypassPermissions', []],
  [['Write'], 'acceptEdits', [/does not contain Bash/, /counts as both/]],
] as const)('of %j with %s it reports what it cannot apply', (allowedTools, permissionMode, said) => {
  expect(codex.ignores(turn({ allowedTools, permissionMode }))).toEqual(said.map(one => expect.stringMatching(one)))
})

const value = fc.string({ minLength: 8, unit: 'grapheme' }).map(text => `s3cret${text.replaceAll('\0', '')}`)
const servers = fc.array(
  fc.oneof(
    fc.record({
      name: fc.stringMatching(/^[a-z_-]{1,12}$/),
      command: fc.constant('env'),
      args: fc.constant(['-0']),
      env: fc.dictionary(fc.stringMatching(/^[A-Z]{3,8}_$/), value, { minKeys: 1 }),
    }),
    fc.record({
      name: fc.stringMatching(/^[a-z_-]{1,12}$/),
      url: fc.constant('https://example.org/mcp'),
      headers: fc.dictionary(fc.stringMatching(/^X-[A-Z][a-z]{1,8}$/), value),
    }),
  ),
  { minLength: 1, maxLength: 3 },
) satisfies fc.Arbitrary<McpServer[]>

test('secrets of MCP servers are on no command line; those of headers are in the environment', () => {
  fc.assert(
    fc.property(servers, mcpServers => {
      const list = codex.arguments(turn({ mcpServers }), dir).join('\n')
      const variables = codex.environment(turn({ mcpServers }), dir, {})
      expect(list).not.toContain('s3cret')
      for (const server of mcpServers) {
        expect(list).toContain(`mcp_servers.${server.name}=`)
        if ('headers' in server)
          for (const secret of Object.values(server.headers)) expect(Object.values(variables)).toContain(secret)
      }
    }),
    { numRuns: 100 },
  )
})

test('a server started through a file gets its variables unchanged', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[A-Z]{3,8}_$/), value, { minKeys: 1, maxKeys: 4 }), env => {
      const given = turn({ mcpServers: [{ name: 'gw', command: 'env', args: ['-0'], env }] })
      for (const [name, text] of Object.entries(codex.files(given, {}))) writeFileSync(join(dir, name), text)
      const setting = settings(given).find(one => one.startsWith('mcp_servers.gw='))
      // An inline table of TOML is nearly JSON.
      const told = JSON.parse(setting?.slice('mcp_servers.gw='.length).replaceAll('"=', '":') ?? '')
      const { stdout } = spawnSync(told.command, told.args, { env: { PATH: process.env.PATH ?? '' }, encoding: 'utf8' })
      for (const [name, secret] of Object.entries(env)) expect(stdout.split('\0')).toContain(`${name}=${secret}`)
    }),
    { numRuns: 100 },
  )
})

test('CODEX_API_KEY always applies, OPENAI_API_KEY only without a login', () => {
  const environment = { HOME: dir, OPENAI_API_KEY: 'common' }
  expect(keyFrom({ HOME: dir })).toBe(null)
  expect(keyFrom(environment)).toBe('common')
  mkdirSync(join(dir, '.codex'))
  writeFileSync(join(dir, '.codex', 'auth.json'), '{}')
  expect(keyFrom(environment)).toBe(null)
  expect(keyFrom({ ...environment, CODEX_HOME: join(dir, 'elsewhere') })).toBe('common')
  expect(keyFrom({ ...environment, CODEX_API_KEY: 'own' })).toBe('own')
})

test.each([
  [{ message: 'x', codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 401 } } }, 'not-logged-in'],
  [{ message: 'x', codexErrorInfo: 'unauthorized' }, 'not-logged-in'],
  [{ message: 'x', codexErrorInfo: 'usageLimitExceeded' }, 'rate-limited'],
  [{ message: 'x', codexErrorInfo: { responseTooManyFailedAttempts: { httpStatusCode: 429 } } }, 'rate-limited'],
  [{ message: 'x', codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: null } } }, 'overloaded'],
  [{ message: 'We’re currently experiencing high demand, which may cause temporary errors.' }, 'overloaded'],
  [{ message: 'thread 1 already has an active writer' }, 'overloaded'],
  [{ message: 'x', codexErrorInfo: 'contextWindowExceeded' }, 'refused'],
  [{ message: '{"error":{"message":"bad thing","type":"invalid_request_error"}}', codexErrorInfo: 'other' }, 'refused'],
  [{ message: 'x', codexErrorInfo: 7 }, 'crashed'],
])('%j is %s', (error, why) => {
  expect(ofError(error)).toMatchObject({ ok: false, why })
})

test('more conversations than it keeps loaded all continue, in one process', async () => {
  const pool = openPool({
    rules: { most: 3, memoryBytes: 4e9, idleMs: 60_000 },
    clock: {
      now: () => 0,
      sleep: (_, signal) => new Promise(resolve => signal?.addEventListener('abort', () => resolve())),
    },
    emit: () => undefined,
    memoryOf: () => 0,
  })
  const backend = createCliBackend(codex, {
    program: join(import.meta.dirname, '../../../test/fakes/codex.mjs'),
    environment: { PATH: process.env.PATH, HOME: dir },
    handOn: [],
    extra: {},
    scrub: text => text,
    pool,
    tempDirs: createTempDirs(join(dir, 'runs')),
  })
  const say = async (prompt: string, session: Turn['session']) => {
    const events: AgentEvent[] = []
    for await (const event of backend.run(turn({ prompt, session }), new AbortController().signal)) events.push(event)
    return events
  }
  const sessionOf = (events: readonly AgentEvent[]) => events.find(event => event.type === 'started')?.session ?? ''
  const sessions: string[] = []
  for (let i = 0; i < 9; i++) sessions.push(sessionOf(await say(`hello ${i}`, null)))
  const ends = await Promise.all(sessions.map(id => say('again', { id, resume: true })))
  expect(ends.map(events => events.at(-1))).toEqual(
    sessions.map(() => ({ type: 'ended', ok: true, text: 'turn 2: again' })),
  )
  expect(pool.size().hosts).toBe(1)
  await pool.close()
})

test('of the unused threads, the least recently used are unloaded', async () => {
  const asked: [string, Json][] = []
  const threads = openThreads({
    async request(method, params) {
      asked.push([method, params])
      if (method === 'thread/unsubscribe') queueMicrotask(() => threads.closed(String(params.threadId)))
      return { ok: true, result: { thread: { id: params.threadId } } }
    },
    notify: () => undefined,
    over: new Promise(() => undefined),
  })
  const load = (id: string) => threads.load(turn({ session: { id, resume: true } }))
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'b']) await load(id)
  threads.trim(new Set(['a']))
  const left = () => asked.flatMap(([method, { threadId }]) => (method === 'thread/unsubscribe' ? [threadId] : []))
  await expect.poll(left).toEqual(['c', 'd'])
  // Loaded threads are not loaded again, unloaded ones are.
  asked.length = 0
  for (const id of ['a', 'b', 'c']) await load(id)
  expect(asked.map(([method, { threadId }]) => [method, threadId])).toEqual([['thread/resume', 'c']])
})

function scripted() {
  const asked: [string, Json][] = []
  const rpc: Rpc = {
    async request(method, params) {
      asked.push([method, params])
      return { ok: true, result: {} }
    },
    notify: () => undefined,
    over: new Promise(() => undefined),
  }
  const active = new Set(['leader'])
  const agents = createAgents(rpc, leader => active.has(leader))
  const sent = (tool: string, receivers: readonly string[], by = 'leader') =>
    agents.notified('item/completed', {
      threadId: by,
      item: { type: 'collabAgentToolCall', tool, receiverThreadIds: receivers },
    })
  const turns = (phase: 'started' | 'completed', threadId: string) =>
    agents.notified(`turn/${phase}`, { threadId, turn: { id: `turn of ${threadId}` } })
  const interrupted = () => asked.flatMap(([method, { threadId }]) => (method === 'turn/interrupt' ? [threadId] : []))
  const released = () => asked.flatMap(([method, { threadId }]) => (method === 'thread/unsubscribe' ? [threadId] : []))
  return { agents, active, sent, turns, interrupted, released }
}

test('agents still working at the end of a turn are stopped with it, including nested ones; others are not', async () => {
  const { agents, active, sent, turns, interrupted, released } = scripted()
  active.add('somebody else')
  expect(sent('spawnAgent', ['a', 'b'])).toBe(false)
  expect(turns('started', 'a')).toBe(true)
  turns('started', 'b')
  turns('completed', 'b')
  sent('spawnAgent', ['c'], 'a')
  turns('started', 'c')
  sent('spawnAgent', ['other'], 'somebody else')
  turns('started', 'other')
  await agents.dismissAll('leader')
  expect(interrupted()).toEqual(['a', 'c'])
  expect(released().sort()).toEqual(['a', 'b', 'c'])
})

test('an agent that starts only after the end of the turn is stopped then', async () => {
  const { agents, active, sent, turns, interrupted } = scripted()
  sent('spawnAgent', ['late'])
  await agents.dismissAll('leader')
  active.delete('leader')
  expect(interrupted()).toEqual([])
  turns('started', 'late')
  expect(interrupted()).toEqual(['late'])
})
