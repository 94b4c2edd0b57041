// Ends of a run that are the same for all backends.
import type { AgentEvent, Ended, FailureReason } from '../base/agent.ts'

export const failed = (why: FailureReason, detail: string): Ended => ({ type: 'ended', ok: false, why, detail })

export const stopped = failed('stopped', 'the run was stopped')

/** The result of `work`, or `instead` if `signal` aborts first. Removes its listener, because the signal may live as long as the gateway. */
export async function unlessStopped<T, Instead>(
  work: Promise<T>,
  signal: AbortSignal,
  instead: Instead,
): Promise<T | Instead> {
  const { promise: over, resolve } = Promise.withResolvers<Instead>()
  const stop = () => resolve(instead)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** A process that can still report an error has not crashed, and it may hold all other sessions. */
export const notCrashed = (ended: Ended): Ended =>
  ended.ok || ended.why !== 'crashed' ? ended : { ...ended, why: 'refused' }

/** The end of a turn that the gateway did not start. */
export const unasked: AgentEvent = {
  type: 'trouble',
  why: 'it sent an answer to a turn that the gateway did not start; the answer is dropped',
}
