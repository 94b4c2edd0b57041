// The whole program as a process, for scenarios, the crash campaign and the benchmarks.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { faultArguments } from '../crash/faults.ts'

const root = resolve(import.meta.dirname, '../..')
export const standIn = join(root, 'test/fakes/claude.mjs')
export const token = 'a-token-for-tests-only'

export interface Home {
  readonly dir: string
  readonly configDir: string
  /** The journal of the fake CLI. */
  journal(): {
    what: string
    prompt?: string
    about?: string
    session?: string
    last?: string
    pid: number
    [key: string]: unknown
  }[]
  remove(): Promise<void>
}

export async function makeHome(): Promise<Home> {
  const dir = await mkdtemp(join(tmpdir(), 'aetheel-test-'))
  return {
    dir,
    configDir: join(dir, 'config'),
    journal() {
      // Guests and webhooks have homes of their own.
      const homes = join(dir, 'config', '.aetheel', 'homes')
      return [dir, ...(existsSync(homes) ? readdirSync(homes).map(name => join(homes, name)) : [])]
        .map(one => join(one, '.claude-stand-in', 'journal.jsonl'))
        .filter(existsSync)
        .flatMap(file => readFileSync(file, 'utf8').split('\n').filter(Boolean))
        .map(line => JSON.parse(line))
    },
    remove: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  }
}

export interface RunningGateway {
  readonly url: string
  readonly pid: number
  readonly child: ChildProcess
  output(): string
  /** Resolves with the exit code or signal. */
  readonly exit: Promise<number | NodeJS.Signals | null>
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>
}

export function runCommand(
  home: Home,
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
  main = join(root, 'src/main.ts'),
  nodeArgs: readonly string[] = [],
) {
  const fault = process.env.AETHEEL_TEST_FAULT ? faultArguments(process.env.AETHEEL_TEST_FAULT) : []
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...fault, ...nodeArgs, main, ...args],
    {
      cwd: home.dir,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: home.dir,
        CONFIG_DIR: home.configDir,
        HTTP_TOKEN: token,
        HTTP_PORT: '0',
        // As in the launcher: without the compile cache, most of a start is compiling.
        NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/aetheel'),
        ...env,
      },
    },
  )
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  child.stdin.end(input)
  const exit = new Promise<number | NodeJS.Signals | null>(done =>
    child.on('close', (code, signal) => done(signal ?? code)),
  )
  return { child, exit, stdout: () => stdout, stderr: () => stderr }
}

/** Starts the gateway and waits until it is ready. */
export async function startGateway(
  home: Home,
  env: Record<string, string> = {},
  main?: string,
  nodeArgs: readonly string[] = [],
): Promise<RunningGateway> {
  const run = runCommand(
    home,
    ['start'],
    { AGENT_BACKEND: 'claude', BACKEND_CLI_PATH: standIn, ...env },
    '',
    main,
    nodeArgs,
  )
  const { child, exit } = run
  const output = () => run.stdout() + run.stderr()
  let over = false
  void exit.then(() => {
    over = true
  })
  for (;;) {
    const url = /WebChat {2}(http:\S+)\/chat/.exec(run.stdout())?.[1]
    if (url) return { url, pid: child.pid ?? 0, child, output, exit, stop }
    if (over) throw new Error(`the gateway ended before it was ready:\n${output()}`)
    await new Promise(done => setTimeout(done, 5))
  }

  async function stop(signal: NodeJS.Signals = 'SIGTERM') {
    child.kill(signal)
    return exit
  }
}

/** All processes with `marker` in their command line or environment; there should be none after a test. */
export function processesWith(marker: string): number[] {
  const listing = spawnSyncText('grep', ['-l', '-s', '-F', '--', marker, ...procFiles('environ')])
  return listing
    .split('\n')
    .map(line => Number(/\/proc\/(\d+)\//.exec(line)?.[1] ?? 0))
    .filter(pid => pid > 0 && pid !== process.pid)
}

const procFiles = (name: string) =>
  readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid))
    .map(pid => `/proc/${pid}/${name}`)
const spawnSyncText = (file: string, args: string[]) => spawnSync(file, args, { encoding: 'utf8' }).stdout ?? ''
