// Every command of the real program with a reader that exits early, after one line, or never reads: it ends quietly, with its own exit code.
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildProgram } from '../../src/ui/cli/program.ts'
import { noPorts } from '../fakes/ports.ts'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { fakeTerminal } from '../fakes/terminal.ts'
import { type RunningGateway, token } from '../harness/gateway.ts'

/** The arguments of each command here; null: tested elsewhere, because it writes, asks or keeps running. */
const samples: Readonly<Record<string, readonly string[] | null>> = {
  start: null,
  init: null,
  'config edit': null,
  logs: [],
  'config init': [],
  'service install': ['--print'],
  'service remove': null,
  'service status': [],
  status: [],
  chat: ['hello'],
  'pair list': [],
  'pair approve': ['K7QM-4XWD', '--json'],
  'pair deny': ['nobody', '--json'],
  'logins list': [],
  'logins revoke': ['nobody', '--json'],
  'cron list': [],
  'cron add': ['tea', 'every weekday at 16:00', 'Remind me of tea.'],
  'cron pause': ['tea'],
  'cron resume': ['tea'],
  'cron run': ['tea'],
  'cron remove': ['tea'],
  'sessions list': [],
  'sessions clear': [],
  'memory search': ['tea'],
  'memory sync': [],
  'memory log': [],
  'memory undo': ['999', '--json'],
  'memory approve': ['7', '--json'],
  'memory deny': ['7', '--json'],
  'approvals list': [],
  'approvals show': ['7', '--json'],
  'approvals allow': ['7', '--json'],
  'approvals deny': ['7', '--json'],
  'approvals answer': ['7', 'yes', '--json'],
  'config show': [],
  'config check': [],
  doctor: [],
  'security audit': [],
  completion: ['bash'],
}
/** Commands that have nothing to do here say so and exit with 1. */
const fails = [
  'pair approve',
  'pair deny',
  'logins revoke',
  'memory undo',
  'memory approve',
  'memory deny',
  'approvals show',
  'approvals allow',
  'approvals deny',
  'approvals answer',
  'service status',
]

const leaves = (command: Command, path: readonly string[] = []): string[] =>
  command.commands.length === 0 ? [path.join(' ')] : command.commands.flatMap(one => leaves(one, [...path, one.name()]))
const known = leaves(buildProgram(noPorts(), fakeTerminal(), '1', () => undefined))

let home: TemporaryHome
let gateway: RunningGateway
beforeAll(async () => {
  home = await temporaryHome()
  gateway = await home.start({ AGENT_BACKEND: 'echo' })
})
afterAll(() => home[Symbol.asyncDispose]())

const root = resolve(import.meta.dirname, '../..')

/** `reader`: the command that reads the pipe. */
function piped(args: readonly string[], reader: string): Promise<{ code: number; said: string }> {
  const script = `"$@" ${reader}; exit "\${PIPESTATUS[0]}"`
  const program = [process.execPath, '--disable-warning=ExperimentalWarning', resolve(root, 'src/main.ts')]
  const child = spawn('bash', ['-c', script, 'bash', ...program, ...args], {
    cwd: home.dir,
    env: {
      ...{
        PATH: '/usr/bin:/bin',
        HOME: home.dir,
        CONFIG_DIR: home.configDir,
        HTTP_TOKEN: token,
        AGENT_BACKEND: 'echo',
      },
      NODE_COMPILE_CACHE: resolve(root, 'node_modules/.cache/aetheel'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said += chunk
  })
  return new Promise(done => child.on('close', code => done({ code: code ?? -1, said })))
}

test('every command has a sample here, and every sample is a command', () => {
  expect(Object.keys(samples).toSorted()).toEqual(known.toSorted())
})

const tried = Object.entries(samples).flatMap(([name, args]) =>
  args ? [[name, [...name.split(' '), ...args]] as const] : [],
)

test.each(tried)(
  '"%s" of a running gateway ends quietly when nobody reads',
  async (name, args) => {
    const { code, said } = await piped(args, '| true')
    expect([code, said]).toEqual([fails.includes(name) ? 1 : 0, ''])
  },
  30_000,
)

test('the same when the gateway has stopped, with a reader of one line', async () => {
  await gateway.stop()
  for (const [name, args] of tried.filter(([name]) => !['status', 'cron run', 'chat'].includes(name))) {
    const { code, said } = await piped(args, '| head -1 > /dev/null')
    expect([name, code, said]).toEqual([name, fails.includes(name) ? 1 : 0, ''])
  }
}, 60_000)

test('the same for help and version; and a full disk is reported in plain words', async () => {
  for (const args of [['--help'], ['--version'], ['cron', '--help'], ['help', 'chat']])
    expect(await piped(args, '| true')).toEqual({ code: 0, said: '' })
  const full = await piped(['config', 'show'], '> /dev/full')
  expect(full).toEqual({ code: 1, said: 'aetheel: the output could not be written (ENOSPC)\n' })
}, 30_000)
