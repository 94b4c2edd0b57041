// The configuration while the gateway runs: a good edit counts from the next turn on, a bad one leaves what was good.
import { watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ConfigTexts, configFiles, isConfigFile } from '../base/config-files.ts'
import type { Clock } from '../base/time.ts'
import { type WallTime, wallTime } from '../base/zone.ts'
import { localTime } from './clock.ts'
import { type Config, type Loaded, showProblems } from './config.ts'
import { eachOption } from './config-options.ts'

export type Good = Extract<Loaded, { ok: true }>

export interface LiveConfig {
  current(): Config
  /** As the files were when they were last good, and when we started. What `current` is made of. */
  good(): Good
  readonly started: Good
  /** What a clock on the owner's wall shows then. */
  wall(ms: number): WallTime
  reload(): Promise<Reloaded>
  /** As it would be with these texts in the files. */
  load(instead?: ConfigTexts): Promise<Loaded>
}

export type Reloaded =
  | {
      readonly ok: true
      /** Keys that count from now on. */
      readonly applied: readonly string[]
      /** Keys that were changed and count after the next start. */
      readonly later: readonly string[]
    }
  | { readonly ok: false; readonly why: string }

export interface LiveParts {
  readonly loaded: Good
  load(instead?: ConfigTexts): Promise<Loaded>
  told(reloaded: Reloaded): void
}

export function openLiveConfig({ loaded, load, told }: LiveParts): LiveConfig {
  let good = loaded
  let config = loaded.config
  let last: Promise<void> = Promise.resolve()

  async function readAgain(): Promise<Reloaded> {
    const next = await load()
    if (!next.ok) return { ok: false, why: showProblems(next.problems) }
    const changed = keysThatDiffer(good, next)
    good = next
    config = merged(loaded.config, next.config)
    return {
      ok: true,
      applied: changed.filter(key => isLive(key)),
      later: changed.filter(key => !isLive(key)),
    }
  }

  return {
    current: () => config,
    good: () => good,
    started: loaded,
    // Intl is 8 MB, and nobody who lives by the clock of the machine needs it.
    wall: ms => (good.isSet('timezone') ? wallTime(ms, config.timezone) : localTime(ms)),
    load,
    /** One after the other: whoever asks is told of the file as it is then. */
    reload() {
      const reloading = last.then(readAgain).then(reloaded => {
        told(reloaded)
        return reloaded
      })
      last = reloading.then(() => undefined)
      return reloading
    },
  }
}

/** How long an editor may take to write a file. */
const settleMs = 300
/** Where the system does not tell of changes, or forgets to. */
const lookEveryMs = 30_000

/** Reads the configuration again when one of its files has changed, until the signal. */
export async function watchConfig(live: LiveConfig, clock: Clock, signal: AbortSignal): Promise<void> {
  const { configDir } = live.current()
  const markOf = async () => {
    const signs = configFiles.map(file =>
      stat(join(configDir, file))
        .then(({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`)
        .catch(() => ''),
    )
    return (await Promise.all(signs)).join()
  }
  let nudge = () => {}
  // The folder and not the file: a watcher of a file goes deaf when an editor saves by renaming.
  const watcher = watch(configDir, { signal }, (_, name) => name !== null && isConfigFile(name) && nudge())
  watcher.on('error', () => watcher.close())
  for (let known = await markOf(); !signal.aborted; ) {
    const nudged = new AbortController()
    nudge = () => nudged.abort()
    await clock.sleep(lookEveryMs, AbortSignal.any([signal, nudged.signal]))
    await clock.sleep(nudged.signal.aborted ? settleMs : 0, signal)
    const mark = await markOf()
    if (signal.aborted || mark === known) continue
    known = mark
    await live.reload()
  }
}

const live = new Set<string>(eachOption().flatMap(([key, option]) => (option.live ? [key] : [])))
const isLive = (key: string) => live.has(key)

/** What is built at the start stays as it was then. */
function merged(start: Config, next: Config): Config {
  const { models, mcpServers, allowedTools, permissionMode, query, gate, heartbeat, budget } = next
  const { model, maxTurns, fallback } = next.agent
  return {
    ...start,
    ...{ models, mcpServers, allowedTools, permissionMode, query, gate, heartbeat, budget },
    ...{ retentionDays: next.retentionDays, stopTimeoutMs: next.stopTimeoutMs },
    agent: { ...start.agent, model, maxTurns, fallback },
    // Asking for the zone of the machine is dear, so it stays a question.
    get timezone() {
      return next.timezone
    },
  }
}

function keysThatDiffer(before: Good, after: Good): readonly string[] {
  const old = new Map(before.values.map(({ key, value }) => [key, value]))
  const shown = after.values.filter(({ key, value }) => old.get(key) !== value).map(({ key }) => key)
  // Secrets are masked alike.
  const servers = isDeepStrictEqual(before.config.mcpServers, after.config.mcpServers) ? [] : ['mcp.servers']
  return [...new Set([...shown, ...servers])]
}

/** For whoever asked. */
export function reloadInWords(reloaded: Reloaded): string {
  if (!reloaded.ok) return `Not reloaded: the configuration has mistakes, so the last good one stays.\n${reloaded.why}`
  const { applied, later } = reloaded
  const lines = [
    ...(applied.length > 0 ? [`Counts from now on: ${applied.join(', ')}.`] : []),
    ...(later.length > 0 ? [`Counts after the next start: ${later.join(', ')}.`] : []),
  ]
  return lines.length > 0 ? lines.join('\n') : 'Nothing in the configuration has changed.'
}
