// The life of a gateway: from the folder to the open door, and in good order back again.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ChatUnusable } from '../base/chat.ts'
import { type ConfigTexts, configFiles } from '../base/config-files.ts'
import type { Tell } from '../base/signal.ts'
import { cutOff, endStrays, loginOf, openScratch } from '../run/index.ts'
import { type Database, DatabaseUnusable, inWords, openDatabase } from '../store/index.ts'
import { type OpenHttp, openHttp } from '../ui/index.ts'
import { type OpenBackends, openBackends } from './backends.ts'
import { buildGateway, type Gateway } from './build.ts'
import { systemClock as clock } from './clock.ts'
import { type Config, type Loaded, secretsOf } from './config.ts'
import { openStateFolder, type StateFolder } from './folder.ts'
import type { KnownSecrets } from './known-secrets.ts'
import { type LiveConfig, openLiveConfig, watchConfig } from './live.ts'
import { logReload, logSignal } from './log.ts'
import { readNote } from './note.ts'
import { productRoot } from './root.ts'

/** The gateway cannot start; the message says why and what to do. */
export class CannotStart extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CannotStart'
  }
}

export interface StartedGateway {
  readonly url: string
  readonly token: string
  readonly backend: string
  readonly note: string
  /** Chats that anybody can write to while nobody is let in. */
  readonly ownerless: readonly string[]
  /** Resolves when everything that was started has stopped. */
  readonly closed: Promise<void>
}

export interface GatewayOptions {
  readonly loaded: Extract<Loaded, { ok: true }>
  /** Reads the configuration again, from the same places. */
  load(instead?: ConfigTexts): Promise<Loaded>
  readonly log: Logger
  /** Those of the configuration; the log hides what becomes known here. */
  readonly secrets: KnownSecrets
  /** Has the log kept in this folder, which is ours alone. */
  keepLog(dir: string): void
  /** When the port was not chosen by anybody, the next free one will do. */
  readonly anyPort: boolean
}

/** Where a guest may be at the files just now, what they said before that. */
const approvedTexts = (approved: (file: string) => string | null | undefined): ConfigTexts =>
  Object.fromEntries(
    configFiles.flatMap(file => {
      const text = approved(file)
      return text === undefined ? [] : [[file, text ?? '{}']]
    }),
  )

/** How long the start waits for a chat to be reached; it goes on trying afterwards. */
const patienceMs = 5000

/** Runs until `stop` aborts; then running turns may end, for a while. */
export async function openGateway(
  { loaded, load, log, secrets, keepLog, anyPort }: GatewayOptions,
  stop: AbortSignal,
): Promise<StartedGateway> {
  const { config } = loaded
  const folder = await openStateFolder(config.configDir).catch(cannot)
  const db = await openOwnDatabase(folder, config)
  keepLog(folder.log)
  let ready = false
  let url = ''
  let lives = false
  let told: Tell = signal => logSignal(log, signal)
  const closeHttp = new AbortController()
  try {
    const token = config.http.token ?? (await folder.token())
    const { scrub, learn } = secrets
    learn([token])
    const scratch = openScratch(folder.runs)
    const [backends, strays] = await Promise.all([
      openBackends(
        loaded,
        {
          scratch,
          tell: signal => told(signal),
          scrub,
          warn: (backend, what) => log.warn({ backend }, what),
        },
        stop,
      ),
      endStrays(folder.runs),
    ])
    if (!backends.ok) throw new CannotStart(backends.why)
    if (strays > 0) log.warn({ processes: strays }, 'ended what a killed gateway left running')
    warnOfMissingLogin(backends.main.name, loaded.environment, log)
    const version = await readVersion()
    let approved: (file: string) => string | null | undefined = () => undefined
    const live = openLiveConfig({
      loaded,
      async load(instead) {
        const next = await load({ ...approvedTexts(approved), ...instead })
        if (next.ok) learn(secretsOf(next.config, next.environment))
        return next
      },
      told: reloaded => logReload(log, reloaded),
    })
    const gateway = await buildGateway({
      live,
      db,
      scratch,
      backends,
      clock,
      log,
      version,
      scrub,
      ready: () => ready,
      variable: name => loaded.environment[name] ?? null,
      url: () => url,
      bridge: { command: process.execPath, args: [join(productRoot(), 'bin', 'mcp-bridge.mjs')] },
    })
    approved = file => gateway.remembering.keeper.approved(file)
    told = gateway.tell
    log.info(await gateway.workspace.bootstrap().catch(cannot), 'workspace')
    await gateway.remembering.begin((await gateway.inbox.waiting()).filter(({ interrupted }) => interrupted))
    // What a killed gateway was to do on leaving is not for one that comes.
    await gateway.inbox.cancel(lastLane)
    // Each start has a greeting of its own: those of starts that came to nothing would pile up.
    await gateway.inbox.cancel(firstLane)
    const http = await listen(config, token, gateway, version, log, anyPort, closeHttp.signal)
    url = http.url
    // Nothing is awaited in between: whoever is at the door already must not be told that nobody listens.
    const closed = runGateway({ live, gateway, backends, http, closeHttp, folder, db, log, stop })
    lives = true
    closed.catch(() => undefined)
    await folder
      .leaveNote({ pid: process.pid, url: http.url, token })
      .catch((error: unknown) => log.warn({ err: error }, 'other commands will not find this gateway'))
    // Whoever is refused by a chat learns it instead of hearing that all is well.
    const enough = new AbortController()
    const settled = [closed, gateway.connected, clock.sleep(patienceMs, enough.signal)]
    await Promise.race(settled).finally(() => enough.abort())
    ready = true
    await greet(gateway, log)
    if (config.agent.prewarm)
      void gateway.prewarm().catch((error: unknown) => log.warn({ err: error }, 'not prewarmed'))
    log.info({ url: http.url, backend: backends.main.name, note: backends.note, pid: process.pid }, 'ready')
    const ownerless = gateway.ownerless()
    return { url: http.url, token, backend: backends.main.name, note: backends.note, ownerless, closed }
  } catch (error) {
    // What lives closes by itself.
    if (lives) throw error
    closeHttp.abort()
    await db.close()
    // Damage inside the file shows only when it is read.
    const told = inWords(error, folder.database)
    throw told instanceof DatabaseUnusable ? new CannotStart(told.message, { cause: error }) : error
  }
}

