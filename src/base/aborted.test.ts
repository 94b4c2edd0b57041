// Waiting for an abort signal.
import { expect, test } from 'vitest'
import { aborted } from './aborted.ts'

test('it resolves when the signal aborts, or immediately if it already has', async () => {
  const stop = new AbortController()
  let over = false
  const waiting = aborted(stop.signal).then(() => {
    over = true
  })
  await null
  expect(over).toBe(false)
  stop.abort()
  await waiting
  await aborted(stop.signal)
})
