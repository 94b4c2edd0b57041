// The public interface of app/: what the command line can call. Modules that only some commands need are loaded on demand.
import { join } from 'node:path'
import type { ConfigTexts } from '../base/config-files.ts'
import { type Loaded, loadConfig, showProblems } from '../config/index.ts'
import type { Edited, InitialConfig } from '../ui/index.ts'
import { withCompileNotice } from './first-start.ts'
import { findGateway, workspaceOf } from './running-gateway.ts'
import type { Copied } from './setup/example.ts'

type Flags = Readonly<Record<string, string | boolean | undefined>>
type Ready = Extract<Loaded, { ok: true }>

const load = (flags: Flags, instead?: ConfigTexts) =>
  loadConfig({ flags, env: process.env, cwd: process.cwd(), instead })

/** Runs the gateway until it is stopped. Resolves with the exit code. */
export async function start(flags: Flags): Promise<number> {
  const { startGateway } = await withCompileNotice(() => import('./serve.ts'))
  return startGateway(instead => load(flags, instead))
}

/** The running gateway of this CONFIG_DIR. It is found even if the configuration now has mistakes and it still runs with the last valid one. */
export async function find(flags: Flags): Promise<{ pid: number; url: string; token: string } | null> {
  const { configDir } = await workspace(flags)
  // The configuration is read while we wait for the gateway's answer.
  const [running, loaded] = await Promise.all([findGateway(configDir), load(flags)])
  if (loaded.ok) return running
  if (!running) throw mistakes(loaded)
  process.stderr.write(
    `aetheel: warning: the configuration has mistakes. The running gateway still uses the last valid one, but could not be restarted:\n${showProblems(loaded.problems)}\n`,
  )
  return running
}

/** A gateway inside this process, on a free port, with a quiet log. */
export async function embed(flags: Flags, signal: AbortSignal) {
  const { embedGateway } = await withCompileNotice(() => import('./serve.ts'))
  const inside = { ...flags, port: '0' }
  return embedGateway(await mustLoad(inside), instead => load(inside, instead), signal)
}

/** The next six open what the gateway stores, while no gateway is running. */
export async function pairing(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedPairing } = await import('./offline.ts')
  return storedPairing(config)
}

export async function logins(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedLogins } = await import('./offline.ts')
  return storedLogins(config)
}

export async function sessions(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedSessions } = await import('./offline.ts')
  return storedSessions(config)
}

export async function jobs(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedJobs } = await import('./offline.ts')
  return storedJobs(config)
}

export async function memory(flags: Flags) {
  const loaded = await mustLoad(flags)
  const { storedMemory } = await import('./offline.ts')
  return storedMemory(loaded, instead => load(flags, instead))
}

export async function approvals(flags: Flags) {
  const { config } = await mustLoad(flags)
  const { storedApprovals } = await import('./offline.ts')
  return storedApprovals(config)
}

export async function* doctor(flags: Flags, live: boolean, signal: AbortSignal) {
  const { examine } = await import('./doctor/index.ts')
  yield* examine({ flags, env: process.env, cwd: process.cwd() }, live, signal)
}

export async function audit(flags: Flags, fix: boolean) {
  const { audit } = await import('./doctor/index.ts')
  return audit({ flags, env: process.env, cwd: process.cwd() }, fix, AbortSignal.timeout(20_000))
}

/** What `aetheel init` finds, and what it can write. */
export async function setup(flags: Flags) {
  const { createSetup } = await import('./setup/init.ts')
  // Expanded here because it may have been typed at a question, without a shell.
  const configDir = flags.configDir?.toString().replace(/^~(?=\/|$)/, process.env.HOME ?? '~')
  const from = { flags: { ...flags, configDir }, env: process.env, cwd: process.cwd() }
  return createSetup(from, await mustLoad(from.flags))
}

/** The systemd user unit of this workspace. */
export async function unit(flags: Flags) {
  const { createUnit } = await import('./setup/service.ts')
  const from = { flags, env: process.env, cwd: process.cwd() }
  return createUnit({
    ...from,
    platform: process.platform,
    loaded: await load(flags),
    workspace: await workspaceOf(from),
  })
}

export async function config(flags: Flags) {
  const loaded = await load(flags)
  return loaded.ok ? loaded : { ...loaded, problems: loaded.problems.map(problem => showProblems([problem])) }
}

/** Writes config.json if there is none, or in any case with `force`. Works even if the existing file has mistakes. */
export async function initConfig(flags: Flags, force: boolean) {
  const { writeInitialConfig } = await import('./setup/initial-config.ts')
  return writeInitialConfig((await workspace(flags)).configDir, force)
}

export async function editConfig(flags: Flags): Promise<InitialConfig & { edited: Edited }> {
  const { chooseEditor, runEditor } = await import('./setup/editor.ts')
  const editor = chooseEditor()
  const path = join((await workspace(flags)).configDir, 'config.json')
  if (typeof editor === 'string') return { path, created: false, copy: null, edited: { type: editor } }
  return { ...(await initConfig(flags, false)), edited: await runEditor(editor, path) }
}

/** The log of a gateway, whether it is running or not. */
export async function logs(flags: Flags) {
  const [{ createLogReader }, { logDir }] = await Promise.all([
    import('../store/index.ts'),
    import('./state-folder.ts'),
  ])
  const dir = logDir((await workspace(flags)).configDir)
  return { dir, ...(await createLogReader(dir)) }
}

const workspace = (flags: Flags) => workspaceOf({ flags, env: process.env, cwd: process.cwd() })

/** Writes the example workspace, but no file that exists already. */
export async function initExample(flags: Flags): Promise<{ dir: string } & Copied> {
  const { config } = await mustLoad(flags)
  const { copyExample, exampleFolder } = await import('./setup/example.ts')
  return { dir: config.configDir, ...(await copyExample(exampleFolder(), config.configDir)) }
}

async function mustLoad(flags: Flags): Promise<Ready> {
  const loaded = await load(flags)
  if (loaded.ok) return loaded
  throw mistakes(loaded)
}

const mistakes = ({ problems }: Extract<Loaded, { ok: false }>) =>
  new Error(`the configuration has mistakes:\n${showProblems(problems)}`)
