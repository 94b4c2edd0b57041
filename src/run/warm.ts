// A CLI that stays up between turns: what it must be able to do, and the backend made of it and the one-process-per-turn way.
import type { AgentEvent, Ended, FailureReason, Turn } from '../base/agent.ts'
import type { Pool } from './pool.ts'
import type { RunningProcess } from './process.ts'

/** What is particular to one CLI when it stays up. */
export interface Warm {
  /** Whether a process holds one session, or all of them side by side. */
  readonly serves: 'one-session' | 'all-sessions'
  /** Everything that a running process cannot be told anew: when it differs, the process is replaced. */
  fixed(turn: Turn): unknown
  /** Resolves when it can take turns. Rejects if it does not come up, having ended what it started. */
  open(ground: Ground, turn: Turn, signal: AbortSignal): Promise<Host>
}

/** What a host stands on. */
export interface Ground {
  /** A folder of its own for as long as it lives; holds the system prompt of `turn` and the dialect's files. */
  readonly dir: string
  /** The environment it gets, before the dialect's own variables. */
  readonly inherited: Readonly<Record<string, string>>
  /** `guarded`: for a program that does not leave by itself when its input ends, as it does when the gateway is killed. */
  start(args: readonly string[], env: Readonly<Record<string, string>>, guarded?: 'guarded'): RunningProcess
}

/** One that is up. */
export interface Host {
  readonly pid: number | null
  /** One turn, as `Backend.run`; on an abort it is interrupted and the host stays usable. */
  run(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>
  /** Lets it leave; resolves when it is gone, with all that it started. */
  close(): Promise<void>
  /** Ends it without asking. */
  kill(): void
  /** Resolves when it is gone, for whatever reason. */
  readonly gone: Promise<unknown>
}

type Run = (turn: Turn, signal: AbortSignal) => AsyncIterable<AgentEvent>

export interface WarmParts {
  readonly name: string
  readonly warm: Warm
  readonly pool: Pool
  open(turn: Turn, signal: AbortSignal): Promise<Host>
  /** One process for this turn alone. */
  readonly cold: Run
  /** How long an interrupted turn may take to end before its process is ended. */
  readonly graceMs?: number
}

/** Failures of the warm way itself: nothing was said or done yet, so the cold way may try. */
const ofTheWay: readonly FailureReason[] = ['crashed', 'unreadable', 'not-installed']

export function runWarm({ name, warm, pool, open, cold, graceMs = 2000 }: WarmParts): {
  readonly run: Run
  prepare(turn: Turn): Promise<void>
} {
  const kindOf = (turn: Turn) => ({
    backend: name,
    session: warm.serves === 'all-sessions' ? '' : (turn.session?.id ?? ''),
    fixed: JSON.stringify(warm.fixed(turn)),
    open: (signal: AbortSignal) => open(turn, signal),
  })

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const lease = signal.aborted ? null : await pool.lease(kindOf(turn), signal)
    if (lease === null) return yield* cold(turn, signal)
    let spoke = false
    let usable = false
    // A host that does not take the interruption is ended, which ends the turn as well.
    let patience: NodeJS.Timeout | undefined
    const hurry = () => {
      patience = setTimeout(lease.discard, graceMs)
    }
    signal.addEventListener('abort', hurry, { once: true })
    if (signal.aborted) hurry()
    try {
      for await (const event of lease.host.run(turn, signal)) {
        if (event.type === 'started' && event.session !== null && warm.serves === 'one-session')
          lease.rename(event.session)
        if (event.type !== 'ended') {
          spoke = true
          yield event
          continue
        }
        const ofTurn = event.ok || !ofTheWay.includes(event.why)
        usable = ofTurn || signal.aborted
        if (ofTurn || spoke || signal.aborted) {
          yield signal.aborted ? stopped : event
          return
        }
      }
      if (spoke || signal.aborted) {
        yield signal.aborted ? stopped : silent
        return
      }
    } finally {
      signal.removeEventListener('abort', hurry)
      clearTimeout(patience)
      if (usable) lease.release()
      else lease.discard()
    }
    // Also out of the way before another process takes up the same session.
    await lease.host.gone
    yield* cold(turn, signal)
  }

  return {
    run,
    async prepare(turn) {
      const lease = await pool.lease(kindOf(turn), new AbortController().signal)
      lease?.release()
    },
  }
}

const stopped: Ended = { type: 'ended', ok: false, why: 'stopped', detail: 'the run was stopped' }
const silent: Ended = { type: 'ended', ok: false, why: 'crashed', detail: 'it fell silent without an end' }

/** Lets a process leave by itself for a moment, then ends it. */
export async function leave(child: RunningProcess, patienceMs = 1500): Promise<void> {
  child.endInput()
  const patience = setTimeout(() => child.kill(), patienceMs)
  await child.end
  clearTimeout(patience)
}
