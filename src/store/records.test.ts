// brain.json, tasks.json and content-items.json with several writers, on real files.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBrain, createContent, createTasks } from './index.ts'
import { createRecords } from './records.ts'
import { merge } from './records-merge.ts'

type Raw = Record<string, unknown>

let dir: string
let path: string
let serial = 0
let failures: unknown[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-records-'))
  path = join(dir, 'brain.json')
  failures = []
})
afterEach(() => rmSync(dir, { recursive: true }))

const parts = () => {
  // A pending write after the end of its test finds its folder gone, which must not fail the next test.
  const own = failures
  return {
    dir,
    newId: () => `new-${serial++}`,
    now: () => Date.UTC(2026, 10, 16, 12, 0, serial++),
    failed: (error: unknown) => void own.push(error),
  }
}
const onDisk = (): Raw[] => JSON.parse(readFileSync(path, 'utf8')) as Raw[]
const fact = (content: string) => ({ content, type: 'fact', category: '', tags: [] })

test('an added record is there immediately, in the file a moment later, and after a restart', async () => {
  const brain = createBrain(parts())
  const one = await brain.add(fact('Ada likes tea'))
  expect(await brain.list()).toEqual([one])
  await expect.poll(() => readdirSync(dir)).toEqual(['brain.json'])
  expect(onDisk()).toEqual([one])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await createBrain(parts()).list()).toEqual([one])
  expect(await brain.change(one.id, { content: 'Ada likes coffee' })).toMatchObject({
    type: 'changed',
    item: { content: 'Ada likes coffee' },
  })
  expect(await brain.change('nobody', { content: 'x' })).toEqual({ type: 'gone' })
  expect(await brain.remove(one.id)).toMatchObject({ id: one.id, content: 'Ada likes coffee' })
  expect(await brain.remove(one.id)).toBeNull()
  await brain.flush()
  expect(onDisk()).toEqual([])
})

test('missing fields are filled in, and records that are not understood stay as they are', async () => {
  const written = {
    owner: 'me',
    items: [
      { content: 'no id' },
      { id: 7, content: 'a number', mood: 'good' },
      'just words',
      { id: 'x', nothing: true },
    ],
  }
  writeFileSync(path, JSON.stringify(written))
  const brain = createBrain(parts())
  const [first, second, ...others] = await brain.list()
  expect(first).toMatchObject({ content: 'no id', type: 'fact', tags: [] })
  expect(second).toMatchObject({ id: '7', content: 'a number' })
  expect(others).toEqual([])
  expect((await brain.list())[0]?.id).toBe(first?.id)
  await brain.change('7', { content: 'changed' })
  await brain.flush()
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    owner: 'me',
    items: [
      { content: 'no id', id: first?.id },
      { id: 7, content: 'changed', mood: 'good' },
      'just words',
      { nothing: true },
    ],
  })
})

test('a task with a status that we do not know is shown as to do, and keeps its own', async () => {
  writeFileSync(join(dir, 'tasks.json'), JSON.stringify([{ id: 'a', title: 'Paint', status: 'blocked' }]))
  const tasks = createTasks(parts())
  expect(await tasks.list()).toMatchObject([{ id: 'a', status: 'todo' }])
  await tasks.change('a', { notes: 'green' })
  await tasks.flush()
  expect(JSON.parse(readFileSync(join(dir, 'tasks.json'), 'utf8'))).toMatchObject([
    { status: 'blocked', notes: 'green' },
  ])
})

