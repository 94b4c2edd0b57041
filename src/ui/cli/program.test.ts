// The commands, run as a person types them, with ports that answer from memory.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { afterEach, expect, test } from 'vitest'
import { noPairing } from '../../../test/fakes/no-pairing.ts'
import { noPorts } from '../../../test/fakes/ports.ts'
import { type FakeTerminal, fakeTerminal } from '../../../test/fakes/terminal.ts'
import type { PairingAdmin } from '../../base/pairing.ts'

import { runCli } from './index.ts'
import type { CliPorts, ConfigReport, Edited, Flags, Running } from './ports.ts'
import { buildProgram, runProgram } from './program.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
  readonly started: readonly Flags[]
}

async function run(args: readonly string[], given: Partial<CliPorts> = {}, terminal = fakeTerminal()): Promise<Ran> {
  const started: Flags[] = []
  const ports: CliPorts = {
    ...noPorts(),
    start: async flags => started.push(flags) - 1,
    config: async () => good,
    initConfig: async () => ({ path: '/somewhere/config.json', created: true, copy: null }),
    ...given,
  }
  const code = await runCli(args, ports, terminal, '1.2.3')
  return { code, out: terminal.out(), err: terminal.err(), started }
}

const good: ConfigReport = {
  ok: true,
  warnings: ['http.prot is not known; did you mean http.port?'],
  values: [
    { key: 'http.port', env: 'HTTP_PORT', value: '9000', from: 'environment', description: 'the port' },
    { key: 'http.token', env: 'HTTP_TOKEN', value: '********', from: 'config.json', description: 'the token' },
    { key: 'agent.model', env: 'BACKEND_MODEL', value: null, from: 'default', description: 'the model' },
    { key: 'gate.users', env: 'ALLOWED_USERS', value: '', from: 'default', description: 'who may speak' },
  ],
}

/** Each command with the words that call it, including those that only have subcommands. */
function all(command: Command, path: readonly string[] = []): (readonly [string, readonly string[], Command])[] {
  const below = command.commands.flatMap(one => all(one, [...path, one.name()]))
  return [[path.join(' ') || 'aetheel alone', path, command], ...below]
}
const commands = all(buildProgram(noPorts(), fakeTerminal(), '1.2.3', () => undefined))

test.each(commands)('the help of "%s" has a description and examples that name it', async (_name, path) => {
  const { code, out } = await run([...path, '--help'])
  expect(code).toBe(0)
  expect(out).toContain(`Usage: ${['aetheel', ...path].join(' ')}`)
  expect(out).toContain('--config-dir <folder>')
  expect(out).toMatch(/^Usage: .*\n\n[\w'].+/)
  expect(out).toMatch(new RegExp(`Examples:\\n(?:  \\$ .*\\n?)*  \\$ .*${['aetheel', ...path].join(' ')}`))
  expect(out.split('\n').filter(line => line.length > 110 && !line.startsWith('  $'))).toEqual([])
})

/** These print no data. */
const withoutData = ['start', 'completion', 'config edit']

test.each(commands.filter(([, , { commands: below }]) => below.length === 0))(
  '"%s" has --json, and refuses unknown options with an explanation',
  async (name, path, command) => {
    const json = command.options.some(({ long }) => long === '--json')
    expect(json).toBe(!withoutData.includes(name))
    const unknown = await run([...path, '--no-such-option'])
    expect(unknown).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^aetheel: .*'--no-such-option'/) })
    const takesAny = command.registeredArguments.some(({ variadic }) => variadic)
    const tooMany = [...path, ...command.registeredArguments.map(() => '7'), 'one', 'too', 'many']
    if (!takesAny && name !== 'completion')
      expect(await run(tooMany)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('too many arguments') })
    const [needed] = command.registeredArguments.filter(({ required }) => required)
    if (needed) expect((await run(path)).err).toContain(`missing required argument '${needed.name()}'`)
  },
)

