// A host for a single turn, for features that only warm mode has.
import type { AgentEvent, Turn } from '../base/agent.ts'
import { failed } from './events.ts'
import type { Host } from './pool.ts'

/** The host ends with the turn. `leaves` gets a promise that resolves when it is gone. */
export async function* runAlone(
  host: Host,
  turn: Turn,
  signal: AbortSignal,
  leaves: (gone: Promise<unknown>) => void,
): AsyncGenerator<AgentEvent> {
  signal.addEventListener('abort', host.kill, { once: true })
  if (signal.aborted) host.kill()
  try {
    // An abort kills the process, so there is no need to interrupt the turn.
    for await (const event of host.run(turn, new AbortController().signal)) {
      if (signal.aborted) break
      // A failed run has nothing left to do. An answer does not wait for the process to exit.
      if (event.type === 'ended' && !event.ok) host.kill()
      yield event
      if (event.type === 'ended') return
    }
    await host.gone
    yield failed('stopped', 'the run was stopped')
  } finally {
    signal.removeEventListener('abort', host.kill)
    leaves(host.close())
  }
}
