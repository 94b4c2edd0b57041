// The gateway's life: from opening the state folder to listening, and back in good order.

import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type ConfigTexts, configFiles } from '../base/config-files.ts'
import type { KnownSecrets } from '../base/scrub.ts'
import type { Emit } from '../base/signal.ts'
import { type Config, createLiveConfig, type Loaded } from '../config/index.ts'
import { createTempDirs, endOrphans, loginOf } from '../run/index.ts'
import { type Database, DatabaseUnusable, inWords, openDatabase } from '../store/index.ts'
import { buildGateway, type Gateway } from './build.ts'
import { CannotStart, cannot } from './cannot-start.ts'
import { readNote } from './discovery-file.ts'
import { logReload, logSignal } from './log.ts'
import { productRoot } from './product-root.ts'
import { runGateway, shutdownLane } from './run-gateway.ts'
import { createStateFolder, type StateFolder } from './state-folder.ts'
import { systemClock as clock } from './system-clock.ts'
import { openBackends } from './wiring/backends.ts'
import { listen } from './wiring/http.ts'
import { openWalls } from './wiring/walls.ts'

export interface StartedGateway {
  readonly url: string
  readonly token: string
  readonly backend: string
  readonly note: string
  /** Remote chats that are on although nobody is allowed to use them yet. */
  readonly ownerless: readonly string[]
  /** Resolves when everything that was started has stopped. */
  readonly closed: Promise<void>
}

export interface GatewayOptions {
  readonly loaded: Extract<Loaded, { ok: true }>
  /** Reads the configuration again, from the same places. */
  load(instead?: ConfigTexts): Promise<Loaded>
  readonly log: Logger
  /** The secrets of the configuration. Secrets that become known later are added here, and the log hides them. */
  readonly secrets: KnownSecrets
  /** Starts writing the log to this folder. Called once this process owns the folder. */
  keepLog(dir: string): void
  /** If nobody chose the port, the next free one is used. */
  readonly anyPort: boolean
}

/** While a guest may be changing the configuration files, their last approved texts. */
const approvedTexts = (approved: (file: string) => string | null | undefined): ConfigTexts =>
  Object.fromEntries(
    configFiles.flatMap(file => {
      const text = approved(file)
      return text === undefined ? [] : [[file, text ?? '{}']]
    }),
  )

/** How long the start waits for the chats to connect. They keep trying afterwards. */
const patienceMs = 5000

