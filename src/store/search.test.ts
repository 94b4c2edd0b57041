// Search over a real workspace with a real index: what is found, in which order, and how it is kept fresh.
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MemoryHit } from '../base/memory.ts'
import type { Signal } from '../base/signal.ts'
import { openMemorySearch } from './index.ts'
import type { OpenSearch } from './search.ts'
import { piecesOf } from './search-texts.ts'
import { keepFresh } from './search-watch.ts'

let dir: string
let emitted: Signal[]
let search: OpenSearch
const others: OpenSearch[] = []

const open = (zone?: string): OpenSearch => {
  const one = openMemorySearch({
    dir,
    file: join(dir, '.aetheel/search.db'),
    clock: { now: () => 0, sleep: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined) },
    emit: signal => emitted.push(signal),
    ...(zone && { zone: () => zone }),
  })
  others.push(one)
  return one
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'aetheel-search-'))
  emitted = []
  search = open()
})
afterEach(async () => {
  for (const one of others.splice(0)) await one.close()
  rmSync(dir, { recursive: true })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), text)
}
const sources = (hits: readonly MemoryHit[]) => hits.map(({ source }) => source)
const find = async (words: string, most = 10) => sources(await search.search(words, most))

test('every source is searched, and memory comes before conversations', async () => {
  write(
    'conversations/webchat-one-2026-11-16.md',
    '# x\n\n**Ada** 14:03\n\nI planted an oak tree.\n\n**Agent** 14:04\n\nFine.\n',
  )
  write('notes/garden.md', '# Garden\n\nThe oak stands left.\n\n## Pond\n\nFrogs.\n')
  write('plans.md', 'Buy an oak table')
  write(
    'brain.json',
    JSON.stringify([{ id: 'a', content: 'Oak is her favourite tree', category: 'taste', tags: ['wood'] }]),
  )
  write('memory.md', '# Memory\n\n## Trees\n\n- The oak was planted in 2020\n- The elm is older\n')
  const hits = await search.search('oak', 10)
  expect(sources(hits).slice(0, 2).sort()).toEqual(['brain', 'memory.md'])
  expect(sources(hits).slice(2, 4).sort()).toEqual(['notes/garden.md', 'plans.md'])
  expect(sources(hits)[4]).toBe('conversations/webchat-one-2026-11-16.md')
  expect(hits.find(({ source }) => source === 'memory.md')).toEqual({
    ...{ source: 'memory.md', title: 'Trees', snippet: '- The **oak** was planted in 2020', at: null },
  })
  expect(hits[4]).toMatchObject({ title: 'Ada, 2026-11-16 14:03', at: Date.UTC(2026, 10, 16, 14, 3) })
  expect(await open('Europe/Berlin').search('an oak planted', 10)).toMatchObject([
    { at: Date.UTC(2026, 10, 16, 13, 3) },
  ])
  expect(await search.search('frogs', 10)).toMatchObject([{ source: 'notes/garden.md', title: 'Garden: Pond' }])
  expect(await find('wood')).toEqual(['brain'])
  expect(await find('oak', 2)).toHaveLength(2)
})

test('words match as people type them: prefixes, accents, capitals, any order, some of them', async () => {
  write('notes/a.md', 'Das Café in Zürich öffnet um neun')
  write('notes/b.md', '日本語のメモです')
  for (const words of ['cafe', 'ZURICH café', 'zür', 'neun öff', 'café, in Zürich?', 'cafe spaceship']) {
    expect(await find(words), words).toEqual(['notes/a.md'])
  }
  expect(await search.search('本語', 5)).toMatchObject([{ source: 'notes/b.md', snippet: '日**本語**のメモです' }])
  expect(await find('afe')).toEqual([])
  expect(await find('  …!? ')).toEqual([])
})

test('no words are an error', async () => {
  write('notes/a.md', 'one AND two OR "three" NEAR(four) title: x*')
  await search.sync()
  const hostile = fc.constantFrom(
    '"',
    "'",
    '*',
    '(',
    ')',
    'AND',
    'OR',
    'NOT',
    'NEAR(',
    '^',
    ':',
    '-',
    '{',
    '}',
    'title:',
    '\0',
    'one',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(hostile, fc.string({ unit: 'grapheme' }))), async words => {
      await search.search(words.join(' '), 3)
    }),
    { numRuns: 200 },
  )
  expect(await find('title: "x')).toEqual(['notes/a.md'])
  expect(await find(`${'word '.repeat(5000)}one`)).toEqual([])
})

