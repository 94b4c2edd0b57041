// Waiting with a time limit.
import { expect, test } from 'vitest'
import type { Clock } from './time.ts'
import { within } from './within.ts'

/** A manual clock: a sleep ends with `ring`; `asleep` has the pending ones. */
function handClock() {
  const asleep = new Map<number, () => void>()
  const clock: Pick<Clock, 'sleep'> = {
    sleep: (ms, signal) =>
      new Promise(resolve => {
        asleep.set(ms, resolve)
        signal.addEventListener('abort', () => asleep.delete(ms) && resolve())
      }),
  }
  return { clock: { now: () => 0, ...clock }, asleep, ring: (ms: number) => asleep.get(ms)?.() }
}

test('work that ends in time gives its result, and the timer is cancelled', async () => {
  const { clock, asleep } = handClock()
  expect(await within(Promise.resolve('done'), 1000, clock)).toBe('done')
  await expect(within(Promise.reject(new Error('failed')), 1000, clock)).rejects.toThrow('failed')
  expect(asleep.size).toBe(0)
})

test('work that takes longer gives null', async () => {
  const { clock, ring } = handClock()
  const waiting = within(new Promise(() => undefined), 1000, clock)
  ring(1000)
  expect(await waiting).toBeNull()
})
