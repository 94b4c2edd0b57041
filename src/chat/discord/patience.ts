// Waiting for something, but not for ever.
import type { Clock } from '../../base/time.ts'

/** Resolves with it, or after so long with null; then nobody waits for it any more. */
export async function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  const enough = new AbortController()
  try {
    return await Promise.race([work, clock.sleep(ms, enough.signal).then(() => null)])
  } finally {
    enough.abort()
  }
}
