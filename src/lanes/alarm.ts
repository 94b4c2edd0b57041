// One alarm at a time, for the nearest time asked for.
import type { Clock } from '../base/time.ts'

export function openAlarm(clock: Clock, ring: (at: number) => void) {
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
        // A sleep longer than timers can ends early; then the clock is asked again.
        ring(wait < 2 ** 31 ? at : 0)
      })
    },
  }
}
