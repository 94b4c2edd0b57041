// The configuration while the gateway runs: a valid edit takes effect with the next turn; an invalid one is ignored.
import { watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ConfigTexts, configFiles, isConfigFile } from '../base/config-files.ts'
import type { Clock } from '../base/time.ts'
import { type WallTime, wallTime } from '../base/zone.ts'
import { type Config, configFrom, withLiveValues } from './config.ts'
import type { Loaded } from './load.ts'
import { eachOption } from './options/index.ts'
import { type Reloaded, showProblems } from './report.ts'

export type Good = Extract<Loaded, { ok: true }>

export interface LiveConfig {
  current(): Config
  /** The files as they were when they were last valid, and at the start. `current` is derived from these. */
  good(): Good
  readonly started: Good
  /** What decides what a turn may touch. */
  profiles(): Config['views']['profiles']
  /** That time in the owner's time zone. */
  wall(ms: number): WallTime
  reload(): Promise<Reloaded>
  /** Reloads on request; reports the changes since the last request, and everything that waits for a restart. */
  reloadOnRequest(): Promise<Reloaded>
  /** Loads the configuration as if the files had these texts. */
  load(instead?: ConfigTexts): Promise<Loaded>
}

export interface LiveParts {
  readonly loaded: Good
  load(instead?: ConfigTexts): Promise<Loaded>
  onReload(reloaded: Reloaded): void
}

export function createLiveConfig({ loaded, load, onReload }: LiveParts): LiveConfig {
  let good = loaded
  let config = loaded.config
  let hasOwnZone = loaded.isSet('timezone')
  let reported = loaded
  let last: Promise<void> = Promise.resolve()

  async function readAgain(): Promise<Reloaded> {
    const next = await load()
    if (!next.ok) return { ok: false, why: showProblems(next.problems) }
    const changed = keysThatDiffer(good, next)
    good = next
    hasOwnZone = next.isSet('timezone')
    config = configFrom(withLiveValues(loaded.settled.values, next.settled.values), loaded.config.envVars)
    return { ok: true, applied: changed.filter(isLive), later: changed.filter(key => !isLive(key)) }
  }

  /** One at a time, so that each caller gets the state of the files at that moment. */
  function reload(): Promise<Reloaded> {
    const reloading = last.then(readAgain).then(reloaded => {
      onReload(reloaded)
      return reloaded
    })
    last = reloading.then(() => undefined)
    return reloading
  }

  return {
    current: () => config,
    good: () => good,
    started: loaded,
    profiles: () => config.views.profiles,
    // Intl takes 8 MB, and with the machine's own time zone it is not needed.
    wall: ms => (hasOwnZone ? wallTime(ms, config.timezone) : localTime(ms)),
    load,
    reload,
    // The watcher has usually loaded an edit before the owner asks.
    async reloadOnRequest() {
      const reloaded = await reload()
      if (!reloaded.ok) return reloaded
      const applied = keysThatDiffer(reported, good).filter(isLive)
      reported = good
      return { ok: true, applied, later: keysThatDiffer(loaded, good).filter(key => !isLive(key)) }
    },
  }
}

/** How long an editor may take to write a file. */
const settleMs = 300
/** A fallback for systems that do not report changes, or miss some. */
const lookEveryMs = 30_000

/** Reloads the configuration when one of its files has changed, until the signal aborts. */
export async function watchConfig(live: LiveConfig, clock: Clock, signal: AbortSignal): Promise<void> {
  const { configDir } = live.current()
  const fingerprint = async () => {
    const stats = configFiles.map(file =>
      stat(join(configDir, file))
        .then(({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`)
        .catch(() => ''),
    )
    return (await Promise.all(stats)).join()
  }
  let wake = () => {}
  // Watches the folder instead of the file: a file watcher stops working when an editor saves by renaming.
  const watcher = watch(configDir, { signal }, (_, name) => name !== null && isConfigFile(name) && wake())
  watcher.on('error', () => watcher.close())
  for (let known = await fingerprint(); !signal.aborted; ) {
    const woken = new AbortController()
    wake = () => woken.abort()
    await clock.sleep(lookEveryMs, AbortSignal.any([signal, woken.signal]))
    await clock.sleep(woken.signal.aborted ? settleMs : 0, signal)
    const found = await fingerprint()
    if (signal.aborted || found === known) continue
    known = found
    await live.reload()
  }
}

const live = new Set<string>(eachOption().flatMap(([key, option]) => (option.live ? [key] : [])))
const isLive = (key: string) => live.has(key)

/** Options by key, variables by name. Compares the raw values: masked secrets would all look the same. */
function keysThatDiffer(before: Good, after: Good): readonly string[] {
  // Defaults are not compared: looking up the machine's time zone is slow.
  const keys = eachOption().filter(
    ([key]) =>
      (before.isSet(key) || after.isSet(key)) &&
      !isDeepStrictEqual(before.settled.values[key], after.settled.values[key]),
  )
  return [...keys.map(([key]) => key), ...variablesThatDiffer(before, after)]
}

/** Of `.env` and `env.vars`. A variable that sets an option is already listed by the option's key. */
function variablesThatDiffer(before: Good, after: Good): readonly string[] {
  const names = new Set([...Object.keys(before.environment), ...Object.keys(after.environment)])
  for (const [, { env }] of eachOption()) names.delete(env)
  const inFile = { ...before.config.envVars, ...after.config.envVars }
  return [...names]
    .filter(name => before.environment[name] !== after.environment[name])
    .map(name => (Object.hasOwn(inFile, name) ? `env.vars.${name}` : name))
}

/** In the machine's own time zone. */
function localTime(ms: number): WallTime {
  const at = new Date(ms)
  return {
    ...{ year: at.getFullYear(), month: at.getMonth() + 1, day: at.getDate() },
    ...{ hour: at.getHours(), minute: at.getMinutes() },
  }
}
