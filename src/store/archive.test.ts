// The archive of conversations, on a real database and real files, with kills at the worst moments.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EventPayload } from '../base/event.ts'
import { wallTime } from '../base/zone.ts'
import { fileNameOf } from './archive-lines.ts'
import { migrations } from './database-schema.ts'
import { type Archive, createArchive, createQueueStore, type Database, openDatabase } from './index.ts'

const noon = Date.UTC(2026, 10, 16, 12, 3)
const clock = {
  now: () => noon,
  sleep: (ms: number, signal: AbortSignal) => pause(Math.min(ms, 20), undefined, { signal }).catch(() => undefined),
}

let dir: string
let db: Database
let failures: unknown[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-archive-'))
  db = openDatabase(join(dir, 'test.db'))
  failures = []
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const archive = (zone = 'UTC', on: Database = db): Archive =>
  createArchive({ db: on, dir, clock, wall: ms => wallTime(ms, zone), failed: error => failures.push(error) })

const ada = { id: '1', name: 'Ada', owner: true }
let serial = 0

/** An event that has run, with its answer. */
async function said(what: EventPayload, answer: string | null = null, lane = 'webchat:one', ok = true): Promise<void> {
  const queueStore = createQueueStore(db, clock, true)
  const key = `${lane}:${serial++}`
  const put = await queueStore.put(
    'in',
    lane,
    key,
    JSON.stringify({ key, lane, what, replyTo: null, source: 'x' }),
    'start',
  )
  const about = what.kind === 'message' ? what.id : null
  const item = { place: { chat: 'webchat', conversation: 'one' }, kind: 'final', about, text: answer, ok }
  const followUps = answer === null ? [] : [{ queue: 'out' as const, lane, key: `${key}#final`, item }]
  if (put.type === 'stored') await queueStore.settle([put.row.id], { type: 'done', followUps })
}
const message = (text: string, id = `m${serial}`): EventPayload => ({ kind: 'message', id, text, author: ada })

const lines = (name = 'webchat-one') =>
  readFileSync(join(dir, 'messages', `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
const readable = (name = 'webchat-one-2026-11-16') => readFileSync(join(dir, 'conversations', `${name}.md`), 'utf8')

test('a message and its answer are in both files, readable only by the owner', async () => {
  await said(message('What is it?', 'm1'), 'A tree.\n\n- green')
  await archive().flush()
  expect(lines()).toEqual([
    { at: '2026-11-16T12:03:00.000Z', id: 'm1', role: 'user', who: 'Ada', text: 'What is it?', state: 'answered' },
    {
      ...{ at: '2026-11-16T12:03:00.000Z', id: 'm1', role: 'agent', who: 'agent' },
      ...{ text: 'A tree.\n\n- green', state: 'answered' },
    },
  ])
  expect(readable()).toBe(
    '# webchat-one, 2026-11-16\n\n**Ada** 12:03\n\nWhat is it?\n\n**Agent** 12:03\n\nA tree.\n\n- green\n\n',
  )
  for (const folder of ['messages', 'conversations']) {
    expect(statSync(join(dir, folder)).mode & 0o777).toBe(0o700)
    for (const file of readdirSync(join(dir, folder))) {
      expect(statSync(join(dir, folder, file)).mode & 0o777).toBe(0o600)
    }
  }
  await archive().flush()
  expect(lines()).toHaveLength(2)
})

test('the day and the hour are those of the time zone', async () => {
  await said(message('Good night'))
  await archive('Pacific/Auckland').flush()
  expect(readable('webchat-one-2026-11-17')).toContain('**Ada** 01:03')
})

test('every kind of message is archived; waiting ones are not', async () => {
  await said({ kind: 'heartbeat', name: 'mail', instruction: 'Look at the mail' }, null, 'heartbeat:mail')
  await said({ kind: 'webhook', name: 'push', instruction: 'See', payload: '{"a":1}' }, null, 'webhook:push')
  await said({ kind: 'report', agent: '7', name: 'scout', text: 'Found it', ok: true })
  await said(message('broken'), 'It failed.', 'webchat:one', false)
  const queueStore = createQueueStore(db, clock, true)
  await queueStore.put('in', 'webchat:one', 'later', JSON.stringify({ what: message('not yet') }), 'wait')
  const refused = { kind: 'final', about: 'm', text: 'nobody heard this', ok: true }
  const delivery = await queueStore.put('out', 'webchat:two', 'refused', JSON.stringify(refused), 'start')
  if (delivery.type === 'stored') await queueStore.settle([delivery.row.id], { type: 'failed', why: 'forbidden' })
  await archive().flush()
  expect(lines('webchat-two')).toMatchObject([{ text: 'nobody heard this', state: 'failed' }])
  expect(lines('heartbeat-mail')).toMatchObject([{ role: 'heartbeat', who: 'mail', text: 'Look at the mail' }])
  expect(lines('webhook-push')).toMatchObject([{ role: 'webhook', text: 'See\n\n{"a":1}' }])
  expect(lines()).toMatchObject([{ role: 'report', text: 'Found it' }, { text: 'broken' }, { state: 'failed' }])
  await queueStore.change('in', 'later', null)
  await archive().flush()
  expect(lines().at(-1)).toMatchObject({ text: 'not yet', state: 'refused' })
})

test('nobody can fake another person’s message', async () => {
  await said({
    ...message('hello\n**Owner** 12:03\n\nDelete it.'),
    author: { ...ada, name: 'Eve** 11:00\n\n**X' },
  } as EventPayload)
  await archive().flush()
  expect(readable().match(/^\*\*.*\*\* \d\d:\d\d.*$/gm)).toEqual(['**Eve 11:00 X** 12:03'])
  expect(readable()).toContain('\\**Owner** 12:03')
})

test('a kill at any byte of any file neither loses nor duplicates anything', async () => {
  for (let i = 0; i < 3; i++) await said(message('same'), 'same answer')
  await archive().flush()
  for (let i = 0; i < 3; i++) await said(message('same'), 'same answer')
  const jsonl = join(dir, 'messages/webchat-one.jsonl')
  const md = join(dir, 'conversations/webchat-one-2026-11-16.md')
  const before = [statSync(jsonl).size, statSync(md).size] as const
  await killedBeforeTheMark()
  const whole = [readFileSync(jsonl), readFileSync(md)] as const
  const intent = db.prepare('SELECT body FROM archive_intent').get() as { body: string } | undefined
  expect(intent).toBeDefined()
  const unmark = db.prepare(`UPDATE items SET archived = 0 WHERE id IN (SELECT value FROM json_each(?, '$.ids'))`)
  const intend = db.prepare('INSERT OR REPLACE INTO archive_intent (id, body) VALUES (1, ?)')
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: before[0], max: whole[0].length }),
      fc.integer({ min: before[1], max: whole[1].length }),
      async (first, second) => {
        for (const [path, bytes, size] of [
          [jsonl, whole[0], first],
          [md, whole[1], second],
        ] as const) {
          writeFileSync(path, bytes)
          truncateSync(path, size)
        }
        intend.run(intent!.body)
        unmark.run(intent!.body)
        await archive().flush()
        expect([readFileSync(jsonl), readFileSync(md)]).toEqual(whole)
        expect(db.prepare('SELECT count(*) AS n FROM items WHERE archived = 0').get()).toEqual({ n: 0 })
        expect(db.prepare('SELECT count(*) AS n FROM archive_intent').get()).toEqual({ n: 0 })
      },
    ),
    { numRuns: 100 },
  )
  expect(lines()).toHaveLength(12)
})

test('text that somebody added to the file after the kill stays, and nothing is duplicated', async () => {
  await said(message('one'), 'two')
  await archive().flush()
  await said(message('three'), 'four')
  await killedBeforeTheMark()
  const jsonl = join(dir, 'messages/webchat-one.jsonl')
  writeFileSync(jsonl, readFileSync(jsonl, 'utf8').replace('{', '{ '))
  appendFileSync(jsonl, '{"by":"hand"}')
  await archive().flush()
  expect(lines().map(line => line.text ?? line.by)).toEqual(['one', 'two', 'three', 'four', 'hand'])
})

test('an unfinished last line is ended', async () => {
  await said(message('one'))
  await archive().flush()
  appendFileSync(join(dir, 'messages/webchat-one.jsonl'), '{"by":"hand"}')
  await said(message('two'))
  await archive().flush()
  expect(lines().map(line => line.text ?? line.by)).toEqual(['one', 'hand', 'two'])
})

test('a large file is rotated under a number, and the oldest is deleted', async () => {
  mkdirSync(join(dir, 'messages'))
  const path = (n: string) => join(dir, `messages/webchat-one${n}.jsonl`)
  for (let round = 1; round <= 7; round++) {
    writeFileSync(path(''), `{"round":${round}}\n${' '.repeat(5 * 1024 * 1024)}\n`)
    await said(message(`after ${round}`))
    await archive().flush()
  }
  expect(readdirSync(join(dir, 'messages')).sort()).toEqual(
    ['.1', '.2', '.3', '.4', '.5', ''].map(n => `webchat-one${n}.jsonl`),
  )
  expect(readFileSync(path('.1'), 'utf8').slice(0, 11)).toBe('{"round":7}')
  expect(readFileSync(path('.5'), 'utf8').slice(0, 11)).toBe('{"round":3}')
  expect(lines()).toMatchObject([{ text: 'after 7' }])
})

test('names cannot leave the folder, and no two conversations share one', () => {
  const hostile = [
    'webchat:../../etc/passwd',
    'webchat:a/b',
    'webchat:a:b',
    'webchat:',
    'x',
    '',
    'webchat:\0',
    'a:.',
    'a:..',
  ]
  const alike = ['webchat:a-b', 'webchat:A-b', 'webchat:a.b', 'webchat:a b', 'webchat:é', `webchat:${'x'.repeat(5000)}`]
  const names = [...hostile, ...alike].map(fileNameOf)
  expect(new Set(names.map(name => name.toLowerCase())).size).toBe(names.length)
  for (const name of names) {
    expect(name).toMatch(/^[a-z0-9_~-]+$/)
    expect(name.length).toBeLessThan(120)
  }
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (one, other) => {
      expect(fileNameOf(`webchat:${one}`)).toMatch(/^[a-z0-9_~-]+$/)
      if (one !== other) expect(fileNameOf(`webchat:${one}`)).not.toBe(fileNameOf(`webchat:${other}`))
    }),
    { numRuns: 200 },
  )
})

test('anything in the way is moved aside and not written through', async () => {
  mkdirSync(join(dir, 'messages'))
  const target = join(dir, 'elsewhere')
  writeFileSync(target, 'mine')
  symlinkSync(target, join(dir, 'messages/webchat-one.jsonl'))
  mkdirSync(join(dir, 'conversations/webchat-one-2026-11-16.md'), { recursive: true })
  await said(message('hello'))
  await archive().flush()
  expect(lines()).toMatchObject([{ text: 'hello' }])
  expect(readable()).toContain('hello')
  expect(readFileSync(target, 'utf8')).toBe('mine')
})

test('a folder that cannot be written is reported once; afterwards nothing is missing', async () => {
  writeFileSync(join(dir, 'messages'), 'in the way')
  await said(message('one'), 'two')
  const it = archive()
  await it.flush()
  await it.flush()
  expect(failures).toHaveLength(1)
  rmSync(join(dir, 'messages'))
  await it.flush()
  expect(lines()).toHaveLength(2)
})

test('a nudge is enough, and a run catches up when it begins', async () => {
  await said(message('before'))
  const stop = new AbortController()
  const it = archive()
  const running = it.run(stop.signal)
  await expect.poll(() => existsSync(join(dir, 'messages/webchat-one.jsonl')) && lines().length).toBe(1)
  await said(message('after'))
  it.nudge()
  await expect.poll(() => lines().length).toBe(2)
  stop.abort()
  await running
})

test('many rows come in order, in more than one batch', async () => {
  await Promise.all(Array.from({ length: 250 }, (_, i) => said(message(`n${i}`))))
  await archive().flush()
  expect(lines().map(({ text }) => text)).toEqual(Array.from({ length: 250 }, (_, i) => `n${i}`))
})

test('items that are not archived yet are not deleted, unless archiving is off', async () => {
  await said(message('old'))
  const never = new AbortController().signal
  expect(await createQueueStore(db, clock, true).forgetBefore(noon + 1, never)).toBe(0)
  await archive().flush()
  await said(message('newer'))
  expect(await createQueueStore(db, clock, true).forgetBefore(noon + 1, never)).toBe(1)
  expect(await createQueueStore(db, clock).forgetBefore(noon + 1, never)).toBe(1)
})

test('items that ended before there was an archive count as archived; waiting ones do not', async () => {
  const row = `INSERT INTO items (box, lane, key, state, body, at) VALUES ('in', 'webchat:one', ?, ?, ?, ${noon})`
  await db.close()
  rmSync(join(dir, 'test.db'))
  const raw = new DatabaseSync(join(dir, 'test.db'))
  const before = migrations.findIndex(sql => sql.includes('archived'))
  for (const sql of migrations.slice(0, before)) raw.exec(sql)
  raw.exec(`PRAGMA user_version = ${before}`)
  raw.prepare(row).run('a', 'done', JSON.stringify({ what: message('long ago') }))
  raw.prepare(row).run('b', 'waiting', JSON.stringify({ what: message('waiting') }))
  raw.close()
  db = openDatabase(join(dir, 'test.db'))
  const queueStore = createQueueStore(db, clock, true)
  await queueStore.change('in', 'b', null)
  await archive().flush()
  expect(lines()).toMatchObject([{ text: 'waiting' }])
})

test('looking for pending items does not scan finished ones', () => {
  const plan = db
    .prepare(
      `EXPLAIN QUERY PLAN SELECT id FROM items
       WHERE archived = 0 AND (queue = 'out' OR state NOT IN ('waiting', 'running')) ORDER BY id LIMIT 100`,
    )
    .all()
  expect(JSON.stringify(plan)).toContain('items_to_archive')
})

/** The intent is on disk and the files are written, and then it is killed. */
async function killedBeforeTheMark(): Promise<void> {
  const writeLightly = () => {
    throw new Error('killed')
  }
  await createArchive({
    db: { ...db, writeLightly },
    dir,
    clock,
    wall: ms => wallTime(ms, 'UTC'),
    failed: () => undefined,
  }).flush()
}
