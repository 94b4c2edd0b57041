// A backend that is a command-line program: one process per turn, or a warm host, described by a pure dialect.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentEvent, type Backend, defaultMaxTurns, type Ended, type Turn } from '../base/agent.ts'
import type { Confined } from './box-home.ts'
import { childEnvironment, type EnvironmentParts } from './child-environment.ts'
import { runTag } from './end-processes.ts'
import { failed, orAlive } from './events.ts'
import { thinking, waiting, withSigns } from './model-connections.ts'
import { createModels, type ModelList } from './models.ts'
import type { Reach } from './network/proxy.ts'
import type { Pool } from './pool.ts'
import { isNoRoom, type ProcessEnd, type ProcessOrder, type RunningProcess, startProcess } from './process.ts'
import { runAlone } from './single-turn-host.ts'
import { createSurroundings } from './surroundings.ts'
import type { TempDirs } from './temp-dirs.ts'
import { backendOf, checkProgram, type Host, type HostContext, openingMs, type Warm, within } from './warm.ts'

/** What is specific to one CLI. Pure: arguments and input out, lines in. `dir` is a folder that belongs to this run only. */
export interface Dialect {
  readonly name: string
  readonly takesSessionIds: boolean
  readonly install: string
  /** Any of these shows that somebody has logged in: variables, and files below HOME. */
  readonly credentials: { readonly variables: readonly string[]; readonly files: readonly string[] }
  /** Variables of the gateway that belong to this CLI, by name or `PREFIX_*`. */
  readonly ownVariables: readonly string[]
  /** Written into `dir` before it starts, besides the system prompt: name to content. */
  files(turn: Turn, inherited: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  /** Set for a run, on top of what the child gets anyway (`inherited`). */
  environment(turn: Turn, dir: string, inherited: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  arguments(turn: Turn, dir: string): readonly string[]
  input(turn: Turn): string
  /** A reader for one run. */
  read(turn: Turn): Reader
  /** Whether it respects `maxTurns`. */
  readonly countsSteps: boolean
  /** Which other options of a turn it cannot apply, a sentence each. */
  ignores(turn: Turn): readonly string[]
  /** Whether a cold turn needs a host of its own, because it asks for something that only warm mode can do. */
  hosted?(turn: Turn, inherited: Readonly<Record<string, string>>): boolean
  /** How it lists its models; missing: it does not, or not reliably. */
  readonly models?: ModelList
  /** The gateway's own tools reach it through files, not through MCP. */
  readonly mcp?: false
  /** The dialect of the installed version, if it differs from this one. */
  forVersion?(version: string): Dialect | null
  /** In cold mode it prints nothing while its model thinks. */
  readonly quiet?: true
  /** What matters when its turns are confined (profiles.ts). */
  readonly confined: Confined
  /** How it stays up between turns; null: it cannot. */
  readonly warm: Warm | null
}

/** A process that is not a host cannot be answered, so it gets none of the tools that it would have to ask for. */
const withoutAsking = (turn: Turn): Turn => (turn.askTools.length === 0 ? turn : { ...turn, askTools: [] })

/** The file that holds the system prompt of a run. */
export const systemPromptIn = (dir: string): string => join(dir, 'system-prompt.md')

export interface Reader {
  /** The events in a line of output; `ended` only when the CLI itself reports its end. Never throws. */
  line(text: string): readonly AgentEvent[]
  /** The end of a run whose process exited without reporting one. */
  end(how: ProcessEnd): Ended
}

export interface CliParts extends EnvironmentParts {
  /** Name or path of the program. */
  readonly program: string
  readonly scrub: (text: string) => string
  /** Null: cold mode, a process for each turn. */
  readonly pool: Pool | null
  /** Folders of runs and of warm hosts. */
  readonly tempDirs: TempDirs
  /** What the networks of boxes lead to, besides the usual. */
  readonly reach?: Partial<Reach>
}

export function createCliBackend(dialect: Dialect, parts: CliParts): Backend {
  const env = childEnvironment(dialect, parts)
  const surroundings = createSurroundings(dialect, parts)

  /** The folder of a run, with all files that the program reads from it. */
  function prepareDir(turn: Turn): { readonly dir: string; remove(): void } {
    const folder = parts.tempDirs.create()
    const files = { ...dialect.files(turn, surroundings(turn).env), [systemPromptIn('')]: turn.systemPrompt }
    // Synchronous: these are a few small files, and the answer waits for them.
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.dir, name), text, { mode: 0o600 })
    return folder
  }

  /** The tag is inherited by everything the run starts, so that orphans of a killed gateway can be found (orphans.ts). */
  function start(
    turn: Turn,
    dir: string,
    process: Pick<ProcessOrder, 'args' | 'env' | 'input'>,
    tag: string = dir,
  ): RunningProcess {
    const { env, enter } = surroundings(turn)
    const tagged = { ...env, ...process.env, [runTag]: tag }
    return startProcess(enter({ ...process, file: parts.program, env: tagged, cwd: turn.workingDir }, dir))
  }

