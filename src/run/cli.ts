// A backend that is a command-line program: one process per turn, spoken to through a pure dialect.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentEvent, Backend, BackendCheck, Ended, Turn } from '../base/agent.ts'
import { type ProcessEnd, type RunningProcess, startProcess } from './process.ts'
import { runMark } from './strays.ts'
import { findProgram } from './which.ts'

/** What is particular to one CLI. Pure: arguments and input out, lines in. */
export interface Dialect {
  readonly name: string
  readonly takesSessionIds: boolean
  readonly install: string
  /** Set for a run, on top of what the child gets anyway (`inherited`). */
  environment(
    turn: Turn,
    systemPromptFile: string,
    inherited: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>>
  /** Variables of ours that belong to this CLI, by name or `PREFIX_*`. */
  readonly ownVariables: readonly string[]
  arguments(turn: Turn, systemPromptFile: string): readonly string[]
  input(turn: Turn): string
  /** A reader for one run. */
  read(turn: Turn): Reader
}

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
  /** Two processes of one session lose history, so the next turn waits for the last one's exit. */
  const leaving = new Map<string, Promise<unknown>>()

  async function check(signal: AbortSignal): Promise<BackendCheck> {
    const file = findProgram(parts.program, parts.environment.PATH)
    if (!file)
      return { ok: false, detail: `${dialect.name}: the program "${parts.program}" was not found. ${dialect.install}` }
    const probe = startProcess({ file, args: ['--version'], env, cwd: process.cwd(), input: '' })
    const stop = () => probe.kill()
    const patience = setTimeout(stop, 20_000)
    signal.addEventListener('abort', stop, { once: true })
    const lines: string[] = []
    for await (const line of probe.lines) if (lines.length < 5) lines.push(line)
    const end = await probe.end
    clearTimeout(patience)
    signal.removeEventListener('abort', stop)
    if (end.code === 0) return { ok: true, detail: `${file} ${lines[0] ?? ''}`.trim() }
    const why = parts.scrub(end.detail || end.stderr || `exit code ${end.code}`).slice(0, 500)
    return { ok: false, detail: `${dialect.name}: ${file} does not run (${why}). ${dialect.install}` }
  }

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const session = turn.session?.id ?? ''
    await leaving.get(session)
    const systemPromptFile = join(turn.scratchDir, 'system-prompt.md')
    try {
      await writeFile(systemPromptFile, turn.systemPrompt, { mode: 0o600 })
    } catch (error) {
      yield failed('crashed', `the system prompt could not be written: ${String(error)}`)
      return
    }
    if (signal.aborted) {
      yield failed('stopped', 'stopped before it began')
      return
    }
    const child = startProcess({
      file: parts.program,
      args: dialect.arguments(turn, systemPromptFile),
      // Inherited by all that it starts: a gateway that was killed is found out by it (strays.ts).
      env: { ...env, ...dialect.environment(turn, systemPromptFile, env), [runMark]: turn.scratchDir },
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
      const gone = child.end.finally(() => {
        clearTimeout(patience)
        if (leaving.get(session) === gone) leaving.delete(session)
      })
      if (session) leaving.set(session, gone)
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
          yield scrubbed(event)
          return
        }
      }
    }
    const end = await child.end
    yield signal.aborted ? failed('stopped', 'the run was stopped') : scrubbed(ofTrouble(end) ?? reader.end(end))
  }

  const scrubbed = (ended: Ended): Ended =>
    ended.ok ? ended : { ...ended, detail: parts.scrub(ended.detail).slice(0, 500) }

  return { name: dialect.name, takesSessionIds: dialect.takesSessionIds, check, run }
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

const failed = (why: Extract<Ended, { ok: false }>['why'], detail: string): Ended => ({
  type: 'ended',
  ok: false,
  why,
  detail,
})
