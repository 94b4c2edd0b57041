// `aetheel doctor`: looks at all that a gateway needs, and says what to do about what is missing.
import { rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { scrubber } from '../base/scrub.ts'
import { type BackendParts, chooseBackend, killEverything, openScratch, type Scratch } from '../run/index.ts'
import type { Check, Finding } from '../ui/index.ts'
import { systemClock as clock } from './clock.ts'
import { type Loaded, type LoadFrom, loadConfig, secretsOf } from './config.ts'
import { secretHider, secretsIn } from './config-report.ts'
import type { Variables } from './config-sources.ts'
import { chatNames } from './discord.ts'
import { type FoundBackends, findBackends } from './doctor-backends.ts'
import { discordChecks } from './doctor-discord.ts'
import { askOnce, questionTo } from './doctor-live.ts'
import {
  configurationChecks,
  databaseChecks,
  diskChecks,
  gatewayChecks,
  nodeChecks,
  portChecks,
  workspaceChecks,
} from './doctor-machine.ts'
import { wakingChecks } from './doctor-waking.ts'
import { findGateway, groundUnder } from './find.ts'

const patienceMs = 120_000
/** Shorter than this is at once. */
const atOnceMs = 150

/** What is looked at. There is always a folder and an environment, however bad the configuration is. */
interface Ground {
  readonly loaded: Loaded
  readonly configDir: string
  readonly environment: Variables
  readonly home: string
  readonly secrets: readonly string[]
}

/** Ends early when the signal aborts. Whatever happens, no process and no folder stays behind. */
export async function* examine(from: LoadFrom, live: boolean, signal: AbortSignal): AsyncGenerator<Finding> {
  const ending = leaveNothing()
  try {
    yield { type: 'doing', what: 'looking around' }
    const ground = await groundOf(from)
    const hide = secretHider(ground.secrets)
    const backends = lookForBackends(ground, signal)
    let failed = false
    for (const { what, checks } of [
      ...lookAround(ground, signal),
      { what: 'agents', checks: backends.then(found => found.checks) },
    ]) {
      // What is there at once needs no word that it is looked at.
      const there = await Promise.race([checks.then(() => true), pause(atOnceMs, false, { ref: false })])
      if (!there) yield { type: 'doing', what: `looking at ${what}` }
      for (const check of await checks) {
        if (signal.aborted) return
        failed ||= check.status === 'fail'
        yield { type: 'check', check: hidden(check, hide) }
      }
    }
    if (!live) return
    for await (const finding of tryOut(ground, await backends, failed, ending.keep, signal))
      yield finding.type === 'check' ? { type: 'check', check: hidden(finding.check, hide) } : finding
  } finally {
    ending.over()
  }
}

/** The agents of this machine, for whoever is to choose one. */
export const backendsFor = async (from: LoadFrom, signal: AbortSignal): Promise<FoundBackends['each']> => {
  process.on('exit', killEverything)
  return (await lookForBackends(await groundOf(from), signal)).each
}

async function groundOf(from: LoadFrom): Promise<Ground> {
  const loaded = await loadConfig(from)
  const home = from.env.HOME || homedir()
  if (loaded.ok) {
    const { config, environment } = loaded
    return { loaded, configDir: config.configDir, environment, home, secrets: secretsOf(config, environment) }
  }
  const { configDir, environment } = await groundUnder(from)
  return { loaded, configDir, environment, home, secrets: secretsIn([], environment) }
}

/** All of it at once; each says itself when it could not be looked at. */
function lookAround({ loaded, configDir, environment }: Ground, signal: AbortSignal): readonly Part[] {
  const running = findGateway(configDir)
  return [
    part('node', async () => nodeChecks()),
    part('configuration', async () => configurationChecks(loaded, configDir)),
    part('workspace', () => workspaceChecks(configDir)),
    part('disk', () => diskChecks(configDir)),
    part('gateway', async () => gatewayChecks(await running)),
    part('database', async () => databaseChecks(configDir, await running)),
    part('port', async () =>
      loaded.ok ? portChecks(loaded.config.http, loaded.isSet('http.port'), await running) : [],
    ),
    part('waking', async () =>
      loaded.ok
        ? wakingChecks({
            configDir,
            variable: name => environment[name] ?? null,
            defaultChannel: loaded.config.heartbeat.defaultChannel,
            chats: chatNames(loaded.config),
          })
        : [],
    ),
    part('discord', async () => (loaded.ok ? discordChecks(loaded.config, signal) : [])),
  ]
}

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
  detail: `could not be looked at (${error instanceof Error ? error.message : String(error)})`,
})

function lookForBackends(ground: Ground, signal: AbortSignal): Promise<FoundBackends> {
  const { loaded, home } = ground
  const search = { parts: partsFor(ground, noScratch), loaded: loaded.ok ? loaded : null, home }
  return findBackends(search, signal).catch((error: unknown) => ({
    checks: [failure('backend', error)],
    each: [],
    fix: '',
    useless: 'the backends could not be looked at',
  }))
}

function partsFor({ loaded, environment, secrets }: Ground, scratch: Scratch): BackendParts {
  const config = loaded.ok ? loaded.config : null
  return {
    program: config?.agent.cliPath ?? null,
    environment,
    handOn: config?.agent.env ?? [],
    extra: config?.envVars ?? {},
    scrub: scrubber(secrets),
    clock,
    // One turn only: a process that stays up would have to be ended at once.
    sdkPath: config?.agent.sdkPath ?? null,
    pool: null,
    scratch,
  }
}

const noScratch: Scratch = {
  keep() {
    throw new Error('nothing is run while looking around')
  },
  tidied: async () => undefined,
}

async function* tryOut(
  ground: Ground,
  { useless, fix }: FoundBackends,
  failedAlready: boolean,
  keep: (dir: string) => void,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { loaded } = ground
  const why = loaded.ok ? useless : 'the configuration has mistakes'
  if (!loaded.ok || why !== null) {
    const status = failedAlready ? 'off' : 'fail'
    yield { type: 'check', check: { name: 'live', status, detail: `not tried: ${why}` } }
    return
  }
  const { config } = loaded
  const dir = await mkdtemp(join(tmpdir(), 'aetheel-doctor-'))
  keep(dir)
  const parts = partsFor(ground, openScratch(dir))
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

/** A program may take a moment to leave after its answer, so folders go last of all, together with this process. */
function leaveNothing() {
  const folders: string[] = []
  let pressed = 0
  let over = false
  process.on('exit', () => {
    killEverything()
    for (const dir of folders) rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  })
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(1))
  // The first Ctrl-C is the command line's, which lets things end in good order; with the second nobody waits any longer.
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
