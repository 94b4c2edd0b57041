// A backend that is a command-line program: one process per turn, spoken to through a pure dialect.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentEvent, type Backend, defaultMaxTurns, type Ended, type Turn } from '../base/agent.ts'
import { failed } from './ends.ts'
import type { Pool } from './pool.ts'
import { type ProcessEnd, type RunningProcess, startProcess } from './process.ts'
import type { Scratch } from './scratch.ts'
import { runMark } from './strays.ts'
import type { Ground, Host, Warm } from './warm.ts'
import { backendOf, checkProgram, openingMs, within } from './ways.ts'

/** What is particular to one CLI. Pure: arguments and input out, lines in. `dir` is a folder of the run alone. */
export interface Dialect {
  readonly name: string
  readonly takesSessionIds: boolean
  readonly install: string
  /** Any of these says that somebody has logged in: variables, and files below HOME. */
  readonly credentials: { readonly variables: readonly string[]; readonly files: readonly string[] }
  /** Variables of ours that belong to this CLI, by name or `PREFIX_*`. */
  readonly ownVariables: readonly string[]
  /** Written into `dir` before it starts, besides the system prompt: name to content. */
  files(turn: Turn, inherited: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  /** Set for a run, on top of what the child gets anyway (`inherited`). */
  environment(turn: Turn, dir: string, inherited: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  arguments(turn: Turn, dir: string): readonly string[]
  input(turn: Turn): string
  /** A reader for one run. */
  read(turn: Turn): Reader
  /** Whether it keeps to `maxTurns`. */
  readonly countsSteps: boolean
  /** What else of a turn's wishes it cannot honour, a sentence each. */
  ignores(turn: Turn): readonly string[]
  /** It takes no MCP servers. */
  readonly mcp?: false
  /** How it stays up between turns; null: it cannot. */
  readonly warm: Warm | null
}

/** Where the system prompt of a run stands. */
export const systemPromptIn = (dir: string): string => join(dir, 'system-prompt.md')

export interface Reader {
  /** What a line of output means; `ended` only when the CLI itself says that it is done. Never throws. */
  line(text: string): readonly AgentEvent[]
  /** What the end of a process means that never said how it ended. */
  end(how: ProcessEnd): Ended
}

export interface CliParts {
  /** Name or path of the program. */
  readonly program: string
  /** The gateway's own environment, of which the child gets only what it needs. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Names handed on as they are (BACKEND_ENV). */
  readonly handOn: readonly string[]
  /** Set on top (env.vars). */
  readonly extra: Readonly<Record<string, string>>
  readonly scrub: (text: string) => string
  /** Null: a process for each turn. */
  readonly pool: Pool | null
  /** For folders of processes that stay. */
  readonly scratch: Scratch
}

const common = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_*',
  'TZ',
  'TMPDIR',
  'XDG_*',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

export function openCliBackend(dialect: Dialect, parts: CliParts): Backend {
  const env = childEnvironment(dialect, parts)

  /** The folder of a run, with all that the program reads from it. */
  function furnished(turn: Turn): { readonly dir: string; remove(): void } {
    const folder = parts.scratch.keep()
    const files = { ...dialect.files(turn, env), [systemPromptIn('')]: turn.systemPrompt }
    // Synchronously: a few small files, and the answer waits for them.
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.dir, name), text, { mode: 0o600 })
    return folder
  }

  // Inherited by all that it starts: a gateway that was killed is found out by it (strays.ts).
  const marked = (dir: string, own: Readonly<Record<string, string>>) => ({ ...env, ...own, [runMark]: dir })

