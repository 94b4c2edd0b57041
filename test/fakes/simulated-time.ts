// Simulated time for parts that sleep: it passes when a test says so. Only waiting for work in progress takes real time.
import type { Clock } from '../../src/base/time.ts'

export interface SimulatedTime {
  readonly clock: Clock
  /** Lets time pass, waking one sleeper after the other. */
  pass(ms: number): Promise<void>
  /** Sets the clock without shortening any sleep, as if the machine had slept or somebody had set the clock. */
  jump(ms: number): void
  /** Counts work that must end before time continues. */
  during<T>(work: Promise<T>): Promise<T>
  /** Resolves when everything sleeps and no work is in progress. */
  quiet(): Promise<void>
  /** How many sleepers there must be for it to count as quiet. */
  sleepers: number
}

interface Sleeper {
  readonly at: number
  wake(): void
}

export function simulatedTime(start: number): SimulatedTime {
  let passed = 0
  let ahead = start
  let working = 0
  let calls = 0
  const asleep = new Set<Sleeper>()

  const clock: Clock = {
    now: () => passed + ahead,
    sleep: (ms, signal) =>
      new Promise(resolve => {
        calls++
        if (signal.aborted) return resolve()
        const sleeper: Sleeper = {
          at: passed + Math.max(0, ms),
          wake() {
            asleep.delete(sleeper)
            signal.removeEventListener('abort', sleeper.wake)
            resolve()
          },
        }
        asleep.add(sleeper)
        signal.addEventListener('abort', sleeper.wake)
      }),
  }

  const quiet = async () => {
    for (let rounds = 0, seen = calls; rounds < 4; rounds++) {
      await new Promise(setImmediate)
      if (working === 0 && asleep.size >= time.sleepers && seen === calls && !filesAreBusy()) continue
      seen = calls
      rounds = -1
    }
  }

  const time: SimulatedTime = {
    clock,
    sleepers: 0,
    quiet,
    async pass(ms) {
      const end = passed + ms
      await quiet()
      for (;;) {
        const next = [...asleep].reduce((least, { at }) => Math.min(least, at), Infinity)
        if (next > end) break
        passed = Math.max(passed, next)
        for (const sleeper of [...asleep]) if (sleeper.at <= passed) sleeper.wake()
        await quiet()
      }
      passed = end
    },
    jump(ms) {
      ahead += ms
    },
    async during(work) {
      working++
      try {
        return await work
      } finally {
        working--
        calls++
      }
    },
  }
  return time
}

/** Whether I/O of this process is in progress: somebody who waits for it is not asleep. */
const filesAreBusy = () => process.getActiveResourcesInfo().some(name => name.startsWith('FSReq'))
