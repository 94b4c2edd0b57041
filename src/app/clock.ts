// Real time. The only place, together with the rest of app/, that asks the system for it.
import type { Clock } from '../base/time.ts'
import type { WallTime } from '../base/zone.ts'

/** Longer timers fire at once, so a longer sleep ends early; whoever sleeps that long looks at the time again. */
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

/** By the machine's own time zone. */
export function localTime(ms: number): WallTime {
  const at = new Date(ms)
  return {
    ...{ year: at.getFullYear(), month: at.getMonth() + 1, day: at.getDate() },
    ...{ hour: at.getHours(), minute: at.getMinutes() },
  }
}
