// What an error of a platform means for a delivery, and retrying until a platform answers.
import type { Posted } from '../base/chat.ts'
import type { Clock } from '../base/time.ts'

/** As each chat classifies its errors; a chat may know more about them. */
export interface AnyTrouble {
  /** `token`: the token is invalid. `refused`: it would be refused again. All others pass. */
  readonly type: 'passing' | 'token' | 'refused' | 'conflict' | 'moved'
  readonly why: string
  readonly afterMs?: number
}

/** The pause after an invalid token: until the owner has set a new one and restarts. */
const badTokenPauseMs = 3_600_000

export function postedOf({ type, why, afterMs = 0 }: AnyTrouble): Posted {
  if (type === 'refused') return { type, why }
  return { type: 'try-again', afterMs: type === 'token' ? badTokenPauseMs : afterMs, why }
}

export interface Persistence {
  readonly longestMs?: number
  /** Called for each outage. */
  passing?(why: string): void
}

/** Retries until the platform answers. Rejects if it refuses, or when the signal aborts. */
export const createPersist =
  (troubleOf: (error: unknown) => AnyTrouble) =>
  async <T>(
    ask: () => Promise<T>,
    clock: Clock,
    signal: AbortSignal,
    { longestMs = 60_000, passing }: Persistence = {},
  ): Promise<T> => {
    for (let tries = 0; ; tries++) {
      try {
        return await ask()
      } catch (error) {
        signal.throwIfAborted()
        const { type, afterMs = 0, why } = troubleOf(error)
        if (type !== 'passing') throw error
        passing?.(why)
        const pause = Math.min(longestMs, 500 * 2 ** Math.min(tries, 12))
        await clock.sleep(Math.max(afterMs, pause), signal)
        signal.throwIfAborted()
      }
    }
  }
