// The built-in agent: repeats each message and says how to install a real agent.
import type { AgentEvent, Backend, Turn } from '../../base/agent.ts'
import type { Clock } from '../../base/time.ts'
import { stopped } from '../events.ts'

/** The time line that the gateway adds for agents; people need not see it repeated. */
const timeLine = /^\[Gateway: it is [^\]\n]*\]\n\n/

export interface EchoParts {
  readonly clock: Clock
  /** Pause between two pieces of text, so that it streams like a real agent. */
  readonly pauseMs: number
  /** Why echo answers; part of the first answer of a conversation. */
  readonly introduction: string
}

export function createEcho({ clock, pauseMs, introduction }: EchoParts): Backend {
  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    yield { type: 'started', session: turn.session?.id ?? null }
    const repeated = `You said:\n\n${turn.prompt.replace(timeLine, '')}`
    const text = turn.session?.resume ? repeated : `${introduction}\n\n${repeated}`
    // At most 40 steps, even for a long text.
    const step = Math.max(8, Math.ceil(text.length / 40))
    for (let from = 0; from < text.length && !signal.aborted; from += step) {
      yield { type: 'text', delta: text.slice(from, from + step) }
      if (pauseMs > 0) await clock.sleep(pauseMs, signal)
    }
    yield signal.aborted ? stopped : { type: 'ended', ok: true, text }
  }
  return {
    name: 'echo',
    takesSessionIds: true,
    check: async () => ({ ok: true, detail: 'built in' }),
    run,
    ignores: () => [],
    prepare: async () => undefined,
  }
}
