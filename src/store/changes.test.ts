// The log of changes on a real database.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Changes, createChanges, type NewChange, shownChange } from './changes.ts'
import { type Database, openDatabase } from './database.ts'
import { absent, versionOf } from './guarded-files.ts'

let db: Database
let changes: Changes
const clock = { now: () => 7, sleep: async () => undefined }

beforeEach(() => {
  db = openDatabase(':memory:')
  changes = createChanges(db, clock)
})
afterEach(() => db.close())

const change = (n: number, more: Partial<NewChange> = {}): NewChange => ({
  ...{ file: 'memory.md', events: [n], lane: 'a:b', person: null, owner: true, state: 'made', aside: null },
  ...{ before: versionOf(`${n}\n`), after: versionOf(`${n + 1}\n`) },
  ...more,
})
const record = (one: NewChange) => changes.record(one, one.after)

test('a recorded change is found again, with the current content of the file', async () => {
  const made = await record(change(1, { before: absent, person: 'ada', events: [3, 4] }))
  expect(changes.find(made.id)).toEqual({ ...made, before: absent })
  expect(changes.find(99)).toBe(null)
  expect(changes.known()).toEqual(new Map([['memory.md', versionOf('2\n')]]))
  expect(shownChange(made)).toEqual({
    ...{ id: 1, at: 7, file: 'memory.md', events: [3, 4], lane: 'a:b', person: 'ada', owner: true, state: 'made' },
    diff: '@@ -0,0 +1 @@\n+2',
  })
})

test('the newest thousand are kept; waiting changes are not pushed out and push out no others', async () => {
  await record(change(0, { state: 'waiting' }))
  await Promise.all(Array.from({ length: 1100 }, (_, n) => record(change(n))))
  expect(changes.list(5000)).toHaveLength(1001)
  expect(changes.find(1)?.state).toBe('waiting')
  await Promise.all(Array.from({ length: 250 }, (_, n) => record(change(n, { state: 'waiting' }))))
  expect(changes.list(5000).filter(({ state }) => state === 'waiting')).toHaveLength(200)
  expect(changes.find(1)?.state ?? 'denied').toBe('denied')
  expect(changes.list(5000)).toHaveLength(1200)
  expect(changes.list(2).map(({ id }) => id)).toEqual([1351, 1350])
})

test('of a long text the log stores only the hash, but the current content is stored whole', async () => {
  const long = versionOf('x'.repeat(64 * 1024 + 1))
  const { id } = await record(change(1, { after: long }))
  expect(changes.find(id)).toMatchObject({ before: versionOf('1\n'), after: { text: null, hash: long.hash } })
  expect(shownChange(changes.find(id) ?? expect.fail()).diff).toBe('(too large to be shown)')
  expect(changes.known().get('memory.md')).toEqual(long)
})

test('secrets do not stay in decided changes, whether they were known before or became known later', async () => {
  const known = new Set(['hunter22'])
  const hide = (text: string) => [...known].reduce((left, secret) => left.replaceAll(secret, '****'), text)
  changes = createChanges(db, clock, { hide, mask: '****' })
  const withSecret = { before: versionOf('pin hunter22\n'), after: versionOf('pin swordfish\n') }
  const made = await record(change(1, withSecret))
  const waiting = await record(change(2, { ...withSecret, state: 'waiting' }))
  const stored = (id: number) => [changes.find(id)?.before.text, changes.find(id)?.after.text]
  expect(stored(made.id)).toEqual(['pin ****\n', 'pin swordfish\n'])
  expect(stored(waiting.id)).toEqual(['pin hunter22\n', 'pin swordfish\n'])
  known.add('swordfish')
  await changes.redact()
  expect(stored(made.id)).toEqual(['pin ****\n', 'pin ****\n'])
  expect(stored(waiting.id)).toEqual(['pin hunter22\n', 'pin swordfish\n'])
  await changes.decide({ ...waiting, state: 'denied' }, waiting.before)
  expect(stored(waiting.id)).toEqual(['pin ****\n', 'pin ****\n'])
  expect(changes.isRedacted(stored(made.id).join())).toBe(true)
})

test('the values in a .env file are not shown', async () => {
  const made = await changes.record(
    change(1, { file: '~/.env', before: absent, after: versionOf('A=b\nexport C = d\n') }),
    null,
  )
  expect(shownChange(made).diff).toBe('@@ -0,0 +1,2 @@\n+A=…\n+export C =…')
  expect(changes.known()).toEqual(new Map())
})
