// `aetheel doctor`: checks everything a gateway needs, and says how to fix what is missing.

import { rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Check } from '../../base/check.ts'
import { scrubber, secretHider } from '../../base/scrub.ts'
import { errorText } from '../../base/unknown.ts'
import { type Config, type Loaded, type LoadFrom, loadConfig, secretsIn, type Variables } from '../../config/index.ts'
import {
  type BackendParts,
  chooseBackend,
  createTempDirs,
  installedClis,
  killEverything,
  type TempDirs,
} from '../../run/index.ts'
import type { Finding } from '../../ui/index.ts'
import { findGateway, workspaceOf } from '../running-gateway.ts'
import { systemClock as clock } from '../system-clock.ts'
import { chatNames, remoteChatsOn } from '../wiring/chat-names.ts'
import { checkPlace } from '../wiring/place-objection.ts'
import { auditChecks } from './audit.ts'
import { type FoundBackends, findBackends } from './backends.ts'
import { askOnce, questionTo } from './live-turn.ts'
import {
  configurationChecks,
  databaseChecks,
  diskChecks,
  gatewayChecks,
  nodeChecks,
  portChecks,
  workspaceChecks,
} from './machine.ts'
import { triggerChecks } from './triggers.ts'
import { wallChecks, wallsOf } from './walls.ts'

const patienceMs = 120_000
/** A check that takes less than this shows no progress line. */
const atOnceMs = 150

/** What is checked. The folder and the environment are known even if the configuration has mistakes. */
interface DoctorContext {
  readonly loaded: Loaded
  readonly configDir: string
  readonly environment: Variables
  readonly home: string
  readonly secrets: readonly string[]
}

/** Ends early when the signal aborts. Never leaves a process or folder behind. */
export async function* examine(from: LoadFrom, live: boolean, signal: AbortSignal): AsyncGenerator<Finding> {
  const ending = leaveNothing()
  try {
    yield { type: 'doing', what: 'checking' }
    const context = await contextOf(from)
    const hide = secretHider(context.secrets)
    const backends = lookForBackends(context, signal)
    let failed = false
    for (const { what, checks } of [
      ...allParts(context, signal),
      { what: 'agents', checks: backends.then(found => found.checks) },
    ]) {
      // No progress line for a check that finishes immediately.
      const there = await Promise.race([checks.then(() => true), pause(atOnceMs, false, { ref: false })])
      if (!there) yield { type: 'doing', what: `checking ${what}` }
      for (const check of await checks) {
        if (signal.aborted) return
        failed ||= check.status === 'fail'
        yield { type: 'check', check: hidden(check, hide) }
      }
    }
    if (!live) return
    for await (const finding of tryOut(context, await backends, failed, ending.keep, signal))
      yield finding.type === 'check' ? { type: 'check', check: hidden(finding.check, hide) } : finding
  } finally {
    ending.over()
  }
}

/** The agents on this machine, for `aetheel init`. */
export const backendsFor = async (from: LoadFrom, signal: AbortSignal): Promise<FoundBackends['each']> => {
  process.on('exit', killEverything)
  return (await lookForBackends(await contextOf(from), signal)).each
}

async function contextOf(from: LoadFrom): Promise<DoctorContext> {
  const loaded = await loadConfig(from)
  const home = from.env.HOME || homedir()
  if (loaded.ok) {
    const { config, environment } = loaded
    return { loaded, configDir: config.configDir, environment, home, secrets: loaded.secrets }
  }
  const { configDir, environment } = await workspaceOf(from)
  return { loaded, configDir, environment, home, secrets: secretsIn([], environment) }
}

/** What `aetheel security audit` prints. */
export async function audit(from: LoadFrom, fix: boolean, signal: AbortSignal): Promise<readonly Check[]> {
  const context = await contextOf(from)
  const hide = secretHider(context.secrets)
  return (await audited(context, fix, signal)).map(check => hidden(check, hide))
}

async function audited({ loaded, configDir, environment, home }: DoctorContext, fix: boolean, signal: AbortSignal) {
  const walls = loaded.ok ? await wallsOf(loaded.config, environment.PATH, signal) : []
  const { backend, cliPath } = loaded.ok ? loaded.config.agent : { backend: null, cliPath: null }
  const clis = installedClis(environment.PATH, { name: backend, program: cliPath })
  return auditChecks({ loaded, configDir, home, walls, clis, fix })
}

/** Only what needs attention. */
function inShort(checks: readonly Check[]): readonly Check[] {
  const open = checks.filter(({ status }) => status === 'warn' || status === 'fail')
  const detail = 'nothing is open that should not be; `npx aetheel security audit` shows what was checked'
  return open.length > 0 ? open : [{ name: 'security', status: 'ok', detail }]
}

