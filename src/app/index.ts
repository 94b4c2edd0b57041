// The front door of app/: what the command line can ask for. What only some commands need is loaded by them.
import { join } from 'node:path'
import type { ConfigTexts } from '../base/config-files.ts'
import type { Edited, InitialConfig } from '../ui/index.ts'
import { type Loaded, loadConfig, showProblems } from './config.ts'
import type { Copied } from './example.ts'
import { findGateway, groundUnder } from './find.ts'
import { toldWhileCompiling } from './first-start.ts'

type Flags = Readonly<Record<string, string | boolean | undefined>>
type Ready = Extract<Loaded, { ok: true }>

const load = (flags: Flags, instead?: ConfigTexts) =>
  loadConfig({ flags, env: process.env, cwd: process.cwd(), instead })

/** Runs the gateway until it is stopped; the exit code. */
export async function start(flags: Flags): Promise<number> {
  const { startGateway } = await toldWhileCompiling(() => import('./serve.ts'))
  return startGateway(instead => load(flags, instead))
}

/** The running gateway of this CONFIG_DIR. A mistake in the configuration does not hide one that goes on with the last good one. */
export async function find(flags: Flags): Promise<{ pid: number; url: string; token: string } | null> {
  const { configDir } = await ground(flags)
  // The configuration is read while the gateway thinks.
  const [running, loaded] = await Promise.all([findGateway(configDir), load(flags)])
  if (loaded.ok) return running
  if (!running) throw mistakes(loaded)
  process.stderr.write(
    `aetheel: warning: the configuration has mistakes. The running gateway goes on with the last good one, and could not start again:\n${showProblems(loaded.problems)}\n`,
  )
  return running
}

/** A gateway inside this process, on a free port, with a quiet log. */
export async function embed(flags: Flags, signal: AbortSignal) {
  const { embedGateway } = await toldWhileCompiling(() => import('./serve.ts'))
  const inside = { ...flags, port: '0' }
  return embedGateway(await mustLoad(inside), instead => load(inside, instead), signal)
}

/** What a gateway that does not run keeps. */
export async function pairing(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedPairing } = await import('./stored.ts')
  return storedPairing(config)
}

export async function sessions(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedSessions } = await import('./stored.ts')
  return storedSessions(config)
}

export async function jobs(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedJobs } = await import('./stored.ts')
  return storedJobs(config)
}

export async function memory(flags: Flags) {
  const loaded = await mustLoad(flags)
  const { storedMemory } = await import('./stored.ts')
  return storedMemory(loaded, instead => load(flags, instead))
}

/** Looks at all that a gateway needs. */
export async function* doctor(flags: Flags, live: boolean, signal: AbortSignal) {
  const { examine } = await import('./doctor.ts')
  yield* examine({ flags, env: process.env, cwd: process.cwd() }, live, signal)
}

/** What is there to begin with, and what can be made of it. */
export async function setup(flags: Flags) {
  const { openSetup } = await import('./setup.ts')
  // Typed at a question, where no shell fills it in.
  const configDir = flags.configDir?.toString().replace(/^~(?=\/|$)/, process.env.HOME ?? '~')
  const from = { flags: { ...flags, configDir }, env: process.env, cwd: process.cwd() }
  return openSetup(from, await mustLoad(from.flags))
}

/** The systemd user unit of this workspace. */
export async function unit(flags: Flags) {
  const { openUnit } = await import('./service.ts')
  const from = { flags, env: process.env, cwd: process.cwd() }
  return openUnit({ ...from, platform: process.platform, loaded: await load(flags), ground: await groundUnder(from) })
}

export async function config(flags: Flags) {
  const loaded = await load(flags)
  return loaded.ok ? loaded : { ...loaded, problems: loaded.problems.map(problem => showProblems([problem])) }
}

/** Writes config.json unless there is one, or with `force` also then. Also where what is there has mistakes. */
export async function initConfig(flags: Flags, force: boolean) {
  const { writeInitialConfig } = await import('./initial-config.ts')
  return writeInitialConfig((await ground(flags)).configDir, force)
}

export async function editConfig(flags: Flags): Promise<InitialConfig & { edited: Edited }> {
  const { chooseEditor, runEditor } = await import('./editor.ts')
  const editor = chooseEditor()
  const path = join((await ground(flags)).configDir, 'config.json')
  if (typeof editor === 'string') return { path, created: false, copy: null, edited: { type: editor } }
  return { ...(await initConfig(flags, false)), edited: await runEditor(editor, path) }
}

/** The log of a gateway, whether it runs or not. */
export async function logs(flags: Flags) {
  const [{ openLogReader }, { logDir }] = await Promise.all([import('../store/index.ts'), import('./folder.ts')])
  const dir = logDir((await ground(flags)).configDir)
  return { dir, ...(await openLogReader(dir)) }
}

const ground = (flags: Flags) => groundUnder({ flags, env: process.env, cwd: process.cwd() })

/** Writes the example workspace, except what is there already. */
export async function initExample(flags: Flags): Promise<{ dir: string } & Copied> {
  const { config } = await mustLoad(flags)
  const { copyExample, exampleFolder } = await import('./example.ts')
  return { dir: config.configDir, ...(await copyExample(exampleFolder(), config.configDir)) }
}

async function mustLoad(flags: Flags): Promise<Ready> {
  const loaded = await load(flags)
  if (loaded.ok) return loaded
  throw mistakes(loaded)
}

const mistakes = ({ problems }: Extract<Loaded, { ok: false }>) =>
  new Error(`the configuration has mistakes:\n${showProblems(problems)}`)