test('the help as a whole', async () => {
  expect((await run(['--help'])).out).toMatchInlineSnapshot(`
    "Usage: aetheel [command] [options]

    A gateway on your own machine between people and the coding agent you already
    have.

    Options:
      --config-dir <folder>  the workspace (default: CONFIG_DIR or ./config)
      -V, --version          show the version
      -h, --help             show help

    Commands:
      init                   set it up: asks about the backend, the chats and the
                             owner, writes the configuration, and tests it with a
                             turn
      start                  run the gateway until Ctrl-C (the default command)
      status                 show the status of the running gateway, and the links
                             to its pages (exit 0: ready)
      chat                   ask one question, or chat interactively if no text is
                             given
      pair                   manage access: list, approve and deny requests
      logins                 manage the browsers that are logged in
      cron                   manage the agent's scheduled jobs
      sessions               list and clear the sessions of conversations
      memory                 search the memory, and review its changes
      approvals              what agents ask before they go on: list, show, allow,
                             deny, answer
      logs                   show the log, newest last; also while the gateway is
                             not running
      config                 show the configuration, check it, edit it, or write a
                             first file
      doctor                 check everything that is needed, and say how to fix
                             what is missing
      security               check who may do what, and what others could read
      service                run the gateway under systemd, from login or boot on
      completion             print a script that completes commands and options when
                             TAB is pressed
      help                   show help for a command

    Examples:
      $ npx aetheel init                        # sets it up
      $ npx aetheel                             # starts it
      $ npx aetheel chat "what is new?"
    "
  `)
})

test('the version', async () => {
  expect(await run(['--version'])).toMatchObject({ code: 0, out: '1.2.3\n' })
})

test('aetheel alone is aetheel start, with its options', async () => {
  expect((await run([])).started).toEqual([{}])
  expect((await run(['--port', '8090', '--config-dir', 'here'])).started).toEqual([{ port: '8090', configDir: 'here' }])
  expect((await run(['--config-dir', 'here'])).started).toEqual([{ configDir: 'here' }])
  expect((await run(['--claude', '--model', 'opus'])).started).toEqual([{ backend: 'claude', model: 'opus' }])
  expect((await run(['start', '--test'])).started).toEqual([{ backend: 'echo' }])
  expect((await run(['start', '--backend', 'codex', '--model', 'm', '--log', 'debug'])).started).toEqual([
    { backend: 'codex', model: 'm', log: 'debug' },
  ])
})

test('the exit code is that of the gateway', async () => {
  expect((await run(['start'], { start: async () => 1 })).code).toBe(1)
})

test.each([
  [['help', 'strat'], "aetheel: unknown command 'strat'\n(Did you mean start?)"],
  [['memory', 'undo', 'x'], "aetheel: 'x' is not a valid id. It is a number;"],
  [['strat'], "aetheel: unknown command 'strat'\n(Did you mean start?)"],
  [['start', '--prot', '1'], "aetheel: unknown option '--prot'\n(Did you mean --port?)"],
  [['config', 'shwo'], "aetheel: unknown command 'shwo'\n(Did you mean show?)"],
  [['start', '--port'], "aetheel: option '--port <number>' argument missing"],
  [['pair', 'approve'], "aetheel: missing required argument 'code'"],
  [['start', '--claude', '--test'], "aetheel: option '--claude' cannot be used with option '--test'"],
  [
    ['start', '--backend', 'pi', '--claude'],
    "aetheel: option '--claude' cannot be used with option '--backend <name>'",
  ],
  [['start', '--test', '--backend', 'pi'], "aetheel: option '--test' cannot be used with option '--backend <name>'"],
  [['start', 'now'], "aetheel: too many arguments for 'start'"],
  [['chat', '--conversation', 'a/b', 'hi'], 'Allowed are 1 to 64 letters'],
])('a typo is reported with a suggestion, and exits with 2: %j', async (args, words) => {
  const { code, out, err, started } = await run(args)
  expect(err).toContain(words)
  expect({ code, out, started }).toEqual({ code: 2, out: '', started: [] })
})

test('config alone shows its help and exits with 2', async () => {
  const { code, err } = await run(['config'])
  expect(code).toBe(2)
  expect(err).toContain('Usage: aetheel config')
})

test('a failure is one line without a stack, and exits with 1', async () => {
  const start = async () => Promise.reject(new Error('port 8080 is taken: set HTTP_PORT'))
  expect(await run(['start'], { start })).toMatchObject({
    code: 1,
    out: '',
    err: 'aetheel: port 8080 is taken: set HTTP_PORT\n',
  })
})

