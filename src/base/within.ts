// Waiting with a time limit.
import type { Clock } from './time.ts'

/** Returns the result, or null after `ms`; the work itself continues, but nobody waits for it. */
export async function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  const enough = new AbortController()
  try {
    return await Promise.race([work, clock.sleep(ms, enough.signal).then(() => null)])
  } finally {
    enough.abort()
  }
}