interface Life {
  readonly live: LiveConfig
  readonly gateway: Gateway
  readonly backends: OpenBackends
  readonly http: OpenHttp
  readonly closeHttp: AbortController
  readonly folder: StateFolder
  readonly db: Database
  readonly log: Logger
  readonly stop: AbortSignal
}

/** Starts everything that lives, and stops it in the order in which nobody loses anything. */
async function runGateway({ live, gateway, backends, http, closeHttp, folder, db, log, stop }: Life): Promise<void> {
  const sources = new AbortController()
  const taking = new AbortController()
  const cut = new AbortController()
  const posting = new AbortController()
  const speaking = gateway.chats.map(chat => chat.run(gateway.intake.accept, sources.signal))
  const take: Gateway['takeTurn'] = (taken, signal) => gateway.takeTurn(taken, AbortSignal.any([signal, cut.signal]))
  const turns = gateway.inbox.work(take, taking.signal)
  const post = gateway.outbox.work(gateway.deliver, posting.signal)
  const chores = [
    sweep(gateway, log, taking.signal),
    watchConfig(live, clock, taking.signal),
    gateway.waking.clockSource.run(gateway.intake.accept, taking.signal),
    gateway.waking.outbound(taking.signal),
    ...gateway.remembering.chores.map(chore => chore(taking.signal)),
  ].map(chore => chore.catch((error: unknown) => log.error({ err: error }, 'a part broke')))

  const failure = await Promise.race([aborted(stop).then(() => null), firstFailure(speaking)])
  log.info({ running: gateway.inbox.depth().running, waiting: gateway.inbox.depth().waiting }, 'stopping')
  gateway.intake.close()
  taking.abort()
  await within(turns, live.current().stopTimeoutMs, () => cut.abort(cutOff))
  if (!cut.signal.aborted) await sayGoodbye(gateway, take, live.current().stopTimeoutMs, () => cut.abort(cutOff))
  await within(gateway.outbox.drain(), 2000, () => undefined)
  sources.abort()
  posting.abort()
  closeHttp.abort()
  await Promise.allSettled(speaking)
  await Promise.all([turns, post, ...chores, http.closed])
  await backends.close()
  await gateway.flush()
  await folder.takeNoteAway()
  await db.close()
  log.info('stopped')
  if (failure) throw failure.error instanceof ChatUnusable ? cannotStart(failure.error) : failure.error
}

const firstLane = 'hook:startup'
const lastLane = 'hook:shutdown'

