// Facts, tasks and content items over HTTP, with real files: the contract of every kind of record, and that no change is lost.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Fact } from '../../src/base/records.ts'
import { createBrain, createContent, createTasks } from '../../src/store/index.ts'
import { createRecords, type RecordsFile } from '../../src/store/records.ts'
import { bearer, closeAll, open } from '../../src/ui/http/server.rig.ts'

type Raw = Record<string, unknown>

let dir: string
let failures: unknown[]
const opened: { flush(): Promise<void> }[] = []

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-records-'))
  failures = []
})
afterEach(async () => {
  await closeAll()
  for (const file of opened.splice(0)) await file.flush()
  rmSync(dir, { recursive: true })
})

let serial = 0
const parts = () => ({
  dir,
  newId: () => `new-${serial++}`,
  now: () => Date.UTC(2026, 10, 16, 12) + serial++ * 1000,
  failed: (error: unknown) => void failures.push(error),
})

async function openAll(brain: RecordsFile<Fact> = createBrain(parts())) {
  const records = { brain, tasks: createTasks(parts()), content: createContent(parts()) }
  opened.push(...Object.values(records))
  const { url } = await open({ admin: { records } })
  const say = async (method: string, path: string, body?: unknown): Promise<[number, Raw]> => {
    const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await fetch(`${url}${path}`, { method, headers: bearer, body: text })
    return [answer.status, (await answer.json()) as Raw]
  }
  return { url, say, records }
}

const kinds = [
  {
    ...{ path: '/api/brain', file: 'brain.json', what: 'fact', least: { content: 'tea' } },
    usual: { content: 'tea', type: 'fact', category: '', tags: [] },
    change: { category: 'taste' },
    late: { category: 'mine' },
    other: { tags: ['kitchen'] },
    bad: [
      [{ content: '' }, '"content" must not be empty'],
      [{ content: ' \n' }, '"content" must not be empty'],
      [{ content: 'x'.repeat(10_001) }, '"content" must have at most 10000'],
      [{ content: 'x', tags: Array.from({ length: 51 }, String) }, '"tags" must be at most 50'],
      [{ content: 'x', tags: ['y'.repeat(101)] }, '"tags.0" must have at most 100'],
      [{ content: 'x', tags: 'y' }, '"tags" must be a list'],
      [{ content: 'x', id: 'mine' }, '"id" is not known here'],
    ],
  },
  {
    ...{ path: '/api/tasks', file: 'tasks.json', what: 'task', least: { title: 'Paint' } },
    usual: { title: 'Paint', notes: '', status: 'todo', order: null, due: '' },
    change: { status: 'doing' },
    late: { status: 'done' },
    other: { order: 1.5 },
    bad: [
      [{ title: 'x'.repeat(501) }, '"title" must have at most 500'],
      [{ title: 'x', status: 'eaten' }, '"status" must be one of todo, doing, done'],
      [{ title: 'x', due: '2026-02-30' }, '"due" must be a day'],
      [{ title: 'x', order: '1' }, '"order" must be a number'],
      [{ title: 'x', notes: 7 }, '"notes" must be a string'],
    ],
  },
  {
    ...{ path: '/api/content', file: 'content-items.json', what: 'content item', least: { title: 'On lanes' } },
    usual: { title: 'On lanes', url: '', kind: 'article', summary: '', status: 'new', tags: [] },
    change: { status: 'reading' },
    late: { status: 'used' },
    other: { url: 'https://example.org/' },
    bad: [
      [{}, '"title" is missing'],
      [{ title: 'x', url: 'y'.repeat(2001) }, '"url" must have at most 2000'],
      [{ title: 'x', status: 'todo' }, '"status" must be one of new, reading, used, dropped'],
      [{ title: 'x', colour: 'red' }, '"colour" is not known here'],
    ],
  },
] as const

