// The front door of app/: what the command line can ask for.
import { join } from 'node:path'
import type { ConfigTexts } from '../base/config-files.ts'
import { killEverything } from '../run/index.ts'
import { openLogReader } from '../store/index.ts'
import type { Edited, InitialConfig } from '../ui/index.ts'
import { type Loaded, loadConfig, secretsOf, showProblems } from './config.ts'
import { secretHider } from './config-report.ts'
import type { Copied } from './example.ts'
import { findGateway, groundUnder } from './find.ts'
import { logDir } from './folder.ts'
import { CannotStart, openGateway, type StartedGateway } from './gateway.ts'
import { openLog } from './log.ts'
import { howToBecomeOwner } from './owner.ts'
import { productRoot } from './root.ts'

type Flags = Readonly<Record<string, string | boolean | undefined>>
type Ready = Extract<Loaded, { ok: true }>

const load = (flags: Flags, instead?: ConfigTexts) =>
  loadConfig({ flags, env: process.env, cwd: process.cwd(), instead })

/** Runs the gateway until it is stopped; the exit code. */
export async function start(flags: Flags): Promise<number> {
  const loaded = await load(flags)
  for (const warning of loaded.warnings) process.stderr.write(`aetheel: warning: ${warning}\n`)
  if (!loaded.ok) {
    process.stderr.write(
      `aetheel: the configuration has mistakes, so nothing was started:\n${showProblems(loaded.problems)}\n`,
    )
    return 1
  }
  const stop = stopOnSignals()
  const { log, keepIn, close } = await openLog(
    loaded.config.log,
    hideSecrets(loaded),
    process.stderr as NodeJS.WriteStream,
  )
  // The last line of a log that ends in the middle of something.
  process.on('uncaughtExceptionMonitor', error => log.fatal({ err: error }, 'crashed'))
  try {
    const anyPort = !loaded.isSet('http.port')
    const gateway = await openGateway(
      { loaded, load: instead => load(flags, instead), log, keepLog: keepIn, anyPort },
      stop,
    )
    process.stdout.write(welcome(gateway))
    await gateway.closed
    return 0
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error
    // Asked to stop before it was up: what was cut off on the way is no failure.
    if (stop.aborted) return 0
    process.stderr.write(`aetheel: ${error.message}\n`)
    return 1
  } finally {
    close()
  }
}

/** The running gateway of this CONFIG_DIR. A mistake in the configuration does not hide one that goes on with the last good one. */
export async function find(flags: Flags): Promise<{ pid: number; url: string; token: string } | null> {
  const loaded = await load(flags)
  if (loaded.ok) return findGateway(loaded.config.configDir)
  const running = await findGateway((await ground(flags)).configDir)
  if (!running) throw mistakes(loaded)
  process.stderr.write(
    `aetheel: warning: the configuration has mistakes. The running gateway goes on with the last good one, and could not start again:\n${showProblems(loaded.problems)}\n`,
  )
  return running
}

/** A gateway inside this process, on a free port, with a quiet log. */
export async function embed(
  flags: Flags,
  signal: AbortSignal,
): Promise<{ url: string; token: string; closed: Promise<void> }> {
  const loaded = await mustLoad({ ...flags, port: '0' })
  process.on('exit', killEverything)
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(1))
  const { log, keepIn, close } = await openLog(
    { ...loaded.config.log, level: 'error' },
    hideSecrets(loaded),
    process.stderr as NodeJS.WriteStream,
  )
  const embedded = await openGateway(
    { loaded, load: instead => load({ ...flags, port: '0' }, instead), log, keepLog: keepIn, anyPort: false },
    signal,
  )
  embedded.closed.then(close, close)
  return embedded
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
  const dir = logDir((await ground(flags)).configDir)
  return { dir, ...(await openLogReader(dir)) }
}

const ground = (flags: Flags) => groundUnder({ flags, env: process.env, cwd: process.cwd() })

/** Writes the example workspace, except what is there already. */
export async function initExample(flags: Flags): Promise<{ dir: string } & Copied> {
  const { config } = await mustLoad(flags)
  const { copyExample } = await import('./example.ts')
  const copied = await copyExample(join(productRoot(), 'templates/example'), config.configDir)
  return { dir: config.configDir, ...copied }
}

async function mustLoad(flags: Flags): Promise<Ready> {
  const loaded = await load(flags)
  if (loaded.ok) return loaded
  throw mistakes(loaded)
}

const mistakes = ({ problems }: Extract<Loaded, { ok: false }>) =>
  new CannotStart(`the configuration has mistakes:\n${showProblems(problems)}`)

/** The first signal asks to stop in good order, the second leaves at once; either way no child stays behind. */
function stopOnSignals(): AbortSignal {
  const stop = new AbortController()
  process.on('exit', killEverything)
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1)
      stop.abort()
    })
  return stop.signal
}

const hideSecrets = ({ config, environment }: Ready) => secretHider(secretsOf(config, environment))

function welcome({ url, token, backend, note, ownerless }: StartedGateway): string {
  const key = `?token=${encodeURIComponent(token)}`
  const links = `  WebChat  ${url}/chat${key}\n  Control  ${url}/${key}\n`
  const ready = `\nAetheel is ready; ${backend} answers: ${note}\n\n${links}\n`
  return `${ready}${howToBecomeOwner(ownerless)}Ctrl-C stops it.\n\n`
}