test('files that are in the prompt anyway, hidden folders, skills and links are not searched', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'aetheel-outside-'))
  try {
    writeFileSync(join(outside, 'secret.md'), 'needle')
    for (const path of [
      'soul.md',
      'AGENTS.md',
      'skills/x/SKILL.md',
      '.git/a.md',
      'notes/.hidden/a.md',
      'files/in/1/a.md',
      'messages/a.jsonl',
      'notes/a.txt',
    ]) {
      write(path, 'needle')
    }
    write('notes/deep/er/found.md', 'needle')
    symlinkSync(outside, join(dir, 'notes/link'))
    symlinkSync(join(outside, 'secret.md'), join(dir, 'notes/secret.md'))
    symlinkSync(join(outside, 'secret.md'), join(dir, 'memory.md'))
    expect(await find('needle')).toEqual(['notes/deep/er/found.md'])
  } finally {
    rmSync(outside, { recursive: true })
  }
})

test('a file over 5 MB is skipped and reported once', async () => {
  write('notes/large.md', 'needle '.repeat(800_000))
  write('notes/small.md', 'needle')
  await search.sync()
  await search.sync()
  expect(await find('needle')).toEqual(['notes/small.md'])
  expect(emitted).toMatchObject([{ type: 'workspace-trouble', file: 'notes/large.md' }])
})

test('only changed files are read again, and removed files are dropped', async () => {
  write('notes/a.md', 'alpha')
  write('notes/b.md', 'beta')
  expect(await search.sync()).toEqual({ documents: 2, changed: 2 })
  expect(await search.sync()).toEqual({ documents: 2, changed: 0 })
  utimesSync(join(dir, 'notes/a.md'), 1, 1)
  expect(await search.sync()).toEqual({ documents: 2, changed: 0 })
  write('notes/a.md', 'gamma')
  rmSync(join(dir, 'notes/b.md'))
  expect(await search.sync()).toEqual({ documents: 1, changed: 2 })
  expect(await find('alpha beta')).toEqual([])
  expect(await find('gamma')).toEqual(['notes/a.md'])
})

test('of a growing conversation only the new part is written', async () => {
  const path = 'conversations/webchat-one-2026-11-16.md'
  write(path, '# x\n\n')
  const said = (i: number) => `**Ada** 14:03\n\nnumber${i}\n\n`
  appendFileSync(join(dir, path), Array.from({ length: 50 }, (_, i) => said(i)).join(''))
  await search.sync()
  const ids = () => {
    const db = new DatabaseSync(join(dir, '.aetheel/search.db'), { readOnly: true })
    try {
      return db
        .prepare('SELECT id FROM pieces ORDER BY id')
        .all()
        .map(({ id }) => id)
    } finally {
      db.close()
    }
  }
  const before = ids()
  appendFileSync(join(dir, path), said(50))
  await search.sync()
  expect(ids().slice(0, -1)).toEqual(before)
  expect(await find('number50')).toEqual([path])
})

test('something remembered a moment ago is found without a sync', async () => {
  write('memory.md', '- old')
  await search.sync()
  write('memory.md', '- old\n- brandnew')
  write('brain.json', '[{"id":"1","content":"brandnew too"}]')
  expect((await find('brandnew')).sort()).toEqual(['brain', 'memory.md'])
  write('brain.json', '[{"id":"1","cont')
  expect((await find('brandnew')).sort()).toEqual(['brain', 'memory.md'])
})

test('a watched workspace stays up to date: files written, renamed and removed, also in new folders', async () => {
  write('notes/a.md', 'alpha')
  const stop = new AbortController()
  const watching = search.watch(stop.signal)
  await expect.poll(() => find('alpha')).toEqual(['notes/a.md'])
  await pause(400)
  write('notes/a.md', 'beta')
  await expect.poll(() => find('beta')).toEqual(['notes/a.md'])
  write('notes/b.tmp', 'gamma')
  renameSync(join(dir, 'notes/b.tmp'), join(dir, 'notes/b.md'))
  await expect.poll(() => find('gamma')).toEqual(['notes/b.md'])
  write('projects/new/c.md', 'delta')
  await expect.poll(() => find('delta')).toEqual(['projects/new/c.md'])
  write('projects/new/d.md', 'epsilon')
  await expect.poll(() => find('epsilon')).toEqual(['projects/new/d.md'])
  rmSync(join(dir, 'notes/a.md'))
  await expect.poll(() => find('beta')).toEqual([])
  stop.abort()
  await watching
})

