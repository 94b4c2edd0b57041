// Time and chance, handed in so that tests can hold them.

export interface Clock {
  now(): number
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** In [0, 1). */
export type Chance = () => number