test('config show is a table, warnings beside it', async () => {
  const { code, out, err } = await run(['config', 'show'])
  expect(code).toBe(0)
  expect(out.split('\n')).toEqual([
    'KEY          VALUE     FROM',
    'http.port    9000      environment',
    'http.token   ********  config.json',
    'agent.model  -         default',
    'gate.users   -         default',
    '',
  ])
  expect(err).toBe('aetheel: warning: http.prot is not known; did you mean http.port?\n')
})

test('config show --json is an array', async () => {
  expect(JSON.parse((await run(['config', 'show', '--json'])).out)).toEqual(good.ok && good.values)
})

test('config check lists the mistakes, one per line, and exits with 1', async () => {
  const config = async (): Promise<ConfigReport> => ({ ok: false, problems: ['a: wrong', 'b: bad'], warnings: [] })
  expect(await run(['config', 'check'], { config })).toMatchObject({
    code: 1,
    out: '',
    err: 'aetheel: a: wrong\naetheel: b: bad\n',
  })
  expect(await run(['config', 'show', '--json'], { config })).toMatchObject({ code: 1, out: '' })
  const checked = await run(['config', 'check', '--json'], { config })
  expect(checked.code).toBe(1)
  expect(JSON.parse(checked.out)).toEqual({ ok: false, problems: ['a: wrong', 'b: bad'], warnings: [] })
})

test('config check exits with 0 if there are no mistakes', async () => {
  expect(await run(['config', 'check'])).toMatchObject({ code: 0, out: 'The configuration is valid.\n' })
})

test('config init prints the path, and leaves an existing file alone', async () => {
  expect((await run(['config', 'init'])).out).toContain('Written: /somewhere/config.json')
  const path = '/somewhere/config.json'
  const initConfig: CliPorts['initConfig'] = async (_, force) => ({
    path,
    created: force,
    copy: force ? `${path}.old` : null,
  })
  expect(await run(['config', 'init'], { initConfig })).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^It exists already and was not changed: \/somewhere\/config\.json\n.*--force/),
  })
  expect((await run(['config', 'init', '--force'], { initConfig })).out).toContain(`kept as: ${path}.old`)
  expect(JSON.parse((await run(['config', 'init', '--force', '--json'], { initConfig })).out)).toEqual({
    ...{ path, created: true, copy: `${path}.old` },
  })
})

test('config edit reports mistakes afterwards, or that no editor could be started', async () => {
  const edited = (how: Edited): Partial<CliPorts> => ({
    editConfig: async () => ({ path: '/x/config.json', created: false, copy: null, edited: how }),
  })
  expect(await run(['config', 'edit'], edited({ type: 'edited' }))).toMatchObject({
    ...{ code: 0, out: 'The configuration is valid. It takes effect with the next start.\n' },
  })
  const find = async () => ({ pid: 1, url: 'http://127.0.0.1:1', token: 't' })
  expect((await run(['config', 'edit'], { ...edited({ type: 'edited' }), find })).out).toContain(
    'reloads it automatically',
  )
  const bad: ConfigReport = { ok: false, problems: ['http.port: "x"; must be a number'], warnings: [] }
  const wrong = await run(['config', 'edit'], { ...edited({ type: 'edited' }), config: async () => bad })
  expect(wrong.code).toBe(1)
  expect(wrong.err).toMatch(/http\.port: "x"[\s\S]*\/x\/config\.json is saved as you left it/)
  for (const [how, words] of [
    [{ type: 'no-terminal' }, 'no terminal for an editor here. Edit /x/config.json'],
    [{ type: 'no-editor' }, 'EDITOR='],
    [{ type: 'failed', editor: 'ed', why: 'it was not found' }, 'editor ed failed: it was not found'],
  ] as const) {
    const { code, err } = await run(['config', 'edit'], edited(how))
    expect([code, err]).toEqual([1, expect.stringContaining(words)])
  }
})

