// A promise mutex.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSerial } from './serial.ts'

test('calls run in order, never two at a time, and a failure reaches only its own caller', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.record({ ticks: fc.nat(4), fails: fc.boolean() }), { maxLength: 12 }), async works => {
      const inOrder = createSerial()
      const began: number[] = []
      let running = 0
      const ends = await Promise.allSettled(
        works.map(({ ticks, fails }, i) =>
          inOrder(async () => {
            began.push(i)
            expect(++running).toBe(1)
            for (let tick = 0; tick < ticks; tick++) await null
            running--
            if (fails) throw new Error(String(i))
            return i
          }),
        ),
      )
      expect(began).toEqual(works.map((_, i) => i))
      expect(ends).toEqual(
        works.map(({ fails }, i) =>
          fails ? { status: 'rejected', reason: new Error(String(i)) } : { status: 'fulfilled', value: i },
        ),
      )
    }),
  ))

test('a synchronous throw becomes a rejection too', async () => {
  const inOrder = createSerial()
  const failing = inOrder(() => {
    throw new Error('at once')
  })
  await expect(failing).rejects.toThrow('at once')
  expect(await inOrder(async () => 'the next')).toBe('the next')
})
