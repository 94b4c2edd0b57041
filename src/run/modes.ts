// A backend made of its two modes: cold (a process for each turn) and warm (a process that stays up).

import type { AgentEvent, Backend, BackendCheck, Ended, Turn } from '../base/agent.ts'
import { errorText } from '../base/error-text.ts'
import { findProgram } from './find-program.ts'
import { unlessStopped } from './outcomes.ts'
import type { Pool } from './pool.ts'
import { startProcess } from './process.ts'
import { type Host, runWarm, type Warm } from './warm.ts'

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
    for await (const event of (warmMode?.run ?? cold)(turn, signal))
      yield event.type === 'ended' ? scrubbed(event) : event
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