async function statusServer(answer: string, status = 200): Promise<Running> {
  const server = createServer((request, response) => {
    const known = request.headers.authorization === 'Bearer s3cret&more' && request.url === '/api/status'
    response.writeHead(known ? status : 401).end(known ? answer : '{"error":"no"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { pid: 77, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 's3cret&more' }
}

const events = { received: 12, answered: 6, waiting: 2, running: 1, refused: 2, failed: 1 }
const deliveries = { sent: 6, failed: 2, waiting: 3, delayed: 1 }
const ready = {
  ...{ ready: true, pid: 77, backend: 'echo', uptimeMs: 3_725_000, rssBytes: 73_400_000 },
  ...{ events, deliveries, more: [1] },
}

test('status shows the state, the event counts and the links on one screen', async () => {
  const running = await statusServer(JSON.stringify(ready))
  const { code, out } = await run(['status'], { find: async () => running })
  expect(code).toBe(0)
  expect(out.split('\n')).toEqual([
    'Aetheel is ready',
    '  backend  echo',
    '  uptime   1 h 2 min',
    '  memory   73 MB',
    '  process  77',
    '  events   12 received = 6 answered + 2 waiting + 1 running + 2 refused + 1 failed',
    '  outbox   3 waiting to be delivered (1 failed before and is retried), 2 not delivered',
    `  control  ${running.url}/?token=s3cret%26more`,
    `  chat     ${running.url}/chat?token=s3cret%26more`,
    '',
  ])
})

test('status names the backends in cooldown', async () => {
  const resting = [{ backend: 'claude', why: 'not-logged-in', until: 1 }]
  const running = await statusServer(JSON.stringify({ ...ready, resting }))
  const { out } = await run(['status'], { find: async () => running })
  expect(out).toMatch(/cooldown +claude \(not logged in\)\n/)
})

test('status says when the counts do not add up', async () => {
  const running = await statusServer(JSON.stringify({ ...ready, events: { ...events, answered: 5 } }))
  const { out } = await run(['status'], { find: async () => running })
  expect(out).toContain('12 received ≠ 5 answered + 2 waiting + 1 running + 2 refused + 1 failed (1 unaccounted for)')
})

test('status --json is exactly the response of the gateway', async () => {
  const answer = JSON.stringify(ready, null, 1)
  const running = await statusServer(answer)
  expect(await run(['status', '--json'], { find: async () => running })).toMatchObject({ code: 0, out: `${answer}\n` })
})

test('status of a starting gateway says so and exits with 1', async () => {
  const running = await statusServer(JSON.stringify({ ...ready, ready: false }), 503)
  const { code, out } = await run(['status'], { find: async () => running })
  expect(code).toBe(1)
  expect(out).toContain('Aetheel is starting')
})

test('status without a gateway says how to start it', async () => {
  expect(await run(['status'])).toMatchObject({
    code: 1,
    out: 'Aetheel is not running. Start it with: npx aetheel start\n',
  })
  expect(await run(['status', '--json'])).toMatchObject({ code: 1, out: '{"ready":false,"pid":null}\n', err: '' })
})

test('status of a process that does not answer says so', async () => {
  const running = { ...(await statusServer('<html>')) }
  const find = async () => running
  expect((await run(['status'], { find })).err).toContain('process 77 runs, but its answer (HTTP 200) is not a status')
  expect(await run(['status', '--json'], { find })).toMatchObject({ code: 1, out: '{"ready":false,"pid":77}\n' })
  const wrong = async () => ({ ...running, token: 'wrong' })
  expect((await run(['status'], { find: wrong })).err).toContain('does not accept our token')
  const nobody = async () => ({ ...running, url: 'http://127.0.0.1:9' })
  expect((await run(['status'], { find: nobody })).err).toContain('nothing answers at http://127.0.0.1:9')
})

test('chat with nothing to say is a usage error', async () => {
  const terminal: FakeTerminal = fakeTerminal()
  terminal.stdin.end('  \n')
  expect(await run(['chat'], {}, terminal)).toMatchObject({ code: 2, out: '' })
})

const eve = { chat: 'discord', user: '66', name: 'Eve' }
const closed: string[] = []
const admin = (given: Partial<PairingAdmin> = {}) => ({
  pairing: async () => ({
    ...noPairing,
    ...given,
    close: async () => {
      closed.push('desk')
    },
  }),
})

test('pair list shows requests and decisions, or that there are none', async () => {
  const list = async () => ({
    requests: [{ ...eve, code: 'K7QM-4XWD', where: '#general of Our Server', leftMs: 3_000_000 }],
    people: [
      { chat: 'discord', user: '1', name: 'Ada\u001b[2J', as: 'owner' as const, since: Date.UTC(2026, 0, 2) },
      { chat: 'slack', user: 'U2', name: '', as: 'denied' as const, since: Date.UTC(2026, 0, 3) },
    ],
  })
  const { code, out } = await run(['pair', 'list'], admin({ list }))
  expect(code).toBe(0)
  expect(out.split('\n')).toEqual([
    'CODE       WHO               WHERE                   EXPIRES IN',
    'K7QM-4XWD  Eve (discord:66)  #general of Our Server  50 minutes',
    '',
    'WHO                 IS      SINCE',
    'Ada[2J (discord:1)  owner   2026-01-02',
    'slack:U2            denied  2026-01-03',
    '',
  ])
  expect(JSON.parse((await run(['pair', 'list', '--json'], admin({ list }))).out)).toEqual(await list())
  expect((await run(['pair', 'list'], admin())).out).toBe('Nobody asks for access.\n')
  expect(closed).toHaveLength(3)
})

test.each<[string, readonly string[], Partial<PairingAdmin>, number, string]>([
  [
    'approved',
    ['approve', 'k7qm4xwd'],
    { approve: async (_, owner) => ({ type: 'approved', person: eve, owner }) },
    0,
    'Eve (discord:66) is a guest of this gateway now',
  ],
  [
    'approved as owner',
    ['approve', 'K7QM-4XWD', '--owner'],
    { approve: async (_, owner) => ({ type: 'approved', person: eve, owner }) },
    0,
    'Eve (discord:66) is an owner of this gateway now.',
  ],
  ['wrong', ['approve', 'X'], {}, 1, 'aetheel: There is no such code.'],
  [
    'expired',
    ['approve', 'X'],
    { approve: async () => ({ type: 'expired', person: eve }) },
    1,
    'aetheel: This code has expired; it was for Eve',
  ],
  [
    'locked',
    ['approve', 'X'],
    { approve: async () => ({ type: 'locked', leftMs: 61_000 }) },
    1,
    'aetheel: Too many wrong codes: nothing is approved for the next 2 minutes.',
  ],
  [
    'denied',
    ['deny', 'discord:66'],
    { deny: async () => ({ type: 'denied', person: eve }) },
    0,
    'Eve (discord:66) is denied',
  ],
  ['nobody to deny', ['deny', 'X'], {}, 1, 'aetheel: There is no such code, and nobody of this name'],
])('pair reports the result: %s', async (_name, args, given, code, words) => {
  const ran = await run(['pair', ...args], admin(given))
  expect(ran.code).toBe(code)
  expect(code === 0 ? ran.out : ran.err).toContain(words)
  expect(code === 0 ? ran.err : ran.out).toBe('')
})

test('pair asks the running gateway, and says if it does not respond', async () => {
  const running = await statusServer('{}')
  const pairing = async () => Promise.reject(new Error('not while a gateway runs'))
  const { code, err } = await run(['pair', 'list'], { find: async () => running, pairing })
  expect([code, err]).toEqual([1, 'aetheel: the running gateway does not accept our token\n'])
  const nobody = async () => ({ ...running, url: 'http://127.0.0.1:9' })
  expect((await run(['pair', 'deny', 'x'], { find: nobody, pairing })).err).toContain('127.0.0.1:9 does not answer')
})

test.each([
  ['status'],
  ['status', '--json'],
  ['status', '--config-dir', 'x', '--json'],
  ['status', '--json', '--config-dir', 'x'],
  ['status', '--config-dir=x'],
  ['status', '--config-dir'],
  ['status', '--config-dir', '--json'],
  ['status', '--help'],
  ['status', 'now'],
  ['--config-dir', 'x', 'status'],
])('the fast path of status does the same as the full one: %j', async (...args) => {
  const ways = [runCli, runProgram].map(async run => {
    const asked: Flags[] = []
    const terminal = fakeTerminal()
    const find = async (flags: Flags) => {
      asked.push({ json: flags.json, configDir: flags.configDir })
      return null
    }
    const code = await run(args, { ...noPorts(), find }, terminal, '1.2.3')
    return { code, asked, out: terminal.out(), err: terminal.err() }
  })
  const [short, long] = await Promise.all(ways)
  expect(short).toEqual(long)
})
