// A CLI that stays up between turns: what it must be able to do, and the backend made of it and the one-process-per-turn way.
import type { AgentEvent, FailureReason, Turn } from '../base/agent.ts'
import { failed, stopped } from './ends.ts'
import type { Host } from './host.ts'
import type { Pool } from './pool.ts'
import { descendants, isAlive } from './proc.ts'
import { type RunningProcess, signalOne } from './process.ts'
import { cutOff, TimedOut } from './watch.ts'

export type { Host } from './host.ts'

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
  /** Goes with the gateway, however that ends. */
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
    fixed: JSON.stringify(sorted(warm.fixed(turn))),
    open: (signal: AbortSignal) => open(turn, signal),
  })

  /** What one that holds all sessions tells of a turn is that turn's affair, as long as it lives. */
  const isSharedAndUp = async ({ gone }: Host): Promise<boolean> =>
    warm.serves === 'all-sessions' && (await Promise.race([gone.then(() => false), soon().then(() => true)]))

  /** Sessions whose turn a shared host did not let go of: nobody else takes them up before it is gone. */
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
    const patience = givingUp(signal, graceMs)
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
          spoke = true
          yield event
          continue
        }
        usable =
          goesOn(signal) &&
          (event.ok || event.why !== 'not-logged-in') &&
          (signal.aborted || event.ok || !ofTheWay.includes(event.why) || (await isSharedAndUp(lease.host)))
        if (!usable && !spoke && !signal.aborted && !event.ok && ofTheWay.includes(event.why)) {
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
      // The consumer may have walked away in the middle.
      void events.return?.()
    }
    // Also out of the way before another process takes up the same session.
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

/** The second to crash may only be able to say that the first has left the session half made. */
const withCause = (event: AgentEvent, cause: string): AgentEvent =>
  event.type === 'ended' && !event.ok && event.why === 'crashed' && !['', event.detail].includes(cause)
    ? { ...event, detail: `${cause}; and then: ${event.detail}` }
    : event

/** Only a person who stops a turn wants to go on with the same process. */
const goesOn = ({ reason }: AbortSignal) => reason !== cutOff && !(reason instanceof TimedOut)

/** An interruption that is not taken within the grace is not waited for any longer. */
function givingUp(signal: AbortSignal, graceMs: number) {
  const { promise: over, resolve } = Promise.withResolvers<'over'>()
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => resolve('over'), goesOn(signal) ? graceMs : 0)
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

/** How long others may go on with a host that one of its sessions waits to get away from. */
const stuckMs = 10_000

const soon = () => new Promise<void>(resolve => setTimeout(resolve, 200))

const silent = failed('crashed', 'it fell silent without an end')

/** Lets a process leave by itself for a moment, then ends it; what it started goes with it. */
export async function leave(child: RunningProcess, patienceMs = 1500): Promise<void> {
  const below = child.pid === null ? [] : descendants(child.pid)
  child.endInput()
  const patience = setTimeout(() => child.kill(), patienceMs)
  await child.end
  clearTimeout(patience)
  for (const pid of below) if (isAlive(pid)) signalOne(pid, 'SIGKILL')
}

/** Two turns that ask for the same are the same, in whatever order they say so. */
const sorted = (wishes: unknown): unknown =>
  typeof wishes === 'object' && wishes !== null ? Object.entries(wishes).sort(([a], [b]) => (a < b ? -1 : 1)) : wishes
