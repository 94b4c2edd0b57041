// Each guest has a folder of their own, whatever the platform calls them.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { guestFolder } from './profile.ts'

test('different people have different folders, one below guests/, also where case is ignored', () => {
  const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(id, id, (a, b) => {
      const [first, second] = [guestFolder('l', [a]), guestFolder('l', [b])]
      expect(first).toMatch(/^guests\/[a-z0-9_-][a-z0-9._-]{0,120}$/)
      if (a !== b) expect(first.toLowerCase()).not.toBe(second.toLowerCase())
    }),
  )
  expect(guestFolder('l', ['discord:123'])).toBe('guests/discord_3a_123')
  expect(guestFolder('l', ['../../etc'])).not.toContain('..')
  expect(guestFolder('l', ['x'.repeat(500)])).not.toBe(guestFolder('l', ['x'.repeat(501)]))
})

test('several people together have a folder of their own, and nobody in particular that of the lane', () => {
  const both = guestFolder('l', ['a', 'b'])
  expect([guestFolder('l', ['a']), guestFolder('l', ['b'])]).not.toContain(both)
  expect(guestFolder('elsewhere', ['b', 'a', 'b'])).toBe(both)
  expect(guestFolder('l', [null, 'a'])).not.toBe(guestFolder('l', ['a']))
  expect(guestFolder('webhook:x', [null])).toBe('guests/_lane.webhook_3a_x')
  expect(guestFolder('l', ['a', 'a'])).toBe('guests/a')
  for (const id of ['_lane.l', '_lane', 'lane.l']) expect(guestFolder('l', [id])).not.toBe('guests/_lane.l')
})