test('a content item needs only a title; unusual values of tasks and content items are shown with defaults and kept', async () => {
  const finds = [
    { title: 'bare' },
    { id: 'x', title: 'odd', url: 7, kind: null, status: 'eaten', tags: 'one', summary: 'fine' },
  ]
  writeFileSync(join(dir, 'content-items.json'), JSON.stringify(finds))
  const content = createContent(parts())
  const usual = { url: '', kind: 'article', status: 'new', tags: [] }
  expect(await content.list()).toMatchObject([
    { title: 'bare', summary: '', ...usual },
    { id: 'x', title: 'odd', summary: 'fine', ...usual },
  ])
  await content.change('x', { status: 'used' })
  await content.flush()
  expect(JSON.parse(readFileSync(join(dir, 'content-items.json'), 'utf8'))[1]).toMatchObject({
    ...finds[1],
    status: 'used',
  })
  const tasks = [{ title: 'a', order: '7', due: 'soon' }, { title: 'b', order: 1.5, due: '2026-11-16' }, { title: 'c' }]
  writeFileSync(join(dir, 'tasks.json'), JSON.stringify(tasks))
  expect(await createTasks(parts()).list()).toMatchObject([
    { order: null, due: '' },
    { order: 1.5, due: '2026-11-16' },
    { order: null, due: '' },
  ])
})

test('a removed record can be restored completely, also after the file was written', async () => {
  const mine = [
    { id: 'a', content: 'tea', mood: 'good' },
    { id: 'b', content: 'milk' },
  ]
  writeFileSync(path, JSON.stringify(mine))
  const brain = createBrain(parts())
  await brain.remove('a')
  await brain.flush()
  expect(onDisk()).toHaveLength(1)
  expect(await brain.restore('a')).toMatchObject({ id: 'a', content: 'tea' })
  expect(await brain.restore('b')).toMatchObject({ content: 'milk' })
  expect(await brain.restore('c')).toBeNull()
  await brain.flush()
  expect(onDisk()).toMatchObject(mine.toReversed())
})

test('a change is refused if somebody else changed the record meanwhile', async () => {
  const brain = createBrain(parts())
  const { id } = await brain.add(fact('tea'))
  await brain.flush()
  writeFileSync(path, JSON.stringify(onDisk().map(one => ({ ...one, content: 'cocoa' }))))
  const change = { content: 'coffee' }
  expect(await brain.change(id, change, { content: 'tea' })).toMatchObject({
    type: 'conflict',
    item: { content: 'cocoa' },
  })
  expect(await brain.change(id, { category: 'taste' }, { category: '' })).toMatchObject({
    type: 'changed',
    item: { content: 'cocoa', category: 'taste' },
  })
  expect(await brain.change(id, change, { content: 'cocoa', tags: [] })).toMatchObject({ type: 'changed' })
  // Sent again, as after a lost response.
  expect(await brain.change(id, change, { content: 'cocoa' })).toMatchObject({ type: 'changed', item: change })
  expect(await brain.change('nobody', change, {})).toEqual({ type: 'gone' })
})

test('the losing value of a simultaneous change is stored beside the file and reported', async () => {
  const brain = createBrain(parts())
  const { id } = await brain.add(fact('tea'))
  await brain.flush()
  await brain.change(id, { content: 'coffee' })
  writeFileSync(path, JSON.stringify(onDisk().map(one => ({ ...one, content: 'cocoa', category: 'taste' }))))
  expect(await brain.list()).toMatchObject([{ content: 'coffee', category: 'taste' }])
  const lost = readFileSync(`${path}.lost.jsonl`, 'utf8').trim().split('\n')
  expect(lost.map(line => JSON.parse(line))).toMatchObject([{ id, field: 'content', lost: 'cocoa' }])
  expect(statSync(`${path}.lost.jsonl`).mode & 0o777).toBe(0o600)
  expect(failures.map(String)).toEqual([expect.stringMatching(/two sides.*brain\.json\.lost\.jsonl/)])
  expect(String(failures)).not.toContain('cocoa')
  await brain.flush()
  expect(onDisk()).toMatchObject([{ content: 'coffee', category: 'taste' }])
})