/** Runs all checks in parallel. A check that throws becomes a failed check. */
function allParts(context: DoctorContext, signal: AbortSignal): readonly Part[] {
  const { loaded, configDir, environment } = context
  const running = findGateway(configDir)
  return [
    part('node', async () => nodeChecks()),
    part('configuration', async () => configurationChecks(loaded, configDir)),
    part('workspace', () => workspaceChecks(configDir)),
    part('disk', () => diskChecks(configDir)),
    part('walls', async () => (loaded.ok ? wallChecks(loaded.config, environment.PATH, signal) : [])),
    part('gateway', async () => gatewayChecks(await running)),
    part('database', async () => databaseChecks(configDir, await running)),
    part('port', async () =>
      loaded.ok ? portChecks(loaded.config.http, loaded.isSet('http.port'), await running) : [],
    ),
    part('waking', async () =>
      loaded.ok
        ? triggerChecks({
            configDir,
            variable: name => environment[name] ?? null,
            defaultChannel: loaded.config.heartbeat.defaultChannel,
            heartbeat: loaded.config.heartbeat,
            chats: chatNames(loaded.config),
            check: place => checkPlace(loaded.config, place, signal),
          })
        : [],
    ),
    ...(loaded.ok ? chatParts(loaded.config, signal) : []),
    part('security', async () => inShort(await audited(context, false, signal))),
  ]
}

const chatParts = (config: Config, signal: AbortSignal): readonly Part[] =>
  remoteChatsOn(config).map(chat => part(chat.name, async () => (await chat.probe(config, signal)).checks))

interface Part {
  readonly what: string
  readonly checks: Promise<readonly Check[]>
}

const part = (what: string, look: () => Promise<readonly Check[]>): Part => ({
  what,
  checks: look().catch((error: unknown) => [failure(what, error)]),
})

const failure = (name: string, error: unknown): Check => ({
  name,
  status: 'fail',
  detail: `could not be checked (${errorText(error)})`,
})

function lookForBackends(context: DoctorContext, signal: AbortSignal): Promise<FoundBackends> {
  const { loaded, home } = context
  const search = { parts: partsFor(context, noTempDirs), loaded: loaded.ok ? loaded : null, home }
  return findBackends(search, signal).catch((error: unknown) => ({
    checks: [failure('backend', error)],
    each: [],
    fix: '',
    useless: 'the backends could not be checked',
  }))
}

function partsFor({ loaded, environment, secrets }: DoctorContext, tempDirs: TempDirs): BackendParts {
  const config = loaded.ok ? loaded.config : null
  return {
    program: config?.agent.cliPath ?? null,
    environment,
    handOn: config?.agent.env ?? [],
    extra: config?.envVars ?? {},
    scrub: scrubber(secrets),
    clock,
    // There is one turn only, so a warm process would have to be ended right away.
    sdkPath: config?.agent.sdkPath ?? null,
    pool: null,
    tempDirs,
  }
}

const noTempDirs: TempDirs = {
  create() {
    throw new Error('no turn is run during the checks')
  },
  removed: async () => undefined,
}

async function* tryOut(
  context: DoctorContext,
  { useless, fix }: FoundBackends,
  failedAlready: boolean,
  keep: (dir: string) => void,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { loaded } = context
  const why = loaded.ok ? useless : 'the configuration has mistakes'
  if (!loaded.ok || why !== null) {
    const status = failedAlready ? 'off' : 'fail'
    yield { type: 'check', check: { name: 'live', status, detail: `not tried: ${why}` } }
    return
  }
  const { config } = loaded
  const dir = await mkdtemp(join(tmpdir(), 'aetheel-doctor-'))
  keep(dir)
  const parts = partsFor(context, createTempDirs(dir))
  const choice = chooseBackend(config.agent.backend, parts)
  if (!choice.ok) return
  const { backend } = choice
  yield { type: 'doing', what: `asking ${backend.name}` }
  const there = statSync(config.configDir, { throwIfNoEntry: false })?.isDirectory() === true
  const turn = { ...questionTo(config), workingDir: there ? config.configDir : dir }
  const how = { now: () => performance.now(), timeoutMs: patienceMs, scrub: parts.scrub, fix }
  const check = await askOnce(backend, turn, how, signal)
  if (check) yield { type: 'check', check }
}

function hidden({ fix, ...check }: Check, hide: (text: string) => string): Check {
  return { ...check, detail: hide(check.detail), ...(fix === undefined ? {} : { fix: hide(fix) }) }
}

/** A program may take a moment to exit after its answer, so the folders are removed last, when this process exits. */
function leaveNothing() {
  const folders: string[] = []
  let pressed = 0
  let over = false
  process.on('exit', () => {
    killEverything()
    for (const dir of folders) rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  })
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(1))
  // The first Ctrl-C belongs to the command line, which stops in good order. The second exits immediately.
  process.on('SIGINT', () => {
    if (over || pressed++ > 0) process.exit(130)
  })
  return {
    keep: (dir: string) => void folders.push(dir),
    over() {
      over = true
    },
  }
}