test('while nothing changes only the folders are checked', async () => {
  for (let i = 0; i < 20; i++) write(`notes/${i % 3}/n${i}.md`, 'alpha')
  const stop = new AbortController()
  const looks: (readonly string[] | null)[] = []
  let sleeps = 0
  const sleep = async () => {
    sleeps++
    await new Promise(setImmediate)
    if (sleeps === 300) stop.abort()
  }
  const folders = () => ['', 'notes', 'notes/0', 'notes/1', 'notes/2']
  await keepFresh({ dir, clock: { now: () => 0, sleep }, folders }, async paths => looks.push(paths), stop.signal)
  // Everything once, and once more when it is watched; 300 times half a minute is two and a half hours.
  expect(looks).toEqual([null, ['']])
})

test('a change that no watcher reports is found: another folder in place of the workspace', async () => {
  const home = dir
  dir = join(home, 'workspace')
  write('notes/a.md', 'alpha')
  const short = (ms: number, signal: AbortSignal) =>
    pause(Math.min(ms, 20), undefined, { signal }).catch(() => undefined)
  const clock = { now: () => 0, sleep: short }
  const watched = openMemorySearch({ dir, file: join(home, 'search.db'), clock, emit: () => undefined })
  others.push(watched)
  const found = async (words: string) => sources(await watched.search(words, 5))
  const stop = new AbortController()
  const watching = watched.watch(stop.signal)
  await expect.poll(() => found('alpha')).toEqual(['notes/a.md'])
  await pause(200)
  renameSync(dir, join(home, 'before'))
  write('notes/b.md', 'beta')
  await expect.poll(() => found('beta'), { timeout: 5000 }).toEqual(['notes/b.md'])
  expect(await found('alpha')).toEqual([])
  write('notes/c.md', 'gamma')
  await expect.poll(() => found('gamma'), { timeout: 5000 }).toEqual(['notes/c.md'])
  stop.abort()
  await watching
  dir = home
})

test('a new or removed folder is checked with its contents, and others are not', async () => {
  write('notes/a.md', 'alpha')
  const stop = new AbortController()
  const watching = search.watch(stop.signal)
  await expect.poll(() => find('alpha')).toEqual(['notes/a.md'])
  await pause(400)
  write('elsewhere/one/two/b.md', 'beta')
  renameSync(join(dir, 'elsewhere'), join(dir, 'projects'))
  await expect.poll(() => find('beta')).toEqual(['projects/one/two/b.md'])
  write('projects/one/two/c.md', 'gamma')
  await expect.poll(() => find('gamma')).toEqual(['projects/one/two/c.md'])
  rmSync(join(dir, 'projects/one'), { recursive: true })
  await expect.poll(() => find('beta gamma')).toEqual([])
  expect(await find('alpha')).toEqual(['notes/a.md'])
  stop.abort()
  await watching
})

test('of very many matches, those in the title come first, however old', async () => {
  mkdirSync(join(dir, 'notes'))
  for (let i = 0; i < 1500; i++)
    writeFileSync(
      join(dir, `notes/n${String(i).padStart(4, '0')}.md`),
      i === 3 ? '# Garden plan\n\nx' : `# Note ${i}\n\nthe garden has a plan ${i}`,
    )
  write('memory.md', '- The garden plan is in the drawer')
  expect(await find('garden plan', 2)).toEqual(['memory.md', 'notes/n0003.md'])
  expect(await find('plan gar', 50)).toHaveLength(50)
  // No document has all of these: the rare word counts more than the common one.
  write('notes/z-rare.md', 'a hedgehog')
  await search.sync()
  expect((await find('garden hedgehog spaceship', 3))[0]).toBe('notes/z-rare.md')
  // Two letters match a whole word if there is one, otherwise a prefix.
  write('notes/z-short.md', 'to do: ga')
  await search.sync()
  expect(await find('ga')).toEqual(['notes/z-short.md'])
  expect((await find('he', 3))[0]).toBe('notes/z-rare.md')
}, 60_000)

