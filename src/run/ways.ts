// A backend out of its two ways: a process for each turn, and one that stays up.
import type { AgentEvent, Backend, BackendCheck, Ended, Turn } from '../base/agent.ts'
import type { Pool } from './pool.ts'
import { startProcess } from './process.ts'
import { type Host, runWarm, type Warm } from './warm.ts'
import { findProgram } from './which.ts'

/** Longer than the slowest takes to come up on a busy machine. */
export const openingMs = 30_000

/** What a backend that runs programs is made of. */
export interface Ways {
  readonly name: string
  readonly takesSessionIds: boolean
  check(signal: AbortSignal): Promise<BackendCheck>
  ignores(turn: Turn): readonly string[]
  /** A process for this turn alone; `leaves` is told when that is gone. */
  cold(turn: Turn, signal: AbortSignal, leaves: (gone: Promise<unknown>) => void): AsyncIterable<AgentEvent>
  /** Null: there is no other way. */
  readonly warm: Warm | null
  open(warm: Warm, turn: Turn, signal: AbortSignal): Promise<Host>
}

export function backendOf(
  ways: Ways,
  { pool, scrub }: { readonly pool: Pool | null; scrub(text: string): string },
): Backend {
  const { name, takesSessionIds, check, ignores, warm } = ways
  /** Two processes of one session lose history, so the next turn waits for the last one's exit. */
  const leaving = new Map<string, Promise<unknown>>()

  async function* cold(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    // Some tell it themselves, and only then.
    let session = turn.session?.id ?? null
    const noteLeaving = (leaves: Promise<unknown>) => {
      if (session === null) return
      const key = session
      const gone = leaves.finally(() => {
        if (leaving.get(key) === gone) leaving.delete(key)
      })
      leaving.set(key, gone)
    }
    for await (const event of ways.cold(turn, signal, noteLeaving)) {
      if (event.type === 'started') session = event.session ?? session
      yield event
    }
  }

  async function open(warm: Warm, turn: Turn, signal: AbortSignal): Promise<Host> {
    try {
      return await ways.open(warm, turn, signal)
    } catch (error) {
      throw new Error(scrub(error instanceof Error ? error.message : String(error)).slice(0, 500))
    }
  }
  const way =
    pool && warm ? runWarm({ name, warm, pool, open: (turn, signal) => open(warm, turn, signal), cold }) : null

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    await leaving.get(turn.session?.id ?? '')
    for await (const event of (way?.run ?? cold)(turn, signal)) yield event.type === 'ended' ? scrubbed(event) : event
  }

  const scrubbed = (ended: Ended): Ended => (ended.ok ? ended : { ...ended, detail: scrub(ended.detail).slice(0, 500) })

  return {
    name,
    takesSessionIds,
    check,
    run,
    ignores,
    prepare: async turn => way?.prepare(turn),
  }
}

/** What a backend starts. */
export interface Program {
  readonly name: string
  readonly install: string
  /** Name or path. */
  readonly program: string
  readonly path: string | undefined
  scrub(text: string): string
}

/** Whether the program is there and runs. */
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

/** `work` has so much time; then, or when `signal` aborts, it is told so and no longer waited for. */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  work: (bounded: AbortSignal) => Promise<T>,
): Promise<T> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(ms)])
  const over = new Promise<never>((_, reject) => {
    bounded.addEventListener('abort', () => reject(new Error('it did not come up in time')), { once: true })
  })
  return Promise.race([work(bounded), over])
}