describe.for(kinds)('$path', ({ path, file, what, least, usual, change, late, other, bad }) => {
  const onDisk = () => JSON.parse(readFileSync(join(dir, file), 'utf8')) as Raw[]

  test('is listed, added to, changed and removed, and its file follows', async () => {
    const { say } = await openAll()
    expect(await say('GET', path)).toEqual([200, { items: [] }])
    const [status, { item, items }] = await say('POST', path, least)
    expect([status, item]).toEqual([201, { id: expect.any(String), ...usual, ...stamps }])
    expect(items).toEqual([item])
    const { id } = item as Fact
    const changed = { ...(item as Raw), ...change, updatedAt: expect.any(String) }
    expect(await say('PATCH', `${path}?id=${id}`, { change })).toEqual([200, { item: changed }])
    expect(await say('GET', path)).toEqual([200, { items: [changed] }])
    await expect.poll(onDisk).toEqual([changed])
    expect(await say('DELETE', `${path}?id=${id}`)).toEqual([200, { removed: true, item: changed }])
    expect(await say('GET', path)).toEqual([200, { items: [] }])
    await expect.poll(onDisk).toEqual([])
    expect(await say('POST', `${path}?restore=${id}`)).toEqual([200, { item: changed, items: [changed] }])
    await expect.poll(onDisk).toEqual([changed])
    expect((await say('POST', `${path}?restore=nobody`))[0]).toBe(404)
  })

  test('reports mistakes in plain words, and writes nothing then', async () => {
    const { say } = await openAll()
    const [, { item }] = await say('POST', path, least)
    const at = `${path}?id=${(item as Fact).id}`
    for (const [body, words] of bad)
      expect(await say('POST', path, body)).toEqual([400, { error: expect.stringContaining(words) }])
    const wrong: [string, unknown, string][] = [
      [at, {}, '"change" is missing'],
      [at, { change: {} }, '"change" must name at least one field'],
      [at, { change: { id: 'x' } }, '"change.id" is not known here'],
      [at, { change, was: { nothing: 1 } }, '"was.nothing" is not known here'],
      [at, { change, was: 7 }, '"was" must be an object'],
      [at, '{"change":', 'not JSON'],
      [path, { change }, 'Say which one'],
    ]
    for (const [where, body, words] of wrong)
      expect(await say('PATCH', where, body)).toEqual([400, { error: expect.stringContaining(words) }])
    expect(await say('DELETE', path)).toEqual([400, { error: expect.stringContaining('Say which one') }])
    const gone = [404, { error: `There is no such ${what} (any more).` }]
    expect(await say('PATCH', `${path}?id=nobody`, { change })).toEqual(gone)
    expect(await say('DELETE', `${path}?id=nobody`)).toEqual(gone)
    expect(await say('GET', path)).toEqual([200, { items: [item] }])
    expect((await say('POST', path, 'x'.repeat(1_100_000)))[0]).toBe(413)
  })

  test('returns the current record for a stale change, and keeps fields that nobody else changed', async () => {
    const { say, records } = await openAll()
    const [, { item }] = await say('POST', path, least)
    const { id } = item as Fact
    await Promise.all(Object.values(records).map(one => one.flush()))
    writeFileSync(join(dir, file), JSON.stringify(onDisk().map(one => ({ ...one, ...change }))))
    expect(await say('PATCH', `${path}?id=${id}`, { change: late, was: pick(usual, late) })).toEqual([
      409,
      { error: expect.stringContaining('in the meantime'), item: expect.objectContaining({ id, ...change }) },
    ])
    expect((await say('PATCH', `${path}?id=${id}`, { change: other, was: pick(usual, other) }))[0]).toBe(200)
    expect(await say('GET', path)).toEqual([
      200,
      { items: [expect.objectContaining({ ...least, ...change, ...other })] },
    ])
  })

  test('is closed to strangers and other sites, for every method', async () => {
    const { url, say } = await openAll()
    const [, { item }] = await say('POST', path, least)
    const at = `${url}${path}?id=${(item as Fact).id}`
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
      const body = method === 'GET' || method === 'DELETE' ? null : JSON.stringify({ ...least, change })
      for (const headers of [{}, { Authorization: 'Bearer wrong' }])
        expect((await fetch(at, { method, headers, body })).status).toBe(401)
      if (method === 'GET') continue
      const headers = { ...bearer, Origin: 'https://example.org' }
      expect((await fetch(at, { method, headers, body })).status).toBe(403)
    }
    const put = await fetch(at, { method: 'PUT', headers: bearer })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, PATCH, DELETE'])
    expect(await say('GET', path)).toEqual([200, { items: [item] }])
  })
})

const step = fc.record({
  who: fc.constantFrom('window', 'other window', 'tool', 'file', 'file by rename'),
  what: fc.constantFrom('the same', 'own', 'add'),
  which: fc.nat(2),
  first: fc.constantFrom('nothing', 'look', 'wait', 'wait for a write'),
})

