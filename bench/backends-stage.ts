// The setup for measuring a real CLI: its own home, a model that answers immediately, and the turn as the gateway builds it.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemClock } from '../src/app/system-clock.ts'
import { sampleTurn } from '../src/app/wiring/backends.ts'
import type { Turn } from '../src/base/agent.ts'
import { type Config, loadConfig } from '../src/config/index.ts'
import { assemble, capabilities, createWorkspace } from '../src/prompt/index.ts'
import { findSdk } from '../src/run/backends/claude-sdk.ts'
import type { BackendParts } from '../src/run/backends/index.ts'
import { childEnvironment } from '../src/run/child-environment.ts'
import { type Dialect, systemPromptIn } from '../src/run/cli.ts'
import { createTempDirs } from '../src/run/temp-dirs.ts'
import { type Cli, installCli, installModel, installSdk } from '../test/cli/install.ts'
import { setups } from '../test/cli/setups.ts'
import { type Home, token } from '../test/harness/gateway.ts'
import { node } from './rig.ts'

export interface Stage {
  readonly name: Name
  readonly home: Home
  readonly program: string
  readonly config: Config
  /** For the gateway. */
  readonly env: Readonly<Record<string, string>>
  /** The parts of a backend, outside a gateway. */
  readonly parts: Omit<BackendParts, 'pool'>
  /** As in steady state: the prompt is only the text. */
  turn(session: Turn['session']): Turn
  /** A folder for one run. */
  folder(): Promise<string>
}

export const words = 'What was it that I said?'

export type Name = Cli | 'claude-sdk'

/** What is needed to start it: the program, and for the SDK its package. */
export interface Installed {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
}

export function install(name: Name): Installed | { readonly why: string } {
  const installed = name === 'claude-sdk' ? installSdk() : installCli(name)
  if ('why' in installed) return installed
  if (name !== 'claude-sdk') return { program: installed.path, env: {} }
  const sdk = dirname(installed.path)
  const program = findSdk(sdk, process.env.PATH)?.program
  return program ? { program, env: { AGENT_SDK_PATH: sdk } } : { why: 'the SDK came without its claude' }
}

/** `home` after a first start. */
export async function setStage(name: Name, installed: Installed, home: Home, model: string): Promise<Stage> {
  const { program } = installed
  const settings = setups[name === 'claude-sdk' ? 'claude' : name]
  const env = {
    AGENT_BACKEND: name,
    BACKEND_CLI_PATH: program,
    // A hanging CLI should be reported soon.
    QUERY_TIMEOUT_MS: '60000',
    ...installed.env,
    ...settings(home.dir, model),
  }
  if (name === 'gemini') await keepSessions(join(home.dir, '.gemini', 'settings.json'))
  const environment = { PATH: process.env.PATH ?? '', HOME: home.dir, ...env }
  const loaded = await loadConfig({
    flags: {},
    env: { ...environment, CONFIG_DIR: home.configDir, HTTP_TOKEN: token },
    cwd: home.dir,
  })
  if (!loaded.ok) throw new Error(`the configuration for ${name} is refused: ${JSON.stringify(loaded.problems)}`)
  const { config } = loaded
  const workspace = createWorkspace({ dir: config.configDir, emit: () => undefined, shippedSkills: '' })
  const about = { configDir: config.configDir, allowedTools: config.allowedTools, gateway: null }
  const systemPrompt = assemble(await workspace.read(), { capabilities: capabilities(about) })
  const runs = join(home.dir, 'runs')
  await mkdir(runs)
  return {
    name,
    home,
    program,
    config,
    env,
    parts: {
      program,
      environment,
      handOn: [],
      extra: {},
      scrub: text => text,
      tempDirs: createTempDirs(runs),
      clock: systemClock,
      sdkPath: config.agent.sdkPath,
    },
    turn: session => ({ ...sampleTurn(config), prompt: words, systemPrompt, session }),
    folder: () => mkdtemp(join(runs, 'run-')),
  }
}

/** With two conversations, its clean-up mistakes one that continued in a later minute for broken, and removes it. */
async function keepSessions(settings: string): Promise<void> {
  const known = JSON.parse(await readFile(settings, 'utf8'))
  await writeFile(settings, JSON.stringify({ ...known, general: { sessionRetention: { enabled: false } } }))
}

/** The environment of a run, before the dialect's own variables. */
export const inheritedBy = (dialect: Dialect, { parts }: Stage) => childEnvironment(dialect, parts)

/** The files that the gateway writes for a run. */
export async function furnish(
  dialect: Dialect,
  turn: Turn,
  dir: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const files = { ...dialect.files(turn, env), [systemPromptIn('')]: turn.systemPrompt }
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
}

/** A separate process, so that it does not take CPU time from the measurement. */
export async function withModel<T>(dir: string, use: (url: string) => Promise<T>): Promise<T> {
  const installed = installModel()
  if ('why' in installed) throw new Error(installed.why)
  const fixtures = join(dir, 'model.json')
  const response = { content: 'You said that it would be so.' }
  await writeFile(fixtures, JSON.stringify({ fixtures: [{ match: {}, response }] }))
  const options = ['--port', '0', '--fixtures', fixtures, '--journal-max', '1']
  const child = spawn(node, [join(dirname(installed.path), 'cli.js'), ...options], {
    env: { PATH: process.env.PATH ?? '', HOME: dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const end = () => child.kill()
  process.on('exit', end)
  try {
    return await use(await addressIn(child))
  } finally {
    process.off('exit', end)
    end()
  }
}

const addressIn = (child: ChildProcess) =>
  new Promise<string>((done, fail) => {
    let said = ''
    child.on('error', fail)
    child.on('exit', () => fail(new Error(`the model stand-in did not come up: ${said}`)))
    child.stdout?.on('data', chunk => {
      if (said.length < 10_000) said += chunk
      const url = /listening on (http:\S+)/.exec(said)?.[1]
      if (url) done(url)
    })
  })