test('losing values are stored in two files of limited size', async () => {
  const brain = createBrain(parts())
  const { id } = await brain.add(fact('tea'))
  await brain.flush()
  const beside = `${path}.lost.jsonl`
  const before = `${path}.lost-before.jsonl`
  writeFileSync(before, 'the oldest')
  writeFileSync(beside, `${'x'.repeat(1024 * 1024)}\n`)
  await brain.change(id, { content: 'coffee' })
  writeFileSync(path, JSON.stringify(onDisk().map(one => ({ ...one, content: 'cocoa' }))))
  await brain.list()
  expect(statSync(before).size).toBe(1024 * 1024 + 1)
  expect(JSON.parse(readFileSync(beside, 'utf8'))).toMatchObject({ id, lost: 'cocoa' })
  await brain.flush()
})

test('an invalid record is refused, and nothing is written', async () => {
  const brain = createBrain(parts())
  await expect(brain.add(fact('  '))).rejects.toThrow('is not a valid entry')
  await brain.flush()
  expect(readdirSync(dir)).toEqual([])
})

test('an edit from outside is seen by the next reader, in place or by a rename', async () => {
  const brain = createBrain(parts())
  await brain.add(fact('mine'))
  await brain.flush()
  writeFileSync(path, JSON.stringify([...onDisk(), { id: 'theirs', content: 'in place' }]))
  expect((await brain.list()).map(({ content }) => content)).toEqual(['mine', 'in place'])
  writeFileSync(`${path}~`, JSON.stringify(onDisk().map(one => ({ ...one, content: 'renamed' }))))
  renameSync(`${path}~`, path)
  expect((await brain.list()).map(({ content }) => content)).toEqual(['renamed', 'renamed'])
})

test('an invalid file is reported once, the known records are served, and it is renamed before the next write', async () => {
  const brain = createBrain(parts())
  await brain.add(fact('known'))
  await brain.flush()
  writeFileSync(path, '[{"id": "a", "content": "half')
  expect(await brain.list()).toMatchObject([{ content: 'known' }])
  await brain.list()
  expect(failures).toHaveLength(1)
  expect(String(failures[0])).not.toContain(dir)
  expect(readdirSync(dir)).toEqual(['brain.json'])
  await brain.add(fact('more'))
  await brain.flush()
  const [aside] = readdirSync(dir).filter(name => name.startsWith('brain.json.broken-'))
  expect(readFileSync(join(dir, aside ?? ''), 'utf8')).toBe('[{"id": "a", "content": "half')
  expect(onDisk()).toMatchObject([{ content: 'known' }, { content: 'more' }])
})

test('a repaired file is used again', async () => {
  writeFileSync(path, 'oops')
  const brain = createBrain(parts())
  expect(await brain.list()).toEqual([])
  writeFileSync(path, JSON.stringify([{ id: 'a', content: 'repaired' }]))
  expect(await brain.list()).toMatchObject([{ content: 'repaired' }])
  await brain.add(fact('mine'))
  await brain.flush()
  expect(onDisk()).toMatchObject([{ content: 'repaired' }, { content: 'mine' }])
  expect(readdirSync(dir)).toEqual(['brain.json'])
})

test('a file that is being saved in place is waited for', async () => {
  const brain = createBrain(parts())
  await brain.add(fact('mine'))
  await brain.flush()
  const next = JSON.stringify([...onDisk(), { id: 'theirs', content: 'slow' }])
  writeFileSync(path, next.slice(0, 20))
  const listed = brain.list()
  await pause(60)
  writeFileSync(path, next)
  expect((await listed).map(({ content }) => content)).toEqual(['mine', 'slow'])
  expect(failures).toEqual([])
})

test('a deleted file is written again completely', async () => {
  const brain = createBrain(parts())
  await brain.add(fact('one'))
  await brain.flush()
  rmSync(path)
  expect(await brain.list()).toHaveLength(1)
  await brain.add(fact('two'))
  await brain.flush()
  expect(onDisk()).toHaveLength(2)
})

test('a folder that cannot be written is reported, and the change is written when it can', async () => {
  const inner = join(dir, 'inner')
  const brain = createBrain({ ...parts(), dir: inner })
  const one = await brain.add(fact('kept'))
  await brain.flush()
  expect(failures).toHaveLength(1)
  mkdirSync(inner)
  await brain.flush()
  expect(JSON.parse(readFileSync(join(inner, 'brain.json'), 'utf8'))).toEqual([one])
})

