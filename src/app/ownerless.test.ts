// How the owner gets access.
import { expect, test } from 'vitest'
import { howToBecomeOwner, ownerlessChats } from './ownerless.ts'

const nobody = { owners: [], users: [], roles: [], channels: [], guilds: [], perMinute: 20 }

test('while nobody is allowed to write on a chat, the start says how to become the owner', () => {
  expect(ownerlessChats(['discord'], nobody, false)).toEqual(['discord'])
  expect(ownerlessChats(['discord'], nobody, true)).toEqual([])
  for (const list of ['owners', 'users', 'roles', 'channels', 'guilds'])
    expect(ownerlessChats(['discord'], { ...nobody, [list]: ['1'] }, false)).toEqual([])
  expect(howToBecomeOwner(['discord'])).toMatch(/on discord yet[\s\S]*pair approve CODE --owner[\s\S]*OWNERS/)
  expect(howToBecomeOwner([])).toBe('')
})