/** The hook of the start goes through the queue, once per start. */
async function greet(gateway: Gateway, log: Logger): Promise<void> {
  const hook = await gateway.waking.hook('startup')
  const put = hook && (await gateway.intake.accept(hook))
  if (put?.type === 'refused') log.warn({ why: put.why }, 'startup hook refused')
}

/** The hook of the end goes through the queue too, and is waited for; nothing else is taken up any more. */
async function sayGoodbye(gateway: Gateway, take: Gateway['takeTurn'], ms: number, hurry: () => void): Promise<void> {
  const hook = await gateway.waking.hook('shutdown')
  if (!hook) return
  const over = new AbortController()
  await gateway.inbox.put(hook.lane, hook.key, hook)
  const working = gateway.inbox.work(take, over.signal, lastLane)
  await within(gateway.inbox.wake(lastLane), ms, hurry)
  over.abort()
  await working
  await gateway.inbox.cancel(lastLane)
}

/** A chat that cannot go on ends the gateway, in good order. */
const firstFailure = (lives: readonly Promise<void>[]) =>
  new Promise<{ readonly error: unknown }>(resolve => {
    for (const life of lives) life.catch((error: unknown) => resolve({ error }))
  })

/** Waits for `work`, at most `ms`; then it is hurried and no longer waited for here. */
async function within(work: Promise<unknown>, ms: number, hurry: () => void): Promise<void> {
  const done = new AbortController()
  const first = await Promise.race([work.then(() => 'done'), clock.sleep(ms, done.signal)])
  done.abort()
  if (first !== 'done') hurry()
}

async function sweep(gateway: Gateway, log: Logger, signal: AbortSignal): Promise<void> {
  for (let pause = 60_000; !signal.aborted; pause = 6 * 3_600_000) {
    await clock.sleep(pause, signal)
    if (signal.aborted) return
    const gone = await gateway.forgetOld(signal).catch((error: unknown) => {
      log.warn({ err: error }, 'old events could not be removed')
      return 0
    })
    if (gone > 0) log.info({ events: gone }, 'old events removed')
  }
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

/** Not more than a warning: a login may be where nobody can look, such as the keychain of a Mac. */
function warnOfMissingLogin(backend: string, environment: Readonly<Record<string, string>>, log: Logger): void {
  const login = loginOf(backend, environment, environment.HOME || homedir())
  if (login?.sign === null) log.warn({ backend, logInWith: login.command }, 'no sign of a login')
}

async function listen(
  config: Config,
  token: string,
  gateway: Gateway,
  version: string,
  log: Logger,
  anyPort: boolean,
  signal: AbortSignal,
): Promise<OpenHttp> {
  const root = productRoot()
  const open = (port: number) =>
    openHttp(
      {
        host: config.http.host,
        names: config.http.names,
        port,
        token,
        webDir: join(root, 'web'),
        modulesDir: join(root, 'node_modules'),
        version,
        ready: () => gateway.report.status().ready,
        status: async () => gateway.report.status(),
        metrics: async () => gateway.report.metrics(),
        connect: gateway.webchat.connect,
        newConversation: () => crypto.randomUUID(),
        message: gateway.webchat.message,
        pairing: gateway.pairing,
        webhook: gateway.waking.webhook,
        sessions: gateway.sessions,
        jobs: gateway.waking.jobs,
        memory: gateway.remembering.memory,
        agents: gateway.subagents,
        records: gateway.remembering,
        files: gateway.remembering.keeper.own,
        skills: gateway.skills,
        tools: gateway.desk,
        mission: gateway.mission,
        talks: gateway.talks,
        settings: gateway.settings,
        logs: gateway.logs,
        attachments: gateway.attachments,
        warn: (fields, text) => log.warn(fields, text),
      },
      signal,
    )
  for (let port = config.http.port; ; port++) {
    try {
      return await open(port)
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!taken || !anyPort || port >= config.http.port + 20) return cannot(error)
      log.warn({ port, next: port + 1 }, 'port in use')
    }
  }
}

async function readVersion(): Promise<string> {
  const { default: product } = (await import(join(productRoot(), 'package.json'), { with: { type: 'json' } })) as {
    default: { version: string }
  }
  return product.version
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

function cannot(error: unknown): never {
  throw error instanceof CannotStart ? error : cannotStart(error)
}

const cannotStart = (error: unknown) =>
  new CannotStart(error instanceof Error ? error.message : String(error), { cause: error })