test('of a field that both sides changed the newer value wins; other fields keep both changes', () => {
  const at = (hour: number, rest: Raw) =>
    new Map([['a', { id: 'a', updatedAt: `2026-11-16T0${hour}:00:00Z`, ...rest }]])
  const base = at(1, { content: 'x', category: 'c', tags: [] })
  const mine = at(3, { content: 'mine', category: 'mine', tags: [] })
  const theirs = at(2, { content: 'theirs', category: 'c', tags: ['theirs'] })
  expect(merge(base, mine, theirs).get('a')).toMatchObject({ content: 'mine', category: 'mine', tags: ['theirs'] })
  expect(merge(base, theirs, mine).get('a')).toMatchObject({ content: 'mine', category: 'mine', tags: ['theirs'] })
})

const step = fc.record({
  side: fc.constantFrom('inside', 'outside', 'outside by rename'),
  what: fc.constantFrom('add', 'change', 'remove'),
  which: fc.nat(9),
  next: fc.constantFrom('go on', 'wait for a round', 'wait for a write', 'read'),
})

test('whatever the order of edits from inside and outside, no change of either side is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async steps => {
      rmSync(path, { force: true })
      // Each side edits its own field; what one removes, the other leaves alone.
      const start = Array.from({ length: 6 }, (_, i) => ({ id: `s${i}`, inside: '', outside: '', extra: i }))
      writeFileSync(path, JSON.stringify(start))
      const expected = new Map<string, Raw>(start.map(one => [one.id, { ...one }]))
      const records = createRecords<{ id: string; inside: string }>({
        ...parts(),
        path,
        pauseMs: 1,
        read: raw => raw as { id: string; inside: string },
      })
      await records.list()
      const running: Promise<unknown>[] = []
      const outside = (edit: (list: Raw[]) => Raw[], byRename: boolean) => {
        const text = JSON.stringify(edit(onDisk()))
        writeFileSync(byRename ? `${path}~` : path, text)
        if (byRename) renameSync(`${path}~`, path)
      }
      let made = 0
      for (const { side, what, which, next } of steps) {
        const byRename = side === 'outside by rename'
        const field = side === 'inside' ? 'inside' : 'outside'
        const id = `s${which % 6}`
        if (what === 'add') {
          const value = `added ${made++}`
          if (side === 'inside') {
            running.push(records.add({ inside: value }).then(one => expected.set(one.id, { inside: value })))
          } else {
            outside(list => [...list, { id: value, outside: value }], byRename)
            expected.set(value, { outside: value })
          }
        } else if (what === 'remove' && which < 2) {
          // s0 is removed from inside, s1 from outside; nobody changes these two.
          expected.delete(side === 'inside' ? 's0' : 's1')
          if (side === 'inside') running.push(records.remove('s0'))
          else outside(list => list.filter(one => one.id !== 's1'), byRename)
        } else if (which % 6 > 1) {
          const value = `changed ${made++}`
          Object.assign(expected.get(id) ?? {}, { [field]: value })
          if (side === 'inside') running.push(records.change(id, { inside: value }))
          else outside(list => list.map(one => (one.id === id ? { ...one, outside: value } : one)), byRename)
        }
        if (next === 'wait for a round') await new Promise(resolve => setImmediate(resolve))
        if (next === 'wait for a write') await pause(3)
        if (next === 'read') await records.list()
      }
      await Promise.all(running)
      await records.flush()
      const found = new Map((await records.list()).map(one => [one.id, one as Raw]))
      expect([...found.keys()].sort()).toEqual([...expected.keys()].sort())
      for (const [id, one] of expected) expect(found.get(id)).toMatchObject(one)
      await records.flush()
      expect(onDisk()).toEqual([...found.values()])
    }),
    { numRuns: 100 },
  )
})