  async function* runCold(
    turn: Turn,
    signal: AbortSignal,
    leaves: (gone: Promise<unknown>) => void,
  ): AsyncGenerator<AgentEvent> {
    if (signal.aborted) return yield failed('stopped', 'stopped before it began')
    let folder: ReturnType<typeof furnished>
    try {
      folder = furnished(turn)
    } catch (error) {
      return yield failed('crashed', `the system prompt could not be written: ${String(error)}`)
    }
    const { dir, remove } = folder
    const child = startProcess({
      file: parts.program,
      args: dialect.arguments(turn, dir),
      env: marked(dir, dialect.environment(turn, dir, env)),
      cwd: turn.workingDir,
      input: dialect.input(turn),
    })
    const kill = () => child.kill()
    signal.addEventListener('abort', kill, { once: true })
    try {
      yield* translate(child, turn, signal)
    } finally {
      // Also when the consumer walks away: nothing is left running.
      signal.removeEventListener('abort', kill)
      const patience = setTimeout(kill, 5000)
      void child.end.then(remove)
      leaves(child.end.finally(() => clearTimeout(patience)))
    }
  }

  async function openHost(warm: Warm, turn: Turn, signal: AbortSignal): Promise<Host> {
    const folder = furnished(turn)
    const started: RunningProcess[] = []
    const start: Ground['start'] = (args, own) => {
      const env = marked(folder.dir, own)
      const child = startProcess({ file: parts.program, args, env, cwd: turn.workingDir, input: null })
      started.push(child)
      return child
    }
    try {
      const host = await within(openingMs, signal, bounded =>
        warm.open({ dir: folder.dir, inherited: env, start }, turn, bounded),
      )
      void host.gone.then(folder.remove)
      return host
    } catch (error) {
      for (const child of started) child.kill()
      // Whoever hears of it may count on nothing being left.
      await Promise.all(started.map(child => child.end))
      folder.remove()
      throw error
    }
  }

  async function* translate(child: RunningProcess, turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const reader = dialect.read(turn)
    for await (const line of child.lines) {
      for (const event of reader.line(line)) {
        if (event.type !== 'ended') yield event
        else if (!signal.aborted) {
          // A run that failed has nothing more to do; an answer does not wait for the program to leave.
          if (!event.ok) child.kill()
          yield event
          return
        }
      }
    }
    const end = await child.end
    yield signal.aborted ? failed('stopped', 'the run was stopped') : endOf(end, reader)
  }

  const { name, takesSessionIds, countsSteps, warm } = dialect
  const ignores = (turn: Turn) => [
    ...dialect.ignores(turn),
    ...(countsSteps || turn.maxTurns === defaultMaxTurns ? [] : [`${name} cannot be told BACKEND_MAX_TURNS.`]),
  ]
  const check = (signal: AbortSignal) =>
    checkProgram({ ...parts, path: parts.environment.PATH, name, install: dialect.install }, env, signal)
  return backendOf({ name, takesSessionIds, check, ignores, cold: runCold, warm, open: openHost }, parts)
}

export function childEnvironment(dialect: Dialect, parts: CliParts): Record<string, string> {
  const wanted = [...common, ...dialect.ownVariables, ...parts.handOn]
  const matches = (name: string) =>
    wanted.some(want => (want.endsWith('*') ? name.startsWith(want.slice(0, -1)) : name === want))
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(parts.environment))
    if (value !== undefined && matches(name)) env[name] = value
  return { ...env, ...parts.extra }
}

/** What the end of a process means that never said how it ended. */
export const endOf = (end: ProcessEnd, reader: Reader): Ended => ofTrouble(end) ?? reader.end(end)

function ofTrouble(end: ProcessEnd): Ended | null {
  switch (end.trouble) {
    case null:
      return null
    case 'spawn':
      return failed(
        /ENOENT|EACCES/.test(end.detail) ? 'not-installed' : 'crashed',
        `could not be started: ${end.detail}`,
      )
    case 'line-too-long':
      return failed('unreadable', 'the program wrote a line of more than 16 MB')
    case 'too-much-output':
      return failed('unreadable', 'the program wrote more than 256 MB')
    default:
      return end.trouble satisfies never
  }
}