test('browser windows, tools and text editors at the same time: no change is lost, and stale ones are reported', async () => {
  const path = join(dir, 'brain.json')
  const onDisk = () => JSON.parse(readFileSync(path, 'utf8')) as Raw[]
  let brain: RecordsFile<Fact> | null = null
  const forward: RecordsFile<Fact> = {
    list: () => brain!.list(),
    add: record => brain!.add(record),
    change: (id, change, was) => brain!.change(id, change, was),
    remove: id => brain!.remove(id),
    restore: id => brain!.restore(id),
    flush: async () => brain?.flush(),
  }
  const { say } = await openAll(forward)
  let told = 0

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 16 }), async steps => {
      rmSync(path, { force: true })
      rmSync(`${path}.lost.jsonl`, { force: true })
      const start = [0, 1, 2].map(n => ({ id: `s${n}`, content: `start ${n}`, category: '', type: 'fact' }))
      writeFileSync(path, JSON.stringify(start))
      brain = createRecords<Fact>({
        ...parts(),
        path,
        pauseMs: 2,
        read: raw => ({ type: 'fact', category: '', tags: [], ...(raw as object) }) as unknown as Fact,
      })
      /** Every value written to the shared field, and those replaced by somebody who had seen them. */
      const written = new Set<string>()
      const replaced = new Set<string>()
      /** What each writes to its own field. */
      const own = new Map<string, Raw>(start.map(({ id }) => [id, {}]))
      const views = new Map<string, Raw[]>()
      const look = async (who: string) => views.set(who, (await say('GET', '/api/brain'))[1].items as Raw[])
      for (const who of ['window', 'other window']) await look(who)
      const running: Promise<unknown>[] = []
      let made = 0

      const byHttp = async (who: string, id: string, field: string, value: string) => {
        const seen = views.get(who)?.find(one => one.id === id)?.[field] as string
        const body = { change: { [field]: value }, was: { [field]: seen } }
        const [status, { item }] = await say('PATCH', `/api/brain?id=${id}`, body)
        expect([200, 409]).toContain(status)
        if (status === 409) {
          told += 1
          expect(field).toBe('content')
          expect((item as Raw).content).not.toBe(seen)
        } else if (field === 'content') {
          written.add(value)
          replaced.add(seen)
        }
        views.set(who, views.get(who)?.map(one => (one.id === id ? (item as Raw) : one)) ?? [])
      }
      const byHand = (byRename: boolean, edit: (list: Raw[]) => Raw[]) => {
        const text = JSON.stringify(edit(onDisk()))
        writeFileSync(byRename ? `${path}~` : path, text)
        if (byRename) renameSync(`${path}~`, path)
      }

      for (const { who, what, which, first } of steps) {
        if (first === 'wait') await new Promise(resolve => setImmediate(resolve))
        if (first === 'wait for a write') await pause(6)
        const id = `s${which}`
        const value = `value ${made++}`
        const isFile = who.startsWith('file')
        const byRename = who === 'file by rename'
        if (first === 'look' && !isFile && who !== 'tool') await look(who)
        if (what === 'add') {
          own.set(value, { content: value })
          if (isFile) byHand(byRename, list => [...list, { id: value, content: value }])
          else {
            const body = { content: value, tags: [] }
            running.push(
              say('POST', '/api/brain', body).then(([, { item }]) => {
                own.delete(value)
                own.set((item as Fact).id, { content: value })
              }),
            )
          }
        } else if (what === 'the same' && who !== 'tool') {
          if (isFile) {
            byHand(byRename, list =>
              list.map(one => {
                if (one.id !== id) return one
                replaced.add(one.content as string)
                return { ...one, content: value }
              }),
            )
            written.add(value)
          } else running.push(byHttp(who, id, 'content', value))
        } else {
          // Each has its own field: nothing may be refused or lost.
          const field = isFile ? 'byFile' : who === 'window' ? 'category' : who === 'tool' ? 'type' : 'tags'
          const sent = field === 'tags' ? [value] : value
          Object.assign(own.get(id) ?? {}, { [field]: sent })
          if (isFile) byHand(byRename, list => list.map(one => (one.id === id ? { ...one, [field]: sent } : one)))
          else if (who === 'tool') running.push(brain.change(id, { type: value }))
          // Each window writes sequentially: it waits for the response before its next change.
          else await byHttp(who, id, field, sent as string)
        }
      }
      await Promise.all(running)
      await brain.flush()
      const final = (await say('GET', '/api/brain'))[1].items as Raw[]
      await brain.flush()
      expect(onDisk()).toMatchObject(final.map(({ id, content }) => ({ id, content })))
      expect(final.map(({ id }) => id).sort()).toEqual([...own.keys()].sort())
      for (const [id, fields] of own) expect(final.find(one => one.id === id)).toMatchObject(fields)
      const kept = new Set([...lostOf(path), ...final.map(({ content }) => content as string)])
      for (const value of written) expect(kept.has(value) || replaced.has(value), value).toBe(true)
    }),
    { numRuns: 100 },
  )
  expect(told).toBeGreaterThan(10)
}, 60_000)

const stamps = { createdAt: expect.any(String), updatedAt: expect.any(String) }

const pick = (from: Raw, like: Raw): Raw => Object.fromEntries(Object.keys(like).map(name => [name, from[name]]))

const lostOf = (path: string): string[] => {
  try {
    const lines = readFileSync(`${path}.lost.jsonl`, 'utf8').trim().split('\n')
    return lines.map(line => (JSON.parse(line) as { lost: string }).lost)
  } catch {
    return [] // nothing was lost
  }
}
