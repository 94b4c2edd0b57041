// Ends that look the same whoever runs.
import type { Ended, FailureReason } from '../base/agent.ts'

export const failed = (why: FailureReason, detail: string): Ended => ({ type: 'ended', ok: false, why, detail })

export const stopped = failed('stopped', 'the run was stopped')

/** Resolves when the run is to stop. */
export const whenStopped = (signal: AbortSignal): Promise<Ended> =>
  new Promise(resolve => {
    if (signal.aborted) resolve(stopped)
    else signal.addEventListener('abort', () => resolve(stopped), { once: true })
  })

/** Who can still say why is not broken, and all other sessions may be in the same process. */
export const toldByTheLiving = (ended: Ended): Ended =>
  ended.ok || ended.why !== 'crashed' ? ended : { ...ended, why: 'refused' }
