// Starting something once.
import { expect, test } from 'vitest'
import { once } from './once.ts'

test('it starts with the first call, and not before', async () => {
  let begun = 0
  const open = once(async () => ++begun)
  expect(begun).toBe(0)
  expect(await Promise.all([open(), open()])).toEqual([1, 1])
  expect(await open()).toBe(1)
})

test('all callers get the same failure', async () => {
  let begun = 0
  const open = once(async () => {
    throw new Error(`try ${++begun}`)
  })
  await expect(open()).rejects.toThrow('try 1')
  await expect(open()).rejects.toThrow('try 1')
})
