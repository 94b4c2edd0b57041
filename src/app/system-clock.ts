// Real time. Only app/ asks the system for it.
import type { Clock } from '../base/time.ts'

/** Longer timers fire immediately, so a longer sleep ends early, and the caller checks the time again. */
const longestMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal.aborted) return resolve()
      const wake = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, Math.min(Math.max(ms, 0), longestMs))
      signal.addEventListener('abort', wake)
    }),
}
