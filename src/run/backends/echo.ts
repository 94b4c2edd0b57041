// The agent that is always there: repeats what it hears and says how to get a real one.
import type { AgentEvent, Backend, Turn } from '../../base/agent.ts'
import type { Clock } from '../../base/time.ts'
import { stopped } from '../ends.ts'

/** The gateway tells agents the time; people know it. */
const timeTold = /^\[Gateway: it is [^\]\n]*\]\n\n/

export interface EchoParts {
  readonly clock: Clock
  /** Between two words, so that it streams as a real agent does. */
  readonly pauseMs: number
  /** Why it is echo that answers, told in the first answer of a conversation. */
  readonly introduction: string
}

export function openEcho({ clock, pauseMs, introduction }: EchoParts): Backend {
  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    yield { type: 'started', session: turn.session?.id ?? null }
    const heard = `You said:\n\n${turn.prompt.replace(timeTold, '')}`
    const text = turn.session?.resume ? heard : `${introduction}\n\n${heard}`
    // At most 40 steps, however long the text is.
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
