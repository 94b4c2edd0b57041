// Warm mode: turns run on a process that stays up between them, and fall back to cold mode when that fails.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentEvent, Backend, BackendCheck, Ended, FailureReason, Turn } from '../base/agent.ts'
import { errorText } from '../base/unknown.ts'
import { cutOff, failed, openGate, stopped, TimedOut, unlessStopped } from './events.ts'
import { findProgram } from './find-program.ts'
import type { Host, Pool } from './pool.ts'
import { type RunningProcess, startProcess } from './process.ts'

export type { Host } from './pool.ts'

/** What is specific to one CLI in warm mode. */
export interface Warm {
  /** Whether a process holds one session, or all of them side by side. */
  readonly serves: 'one-session' | 'all-sessions'
  /** Everything that cannot be changed in a running process. When it differs, the process is replaced. */
  fixed(turn: Turn): unknown
  /** Resolves when it can take turns. Rejects if it does not start, after ending everything it started. */
  open(host: HostContext, turn: Turn, signal: AbortSignal): Promise<Host>
}

/** What a host gets from the gateway. */
export interface HostContext {
  /** Its own folder for as long as it lives, with the system prompt of `turn` and the dialect's files. */
  readonly dir: string
  /** The environment it gets, before the dialect's own variables. */
  readonly inherited: Readonly<Record<string, string>>
  /** The process ends with the gateway, even if the gateway is killed. */
  start(args: readonly string[], env: Readonly<Record<string, string>>): RunningProcess
}

type Run = (turn: Turn, signal: AbortSignal) => AsyncIterable<AgentEvent>

export interface WarmParts {
  readonly name: string
  readonly warm: Warm
  readonly pool: Pool
  open(turn: Turn, signal: AbortSignal): Promise<Host>
  /** One process for this turn alone. */
  readonly cold: Run
  /** How long an interrupted turn may take to end before its process is killed. */
  readonly graceMs?: number
}

/** Failures of warm mode itself. If nothing was said or done yet, cold mode may try. */
const warmFailures: readonly FailureReason[] = ['crashed', 'unreadable', 'not-installed']

export function runWarm({ name, warm, pool, open, cold, graceMs = 2000 }: WarmParts): {
  readonly run: Run
  prepare(turn: Turn): Promise<void>
} {
  const kindOf = (turn: Turn) => ({
    backend: name,
    session: warm.serves === 'all-sessions' ? '' : (turn.session?.id ?? ''),
    turnOf: turn.session?.resume ? turn.session.id : '',
    apart: turn.profile?.name ?? '',
    fixed: JSON.stringify([sorted(warm.fixed(turn)), turn.profile ?? null]),
    open: (signal: AbortSignal) => open(turn, signal),
  })

  /** If a host for all sessions is still running, a failure it reports concerns that turn only. */
  const isSharedAndUp = async ({ gone }: Host): Promise<boolean> =>
    warm.serves === 'all-sessions' && (await Promise.race([gone.then(() => false), sleep(200, true)]))

  /** Sessions whose turn a shared host did not release. No other process may use them before that host is gone. */
  const stuck = new Map<string, Host>()

  async function unstick(session: string): Promise<void> {
    const host = stuck.get(session)
    if (!host) return
    stuck.delete(session)
    const patience = setTimeout(host.kill, stuckMs)
    await host.gone
    clearTimeout(patience)
  }

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    let session = turn.session?.id ?? ''
    await unstick(session)
    const lease = signal.aborted ? null : await pool.lease(kindOf(turn), signal)
    if (lease === null) return yield* cold(turn, signal)
    let spoke = false
    let usable = false
    let cause = ''
    const patience = waitAfterAbort(signal, graceMs)
    const events = lease.host.run(turn, signal)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await Promise.race([events.next(), patience.over])
        if (next === 'over' && warm.serves === 'all-sessions' && session !== '') stuck.set(session, lease.host)
        if (next === 'over' || next.done) break
        const event = next.value
        if (event.type === 'started' && event.session !== null) {
          session = event.session
          if (warm.serves === 'one-session') lease.rename(session)
        }
        if (event.type !== 'ended') {
          // After an abort only the end matters, and which session it was.
          if (!signal.aborted || (event.type === 'started' && !spoke)) yield event
          spoke ||= event.type !== 'alive' && event.type !== 'trouble'
          continue
        }
        usable =
          keepsProcess(signal) &&
          (event.ok || event.why !== 'not-logged-in') &&
          (signal.aborted || event.ok || !warmFailures.includes(event.why) || (await isSharedAndUp(lease.host)))
        if (!usable && !spoke && !signal.aborted && !event.ok && warmFailures.includes(event.why)) {
          cause = event.detail
          break
        }
        yield signal.aborted ? stopped : event
        return
      }
      if (spoke || signal.aborted) {
        yield signal.aborted ? stopped : silent
        return
      }
    } finally {
      patience.clear()
      if (usable) lease.release()
      else lease.discard()
      // The consumer may have stopped reading in the middle.
      void events.return?.()
    }
    // It must be gone before another process uses the same session.
    if (warm.serves === 'one-session') await lease.host.gone
    for await (const event of cold(turn, signal)) yield withCause(event, cause)
  }

  return {
    run,
    async prepare(turn) {
      const lease = await pool.lease(kindOf(turn), new AbortController().signal)
      lease?.release()
    },
  }
}