/** Runs until `stop` aborts; running turns then get some time to end. */
export async function openGateway(
  { loaded, load, log, secrets, keepLog, anyPort }: GatewayOptions,
  stop: AbortSignal,
): Promise<StartedGateway> {
  const { config } = loaded
  const folder = await createStateFolder(config.configDir).catch(cannot)
  const db = await openOwnDatabase(folder, config)
  keepLog(folder.log)
  let ready = false
  const address = { url: '' }
  let lives = false
  let emit: Emit = signal => logSignal(log, signal)
  const closeHttp = new AbortController()
  try {
    const token = config.http.token ?? (await folder.token())
    const { scrub, hide, learn } = secrets
    learn([token])
    const tempDirs = createTempDirs(folder.runs)
    let approved: (file: string) => string | null | undefined = () => undefined
    const live = await createLiveConfig({
      loaded,
      async load(instead) {
        const next = await load({ ...approvedTexts(approved), ...instead })
        if (next.ok) learn(next.secrets)
        return next
      },
      onReload: reloaded => logReload(log, reloaded),
    })
    const [walls, backends, orphans] = await Promise.all([
      openWalls(config, live.profiles, loaded.environment.PATH, stop),
      openBackends(
        loaded,
        {
          tempDirs,
          emit: signal => emit(signal),
          gateway: () => address.url,
          scrub,
          warn: (backend, what) => log.warn({ backend }, what),
        },
        stop,
      ),
      endOrphans(folder.runs),
    ])
    if (!backends.ok) throw new CannotStart(backends.why)
    if (walls.problem !== null) throw new CannotStart(walls.problem)
    if (orphans > 0) log.warn({ processes: orphans }, 'ended processes left by a killed gateway')
    warnOfMissingLogin(backends.main.name, loaded.environment, log)
    const version = await readVersion()
    const gateway = await buildGateway({
      live,
      db,
      tempDirs,
      backends,
      walls,
      clock,
      log,
      version,
      scrub,
      hide,
      around: { home: loaded.environment.HOME || homedir(), cwd: process.cwd() },
      ready: () => ready,
      variable: name => loaded.environment[name] ?? null,
      address,
      bridge: { command: process.execPath, args: [join(productRoot(), 'bin', 'mcp-bridge.mjs')] },
    })
    approved = file => gateway.memoryWiring.fileGuard.approved(file)
    emit = gateway.emit
    log.info(await gateway.workspace.bootstrap().catch(cannot), 'workspace')
    await gateway.settleKilled(orphans > 0)
    await gateway.reportLoss()
    // A shutdown hook that a killed gateway did not finish must not run now.
    await gateway.inbox.cancel(shutdownLane)
    // Each start queues its own startup hook; those of failed starts would pile up.
    await gateway.inbox.cancel(startupLane)
    const http = await listen({ http: config.http, token, gateway, version, log, anyPort }, closeHttp.signal)
    address.url = http.url
    // No await in between: a client that connects now must not be refused because nobody listens yet.
    const closed = runGateway({ live, gateway, backends, http, closeHttp, folder, db, log, stop })
    lives = true
    closed.catch(() => undefined)
    await folder
      .leaveNote({ pid: process.pid, url: http.url, token })
      .catch((error: unknown) =>
        log.warn({ err: error }, 'discovery file not written; other commands will not find this gateway'),
      )
    // If a chat refuses the connection, the start fails instead of reporting success.
    const enough = new AbortController()
    const settled = [closed, gateway.connected, clock.sleep(patienceMs, enough.signal)]
    await Promise.race(settled).finally(() => enough.abort())
    ready = true
    const boot = await gateway.bootTask.begin()
    if (boot !== null) log.info({ file: 'boot.md' }, `initialization instructions ${boot}`)
    await greet(gateway, log)
    if (config.agent.prewarm)
      void gateway.prewarm().catch((error: unknown) => log.warn({ err: error }, 'prewarm failed'))
    log.info({ url: http.url, backend: backends.main.name, note: backends.note, pid: process.pid }, 'ready')
    const ownerless = gateway.ownerless()
    return { url: http.url, token, backend: backends.main.name, note: backends.note, ownerless, closed }
  } catch (error) {
    // Everything that is running closes itself.
    if (lives) throw error
    closeHttp.abort()
    await db.close()
    // Damage inside the database file shows only when it is read.
    const worded = inWords(error, folder.database)
    throw worded instanceof DatabaseUnusable ? new CannotStart(worded.message, { cause: error }) : error
  }
}

const startupLane = 'hook:startup'

/** The startup hook goes through the queue, once per start. */
async function greet(gateway: Gateway, log: Logger): Promise<void> {
  const hook = await gateway.triggers.hook('startup')
  const put = hook && (await gateway.intake.accept(hook))
  if (put?.type === 'refused') log.warn({ why: put.why }, 'startup hook refused')
}

async function openOwnDatabase(folder: StateFolder, config: Config): Promise<Database> {
  try {
    return openDatabase(folder.database)
  } catch (error) {
    if (!(error instanceof DatabaseUnusable)) throw error
    if (error.kind !== 'locked') throw new CannotStart(error.message, { cause: error })
    const other = await readNote(config.configDir)
    throw new CannotStart(
      `another gateway${other ? ` (pid ${other.pid}, ${other.url})` : ''} already uses ${config.configDir}. Stop it first, or choose another folder with CONFIG_DIR.`,
      { cause: error },
    )
  }
}

/** Only a warning: the login may be where we cannot look, such as the macOS keychain. */
function warnOfMissingLogin(backend: string, environment: Readonly<Record<string, string>>, log: Logger): void {
  const login = loginOf(backend, environment, environment.HOME || homedir())
  if (login?.sign === null) log.warn({ backend, logInWith: login.command }, 'no sign of a login')
}

async function readVersion(): Promise<string> {
  const { default: product } = (await import(join(productRoot(), 'package.json'), { with: { type: 'json' } })) as {
    default: { version: string }
  }
  return product.version
}
