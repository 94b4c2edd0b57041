// Pairing on a real database, with a controlled clock.
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Database, openDatabase } from './database.ts'
import { createPairing, type Pairing } from './pairing.ts'

const minute = 60_000
const hour = 60 * minute
let dir: string
let db: Database
let now: number
let pairing: Pairing
const clock = { now: () => now, sleep: async () => undefined }
const reopen = () => createPairing(db, clock, below => randomInt(below))

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-pairing-'))
  db = openDatabase(join(dir, 'test.db'))
  now = 1_000_000_000
  pairing = reopen()
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const ada = { chat: 'discord', user: '1234', name: 'Ada' }
const ask = (user = '1234', name = 'Ada') => pairing.request({ chat: 'discord', user, name }, '#general of Our Server')
const must = async (code: Promise<string | null>) => (await code) ?? expect.fail('no code')
const rows = () => (db.prepare('SELECT count(*) AS n FROM pairing_codes').get() as { n: number }).n

test('a code may be typed in lower case, without the dash, or with blanks', async () => {
  for (const [user, typed] of [
    ['1', (code: string) => code],
    ['2', (code: string) => code.toLowerCase().replace('-', '')],
    ['3', (code: string) => ` ${code.toLowerCase().replace('-', ' - ')} `],
  ] as const) {
    const code = await must(ask(user))
    expect(pairing.decided('discord', user)).toBeNull()
    expect(await pairing.approve(typed(code), false)).toMatchObject({
      type: 'approved',
      owner: false,
      person: { user },
    })
    expect(pairing.decided('discord', user)).toBe('guest')
    expect(pairing.decided('telegram', user)).toBeNull()
    expect(await pairing.approve(code, true)).toEqual({ type: 'unknown' })
  }
})

test('codes have eight unambiguous characters and are unique', async () => {
  const codes = new Set<string>()
  for (let i = 0; i < 300; i++) {
    now += 2 * hour
    const code = await must(ask(`user ${i}`))
    expect(code).toMatch(/^[A-HJKMNP-Z2-9]{4}-[A-HJKMNP-Z2-9]{4}$/)
    codes.add(code)
  }
  expect(codes.size).toBe(300)
  // A random code that is already used is generated again.
  let repeats = 0
  const stubborn = createPairing(db, clock, () => (repeats++ < 24 ? 0 : 1))
  expect(await stubborn.request({ ...ada, user: 'x' }, '')).toBe('AAAA-AAAA')
  expect(await stubborn.request({ ...ada, user: 'y' }, '')).toBe('BBBB-BBBB')
})

test('a person gets no other code while one is valid, and at most three a day', async () => {
  const got: (string | null)[] = []
  for (let i = 0; i < 24 * 6; i++) {
    got.push(await ask())
    now += 10 * minute
  }
  expect(got.filter(code => code !== null)).toHaveLength(3)
  expect(got.findIndex((code, i) => i > 0 && code !== null)).toBe(6)
  now += hour
  expect(await ask()).not.toBeNull()
})

test('simultaneous messages of one person get one code', async () => {
  const got = await Promise.all(Array.from({ length: 20 }, () => ask()))
  expect(got.filter(code => code !== null)).toHaveLength(1)
})

test('at most fifty codes are open at a time, and strangers cannot fill the database', async () => {
  let most = 0
  for (let i = 0; i < 600; i++) {
    await Promise.all([ask(`a${i}`), ask(`b${i}`)])
    now += minute
    most = Math.max(most, (await pairing.list()).requests.length)
  }
  expect(most).toBe(50)
  now += 10 * minute
  await ask('a599')
  const after = rows()
  for (let i = 0; i < 100; i++) await ask('a599')
  expect(rows()).toBe(after)
  now += 48 * hour
  await ask('z')
  expect(rows()).toBe(1)
})

test('a code is valid for an hour; then it is reported as expired, and after a day as unknown', async () => {
  const code = await must(ask())
  now += hour - 1
  expect((await pairing.list()).requests).toEqual([{ ...ada, code, where: '#general of Our Server', leftMs: 1 }])
  now += 1
  expect((await pairing.list()).requests).toEqual([])
  expect(await pairing.approve(code, false)).toEqual({ type: 'expired', person: ada })
  expect(pairing.decided('discord', '1234')).toBeNull()
  now += 24 * hour
  await ask('other')
  expect(await pairing.approve(code, false)).toEqual({ type: 'unknown' })
})