  async function* runCold(
    given: Turn,
    signal: AbortSignal,
    leaves: (gone: Promise<unknown>) => void,
  ): AsyncGenerator<AgentEvent> {
    if (signal.aborted) return yield failed('stopped', 'stopped before it began')
    // If the host does not start, the turn continues without it.
    const { env } = surroundings(given)
    const host = dialect.warm && dialect.hosted?.(given, env) ? await tryHost(dialect.warm, given, signal) : null
    if (host) return yield* runAlone(host, given, signal, leaves)
    const turn = withoutAsking(given)
    let folder: ReturnType<typeof prepareDir>
    try {
      folder = prepareDir(turn)
    } catch (error) {
      const why = isNoRoom(error) ? 'no-room' : 'crashed'
      return yield failed(why, `the system prompt could not be written: ${String(error)}`)
    }
    const { dir, remove } = folder
    const child = start(turn, dir, {
      args: dialect.arguments(turn, dir),
      env: dialect.environment(turn, dir, env),
      input: dialect.input(turn),
    })
    const kill = () => child.kill()
    signal.addEventListener('abort', kill, { once: true })
    try {
      yield* translate(child, turn, signal)
    } finally {
      // Nothing is left running, even if the consumer stops reading.
      signal.removeEventListener('abort', kill)
      const patience = setTimeout(kill, 5000)
      void child.end.then(remove)
      leaves(child.end.finally(() => clearTimeout(patience)))
    }
  }

  const tryHost = (warm: Warm, turn: Turn, signal: AbortSignal) => openHost(warm, turn, signal).catch(() => null)

  async function openHost(warm: Warm, turn: Turn, signal: AbortSignal): Promise<Host> {
    const folder = prepareDir(turn)
    const started: RunningProcess[] = []
    const startInside: HostContext['start'] = (args, own) => {
      // What the others start does not belong to it, and must not end with it.
      const tag = started.length === 0 ? folder.dir : join(folder.dir, String(started.length))
      const child = start(turn, folder.dir, { args, env: own, input: null }, tag)
      started.push(child)
      return child
    }
    try {
      const host = await within(openingMs, signal, bounded =>
        warm.open({ dir: folder.dir, inherited: surroundings(turn).env, start: startInside }, turn, bounded),
      )
      void host.gone.then(folder.remove)
      return host
    } catch (error) {
      for (const child of started) child.kill()
      // The caller may rely on nothing being left running.
      await Promise.all(started.map(child => child.end))
      folder.remove()
      throw error
    }
  }

  async function* translate(child: RunningProcess, turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const reader = dialect.read(turn)
    for await (const line of dialect.quiet ? withSigns(child) : child.lines) {
      for (const event of line === waiting ? [thinking] : orAlive(reader.line(line))) {
        if (signal.aborted) break
        // A failed run has nothing left to do. An answer does not wait for the program to exit.
        if (event.type === 'ended' && !event.ok) child.kill()
        yield event
        if (event.type === 'ended') return
      }
    }
    const end = await child.end
    yield signal.aborted ? failed('stopped', 'the run was stopped') : endOf(end, reader)
  }

  const { name, takesSessionIds, countsSteps, warm } = dialect
  const checkModel = dialect.models ? createModels(dialect.models, { file: parts.program, env }) : null
  const ignores = (turn: Turn) => [
    ...dialect.ignores(turn),
    ...(countsSteps || turn.maxTurns === defaultMaxTurns ? [] : [`${name} has no option for BACKEND_MAX_TURNS.`]),
  ]
  const check = (signal: AbortSignal) =>
    checkProgram({ ...parts, path: parts.environment.PATH, name, install: dialect.install }, env, signal)
  return backendOf({ name, takesSessionIds, check, checkModel, ignores, cold: runCold, warm, open: openHost }, parts)
}

/** The end of a run whose process exited without reporting one. */
export const endOf = (end: ProcessEnd, reader: Reader): Ended => processFailure(end) ?? reader.end(end)

function processFailure(end: ProcessEnd): Ended | null {
  switch (end.trouble) {
    case null:
      return null
    case 'spawn':
      return failed(
        /ENOENT|EACCES/.test(end.detail) ? 'not-installed' : 'crashed',
        `could not be started: ${end.detail}`,
      )
    case 'no-room':
      return failed('no-room', `could not be started: ${end.detail}`)
    case 'line-too-long':
      return failed('unreadable', 'the program wrote a line of more than 16 MB')
    case 'too-much-output':
      return failed('unreadable', 'the program wrote more than 256 MB')
    default:
      return end.trouble satisfies never
  }
}
