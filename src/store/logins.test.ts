// Logins of browsers: only hashes are stored; they end by revoking, by time, and with the token.
import { expect, test } from 'vitest'
import { day } from '../base/time.ts'
import { openDatabase } from './database.ts'
import { createLogins } from './logins.ts'

function setup() {
  const db = openDatabase(':memory:')
  let now = 1_000_000
  const clock = { now: () => now, sleep: async () => undefined }
  return {
    db,
    open: (token = 'a-token') => createLogins(db, clock, token),
    later(ms: number) {
      now += ms
    },
  }
}

test('a login works until it is revoked, also after a restart, and whoever listens is told', async () => {
  const { open } = setup()
  const logins = open()
  const revoked: string[] = []
  logins.onRevoked(id => revoked.push(id))
  const [phone, laptop] = [await logins.open('Safari on iOS'), await logins.open('Firefox on Linux')]
  const again = open()
  expect(again.check(phone)).toMatch(/^[0-9a-f]{6}$/)
  expect((await again.list()).map(({ name }) => name).sort()).toEqual(['Firefox on Linux', 'Safari on iOS'])
  const id = logins.check(phone) ?? ''
  expect(await logins.revoke(id)).toBe(1)
  expect(await logins.revoke(id)).toBe(0)
  expect([logins.check(phone), open().check(phone), revoked]).toEqual([null, null, [id]])
  expect(logins.check(laptop)).not.toBe(null)
  expect(await logins.revoke('all')).toBe(1)
  expect(open().check(laptop)).toBe(null)
})

test('neither a secret nor the token is in the database, and another token accepts none of them', async () => {
  const { db, open } = setup()
  const secret = await open().open('x')
  const stored = JSON.stringify(db.prepare('SELECT * FROM logins').all())
  expect(stored).not.toContain(secret)
  expect(stored).not.toContain('a-token')
  expect(open().check(secret)).not.toBe(null)
  expect(open('another-token').check(secret)).toBe(null)
  expect(open().check('a-token')).toBe(null)
})

test('a login that is not used for a month ends; one that is used stays', async () => {
  const { db, open, later } = setup()
  const logins = open()
  const [used, unused] = [await logins.open('used'), await logins.open('unused')]
  for (let n = 0; n < 4; n++) {
    later(15 * day)
    expect(logins.check(used)).not.toBe(null)
  }
  expect(logins.check(unused)).toBe(null)
  await db.write(() => undefined) // the time of the last use is written along with something else
  expect((await open().list()).map(({ name }) => name)).toEqual(['used'])
})

test('there are never more than fifty: the one used longest ago ends', async () => {
  const { open, later } = setup()
  const logins = open()
  const first = await logins.open('first')
  for (let n = 0; n < 50; n++) {
    later(1)
    await logins.open(`${n}`)
  }
  expect(await logins.list()).toHaveLength(50)
  expect(logins.check(first)).toBe(null)
})

test('each gateway has a cookie of its own, and keeps it', () => {
  const [one, other] = [setup(), setup()]
  expect(one.open().cookie).toMatch(/^aetheel_[0-9a-f]{8}$/)
  expect(one.open().cookie).toBe(one.open().cookie)
  expect(one.open().cookie).not.toBe(other.open().cookie)
})
