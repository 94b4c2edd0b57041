// Time and randomness, passed in so that tests can control them.

export interface Clock {
  now(): number
  /** Resolves after `ms`, or immediately when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** In [0, 1). */
export type Chance = () => number

/** In milliseconds. */
export const day = 86_400_000