test('ten wrong codes within an hour lock approval for ten minutes, even with the right code', async () => {
  const code = await must(ask())
  for (let i = 0; i < 9; i++) {
    expect(await pairing.approve('AAAA-AAAA', false)).toEqual({ type: 'unknown' })
    now += minute
  }
  expect(await pairing.approve('nonsense', false)).toEqual({ type: 'locked', leftMs: 10 * minute })
  now += 9 * minute
  expect(await pairing.approve(code, false)).toEqual({ type: 'locked', leftMs: minute })
  now += minute
  expect(await pairing.approve(code, false)).toMatchObject({ type: 'approved' })
  for (let i = 0; i < 40; i++) {
    expect(await pairing.approve('AAAA-AAAA', false)).toEqual({ type: 'unknown' })
    now += 7 * minute
  }
})

test('a denied person gets no further codes, and can be approved again only by name', async () => {
  const code = await must(ask())
  expect(await pairing.deny(code.toLowerCase())).toEqual({ type: 'denied', person: ada })
  expect(pairing.decided('discord', '1234')).toBe('denied')
  expect(await pairing.approve(code, false)).toEqual({ type: 'unknown' })
  expect(await pairing.approve('1234', true)).toEqual({ type: 'approved', person: ada, owner: true })
  expect(pairing.decided('discord', '1234')).toBe('owner')
  expect(await pairing.deny('discord:1234')).toEqual({ type: 'denied', person: ada })
  expect(pairing.decided('discord', '1234')).toBe('denied')
})

test('a person without an earlier decision cannot be approved by name', async () => {
  await ask()
  for (const name of ['1234', 'discord:1234', 'discord:99', 'Ada', ''])
    expect(await pairing.approve(name, true)).toEqual({ type: 'unknown' })
  expect(pairing.anybody()).toBe(false)
})

test('a guest becomes an owner by name, and an owner a guest', async () => {
  await pairing.approve(await must(ask()), false)
  expect(await pairing.approve('discord:1234', true)).toEqual({ type: 'approved', person: ada, owner: true })
  expect(pairing.decided('discord', '1234')).toBe('owner')
  await pairing.approve('1234', false)
  expect(pairing.decided('discord', '1234')).toBe('guest')
})

test('approved people are listed by chat, owners first', async () => {
  for (const user of ['1', '2', '3']) await pairing.approve(await must(ask(user)), user === '2')
  await pairing.deny('discord:3')
  expect(pairing.letIn('discord')).toEqual(['2', '1'])
  expect(pairing.letIn('telegram')).toEqual([])
})

test('an unknown user can be denied by full name; an ambiguous name cannot', async () => {
  expect(await pairing.deny('1234')).toEqual({ type: 'unknown' })
  expect(await pairing.deny('discord:77')).toMatchObject({ type: 'denied' })
  expect(pairing.decided('discord', '77')).toBe('denied')
  expect(pairing.anybody()).toBe(false)
  await pairing.deny('slack:77')
  expect(await pairing.approve('77', false)).toEqual({ type: 'unknown' })
  expect(await pairing.approve('slack:77', false)).toMatchObject({ person: { chat: 'slack' } })
  expect(pairing.decided('discord', '77')).toBe('denied')
})

test('all of it survives a restart', async () => {
  const [first, second] = [await must(ask('1', 'One')), await must(ask('2', 'Two'))]
  await pairing.approve(first, true)
  pairing = reopen()
  expect(pairing.anybody()).toBe(true)
  expect(await pairing.list()).toEqual({
    requests: [
      { chat: 'discord', user: '2', name: 'Two', code: second, where: '#general of Our Server', leftMs: hour },
    ],
    people: [{ chat: 'discord', user: '1', name: 'One', as: 'owner', since: now }],
  })
  expect(await ask('2')).toBeNull()
})

test('a name is stored without characters that could affect a terminal', async () => {
  await ask('1', `\u001b[2Jroot\u202e\n${'x'.repeat(500)}`)
  const [request] = (await pairing.list()).requests
  expect(request?.name).toMatch(/^2Jroot x+…$/)
  expect(request?.name.length).toBeLessThanOrEqual(60)
})
