// A single alarm, set for the next time when something is due.
import type { Clock } from '../base/time.ts'

export function createAlarm(clock: Clock, ring: (at: number) => void) {
  let current: { at: number; abort: AbortController } | null = null
  return {
    set(at: number): void {
      if (current?.at === at) return
      current?.abort.abort()
      current = null
      if (at === Number.POSITIVE_INFINITY) return
      const alarm = { at, abort: new AbortController() }
      current = alarm
      const wait = Math.max(0, at - clock.now())
      void clock.sleep(wait, alarm.abort.signal).then(() => {
        if (alarm.abort.signal.aborted) return
        current = null
        // Timers cannot sleep longer than 2^31 ms. A longer sleep ends early, and then the clock is checked again.
        ring(wait < 2 ** 31 ? at : 0)
      })
    },
  }
}
