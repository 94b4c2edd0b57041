// Warm mode: turns run on a process that stays up between them, and fall back to cold mode when that fails.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentEvent, FailureReason, Turn } from '../base/agent.ts'
import { failed, stopped } from './outcomes.ts'
import type { Host, Pool } from './pool.ts'
import type { RunningProcess } from './process.ts'
import { cutOff, TimedOut } from './timeouts.ts'

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