test('an index that is missing, damaged, of another version or not a file is rebuilt', async () => {
  write('notes/a.md', 'alpha '.repeat(300))
  await search.sync()
  const file = join(dir, '.aetheel/search.db')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const spoil: (() => void)[] = [
    () => undefined,
    () => writeFileSync(file, 'not a database, whatever it may be called'),
    () => truncateSync(file, 5000),
    () => writeFileSync(file, readFileSync(file).fill(7, 4096)),
    () => mkdirSync(file),
    () => {
      const db = new DatabaseSync(file)
      db.exec('PRAGMA user_version = 99')
      db.close()
    },
    () => {
      const db = new DatabaseSync(file)
      db.exec('PRAGMA user_version = 1')
      db.close()
    },
  ]
  for (const [n, how] of spoil.entries()) {
    await search.close()
    if ([0, 4, 6].includes(n)) for (const name of readdirSync(dirname(file))) rmSync(join(dirname(file), name))
    how()
    search = open()
    expect(await find('alpha'), `case ${n}`).toEqual(['notes/a.md'])
  }
})

test('an index that is damaged or removed while it is open is rebuilt', async () => {
  write('notes/a.md', 'alpha')
  await search.sync()
  for (const name of readdirSync(join(dir, '.aetheel'))) rmSync(join(dir, '.aetheel', name))
  write('notes/b.md', 'beta')
  await search.sync()
  expect(await find('beta')).toEqual(['notes/b.md'])
  expect(readdirSync(join(dir, '.aetheel'))).toContain('search.db')
})

test('if the index file cannot be written, the index is kept in memory, and a warning is emitted', async () => {
  write('.aetheel', 'a file')
  write('notes/a.md', 'alpha')
  expect(await find('alpha')).toEqual(['notes/a.md'])
  expect(emitted).toMatchObject([{ file: 'search.db' }])
})

test('two processes with the index open do not disturb each other, even while one writes', async () => {
  for (let i = 0; i < 200; i++) write(`notes/n${i}.md`, `note number${i} common`)
  const other = open()
  const both = await Promise.all([search.sync(), other.sync(), search.search('common', 5), other.search('common', 5)])
  expect(both[0].documents).toBe(200)
  const hold = new DatabaseSync(join(dir, '.aetheel/search.db'))
  hold.exec('BEGIN IMMEDIATE')
  write('notes/late.md', 'late')
  expect(await find('number77')).toHaveLength(1)
  const waiting = search.sync()
  await pause(100)
  hold.exec('COMMIT')
  hold.close()
  expect(await waiting).toEqual({ documents: 201, changed: 1 })
  expect(sources(await other.search('late', 5))).toEqual(['notes/late.md'])
})

test('5000 notes are indexed, found, and not read again', async () => {
  mkdirSync(join(dir, 'notes'))
  for (let i = 0; i < 5000; i++)
    writeFileSync(join(dir, `notes/n${i}.md`), `# Note ${i}\n\nabout thing${i % 100} and unique${i}`)
  expect(await search.sync()).toEqual({ documents: 5000, changed: 5000 })
  expect(await search.sync()).toEqual({ documents: 5000, changed: 0 })
  expect(await find('unique4321')).toEqual(['notes/n4321.md'])
  expect(await find('thing7', 30)).toHaveLength(30)
}, 60_000)

test('pieces are small, keep fences whole where they fit, and lose no word', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('memory' as const, 'note' as const),
      fc.array(fc.stringMatching(/^(# |- |```|)[a-z]{1,20}( [a-z]{1,300}){0,12}$/), { maxLength: 30 }),
      fc.constantFrom('\n', '\n\n'),
      (kind, lines, gap) => {
        const text = lines.join(gap)
        const pieces = piecesOf(kind, 'notes/x.md', text) ?? []
        const held = pieces.map(({ title, body }) => `${title} ${body}`).join(' ')
        for (const { body } of pieces) expect(body.length).toBeLessThanOrEqual(2000)
        const short = lines.flatMap(line => (line.length < 200 ? (line.match(/[a-z]+/g) ?? []) : []))
        for (const word of short) expect(held).toContain(word)
      },
    ),
    { numRuns: 200 },
  )
  const [first = '', second = ''] = ['a', 'b'].map(letter => `# ${letter.repeat(150)} end${letter}`)
  const titles = piecesOf('note', 'notes/x.md', `${first}\n\ntext\n\n${second}\n`)?.map(({ title }) => title)
  expect(titles?.at(-1)).toMatch(/enda: b+ endb$/)
  const fenced =
    piecesOf('memory', 'memory.md', '## A\n\n```sh\n# not a heading\n\n- nor an item\n```\n- item\n  - below it\n') ??
    []
  expect(fenced.map(({ title, body }) => [title, body])).toEqual([
    ['A', '```sh\n# not a heading\n\n- nor an item\n```'],
    ['A', '- item\n  - below it'],
  ])
})
