// How an owner comes to their gateway.
import { expect, test } from 'vitest'
import { howToBecomeOwner, ownerlessChats } from './owner.ts'

const nobody = { owners: [], users: [], roles: [], channels: [], guilds: [], perMinute: 20 }

test('as long as nobody at all may speak on a chat, it is said how to become the owner', () => {
  expect(ownerlessChats(['discord'], nobody, false)).toEqual(['discord'])
  expect(ownerlessChats(['discord'], nobody, true)).toEqual([])
  for (const list of ['owners', 'users', 'roles', 'channels', 'guilds'])
    expect(ownerlessChats(['discord'], { ...nobody, [list]: ['1'] }, false)).toEqual([])
  expect(howToBecomeOwner(['discord'])).toMatch(/on discord yet[\s\S]*pair approve CODE --owner[\s\S]*OWNERS/)
  expect(howToBecomeOwner([])).toBe('')
})