/** The second crash may only be caused by a session that the first one left incomplete, so both are reported. */
const withCause = (event: AgentEvent, cause: string): AgentEvent =>
  event.type === 'ended' && !event.ok && event.why === 'crashed' && !['', event.detail].includes(cause)
    ? { ...event, detail: `${cause}; then: ${event.detail}` }
    : event

/** The process is kept only if a person stopped the turn, not the gateway or a timeout. */
const keepsProcess = ({ reason }: AbortSignal) => reason !== cutOff && !(reason instanceof TimedOut)

/** Stops waiting for an interrupted turn after the grace period. */
function waitAfterAbort(signal: AbortSignal, graceMs: number) {
  const { promise: over, resolve } = Promise.withResolvers<'over'>()
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => resolve('over'), keepsProcess(signal) ? graceMs : 0)
  }
  signal.addEventListener('abort', begin, { once: true })
  if (signal.aborted) begin()
  return {
    over,
    clear() {
      signal.removeEventListener('abort', begin)
      clearTimeout(timer)
    },
  }
}

/** How long the other sessions may continue on a host that a stuck session waits to see gone. */
const stuckMs = 10_000

const silent = failed('crashed', 'it stopped without reporting an end')

/** Gives a process a moment to exit by itself, then kills it. */
export async function leave(child: RunningProcess, patienceMs = 1500): Promise<void> {
  child.endInput()
  const patience = setTimeout(() => child.kill(), patienceMs)
  await child.end
  clearTimeout(patience)
}

/** Sorted keys, so that equal options compare equal in any order. */
const sorted = (options: unknown): unknown =>
  typeof options === 'object' && options !== null
    ? Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1))
    : options

// A backend made of its two modes: cold (a process for each turn) and warm (a process that stays up).

/** Longer than the slowest backend takes to start on a busy machine. */
export const openingMs = 30_000

/** The parts of a backend that runs programs. */
export interface Modes {
  readonly name: string
  readonly takesSessionIds: boolean
  check(signal: AbortSignal): Promise<BackendCheck>
  ignores(turn: Turn): readonly string[]
  /** Null: it cannot list its models. */
  readonly checkModel: NonNullable<Backend['checkModel']> | null
  /** A process for this turn only. `leaves` gets a promise that resolves when it is gone. */
  cold(turn: Turn, signal: AbortSignal, leaves: (gone: Promise<unknown>) => void): AsyncIterable<AgentEvent>
  /** Null: there is no warm mode. */
  readonly warm: Warm | null
  open(warm: Warm, turn: Turn, signal: AbortSignal): Promise<Host>
}

export function backendOf(
  modes: Modes,
  { pool, scrub }: { readonly pool: Pool | null; scrub(text: string): string },
): Backend {
  const { name, takesSessionIds, check, checkModel, ignores, warm } = modes
  /** Two processes with the same session lose history, so the next turn waits until the last process has exited. */
  const leaving = new Map<string, Promise<unknown>>()

  async function* cold(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    // Some backends choose the id themselves and report it when they start.
    let session = turn.session?.id ?? null
    const noteLeaving = (leaves: Promise<unknown>) => {
      if (session === null) return
      const key = session
      const gone = leaves.finally(() => {
        if (leaving.get(key) === gone) leaving.delete(key)
      })
      leaving.set(key, gone)
    }
    for await (const event of modes.cold(turn, signal, noteLeaving)) {
      if (event.type === 'started') session = event.session ?? session
      yield event
    }
  }

  async function open(warm: Warm, turn: Turn, signal: AbortSignal): Promise<Host> {
    try {
      return await modes.open(warm, turn, signal)
    } catch (error) {
      throw new Error(scrub(errorText(error)).slice(0, 500))
    }
  }
  const warmMode =
    pool && warm ? runWarm({ name, warm, pool, open: (turn, signal) => open(warm, turn, signal), cold }) : null

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    await leaving.get(turn.session?.id ?? '')
    const gate = openGate(signal)
    try {
      for await (const event of (warmMode?.run ?? cold)(turn, signal))
        yield gate.pass(event.type === 'ended' ? scrubbed(event) : event)
    } finally {
      gate.close()
    }
  }

  const scrubbed = (ended: Ended): Ended => (ended.ok ? ended : { ...ended, detail: scrub(ended.detail).slice(0, 500) })

  return {
    name,
    takesSessionIds,
    check,
    run,
    ignores,
    ...(checkModel ? { checkModel } : {}),
    prepare: async turn => warmMode?.prepare(turn),
  }
}

/** The program that a backend starts. */
export interface Program {
  readonly name: string
  readonly install: string
  /** Name or path. */
  readonly program: string
  readonly path: string | undefined
  scrub(text: string): string
}

/** Whether the program is installed and runs. */
export async function checkProgram(
  { name, install, program, path, scrub }: Program,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<BackendCheck> {
  const file = findProgram(program, path)
  if (!file) return { ok: false, detail: `${name}: the program "${program}" was not found. ${install}` }
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
  const why = scrub(end.detail || end.stderr || `exit code ${end.code}`).slice(0, 500)
  return { ok: false, detail: `${name}: ${file} does not run (${why}). ${install}` }
}

const tooLate = Symbol('too late')

/** Waits for `work` until the time is over or `signal` aborts. Then it aborts `work` and rejects. */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  work: (bounded: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const bounded = AbortSignal.any([signal, late.signal])
  const patience = setTimeout(() => late.abort(), ms)
  try {
    const done = await unlessStopped(work(bounded), bounded, tooLate)
    if (done === tooLate) throw new Error('it did not start in time')
    return done
  } finally {
    clearTimeout(patience)
  }
}
