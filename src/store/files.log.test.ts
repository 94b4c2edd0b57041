// The log files: nothing is lost by rotation, errors and truncated lines, and nobody is blocked.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LogQuery } from '../base/logs.ts'
import { openLogFile } from './files.ts'
import { createLogReader } from './log-reader.ts'

let home = ''
let dir = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'aetheel-log-'))
  dir = join(home, 'log')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

let clock = 0
const at = new Date(1_700_000_000_000)
const line = (n: number, level = 30, more: object = {}) =>
  `${JSON.stringify({ level, time: new Date(at.getTime() + n).toISOString(), n, ...more, msg: `line ${n}` })}\n`
const openHere = (largest?: number, failed: (error: unknown) => void = () => expect.unreachable()) =>
  openLogFile({ dir, now: () => clock, failed, ...(largest !== undefined && { largest }) })
const all: LogQuery = { level: 'trace', words: '', after: null, most: 100_000 }
const read = (query: Partial<LogQuery> = {}) => createLogReader(dir).read({ ...all, ...query })
const numbers = (lines: readonly { readonly fields: object }[]) => lines.map(({ fields }) => Reflect.get(fields, 'n'))
const upTo = (n: number, from = 0) => Array.from({ length: n - from }, (_, i) => from + i)

test('the files are readable only by the owner, and their number is limited', () => {
  const file = openHere(500)
  for (const n of upTo(100)) file.write(line(n))
  file.close()
  expect(readdirSync(dir).sort()).toEqual(['aetheel.log', 'aetheel.log.1', 'aetheel.log.2', 'aetheel.log.3'])
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(dir)) {
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
    expect(statSync(join(dir, name)).size).toBeLessThanOrEqual(500)
  }
})

test('a follower sees every line once and in order, across rotations and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.boolean()), { maxLength: 12 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 700, max: 1500 }),
      async (steps, most, largest) => {
        rmSync(dir, { recursive: true, force: true })
        let file = openHere(largest)
        let cursor = ''
        let written = 0
        const seen: unknown[] = []
        for (const [lines, restart] of steps) {
          for (let i = 0; i < lines; i++) file.write(line(written++))
          if (restart) {
            file.close()
            file = openHere(largest)
          }
          for (let more = true; more; ) {
            const page = await read({ after: cursor, most })
            seen.push(...numbers(page.lines))
            expect(page.gap).toBe(false)
            ;({ cursor, more } = page)
          }
        }
        file.close()
        expect(seen).toEqual(upTo(written))
      },
    ),
    { numRuns: 100 },
  )
})

test('the newest lines come from as many files as needed, filtered by level and words', async () => {
  const file = openHere(2000)
  for (const n of upTo(60)) file.write(line(n, n % 10 === 0 ? 40 : 30, { why: n % 20 === 0 ? 'Zürich' : 'x' }))
  file.close()
  expect(numbers((await read({ most: 5 })).lines)).toEqual(upTo(60, 55))
  expect(numbers((await read({ level: 'warn' })).lines)).toEqual([0, 10, 20, 30, 40, 50])
  expect(numbers((await read({ words: 'zürICH', most: 2 })).lines)).toEqual([20, 40])
  const { lines } = await read({ level: 'warn', most: 1 })
  expect(lines).toEqual([{ at: at.getTime() + 50, level: 'warn', text: 'line 50', fields: { n: 50, why: 'x' } }])
  expect((await read({ words: '"level"' })).lines).toEqual([])
})

test('long lines and long files are read whole', async () => {
  const file = openHere()
  for (const n of upTo(40)) file.write(line(n, 30, { big: 'ö'.repeat(n % 7 === 3 ? 400_000 : 2000) }))
  file.close()
  expect(numbers((await read()).lines)).toEqual(upTo(40))
  const since = await read({ after: '', most: 3 })
  expect(numbers(since.lines)).toEqual([0, 1, 2])
  expect(numbers((await read({ after: since.cursor })).lines)).toEqual(upTo(40, 3))
})

test('an unfinished line is left for later, and a line truncated by a kill does not swallow the next', async () => {
  const file = openHere()
  file.write(line(1))
  file.close()
  const path = join(dir, 'aetheel.log')
  writeFileSync(path, readFileSync(path, 'utf8') + line(2).slice(0, 20))
  const { lines, cursor } = await read()
  expect(numbers(lines)).toEqual([1])
  const again = openHere()
  again.write(line(3))
  again.close()
  expect(numbers((await read({ after: cursor })).lines)).toEqual([3])
  expect(numbers((await read()).lines)).toEqual([1, 3])
})

test('a write error is reported once, blocks nobody, and writing resumes afterwards', async () => {
  writeFileSync(dir, 'a file is in the way')
  const failures: unknown[] = []
  const file = openHere(undefined, error => failures.push(error))
  for (const n of upTo(3)) file.write(line(n))
  expect(failures).toHaveLength(1)
  rmSync(dir)
  file.write(line(3))
  expect(existsSync(dir)).toBe(false)
  clock += 10_000
  file.write(line(4))
  file.close()
  expect(numbers((await read()).lines)).toEqual([4])
  expect(failures).toHaveLength(1)
})

test('removed files are created again, and a cursor into them reports a gap', async () => {
  const file = openHere()
  file.write(line(1))
  const { cursor } = await read()
  rmSync(dir, { recursive: true })
  mkdirSync(dir)
  chmodSync(dir, 0o755)
  clock += 5000
  file.write(line(2))
  file.close()
  const page = await read({ after: cursor })
  expect([numbers(page.lines), page.gap]).toEqual([[2], true])
  expect(statSync(dir).mode & 0o777).toBe(0o700)
})

test('without log files there are no lines and no error', async () => {
  expect(await createLogReader(dir).any()).toBe(false)
  expect(await read()).toEqual({ lines: [], cursor: '', more: false, gap: false })
})

test('a file that is renamed while it is looked for, and so found twice, is read once', async () => {
  const file = openHere()
  for (const n of upTo(3)) file.write(line(n))
  file.close()
  writeFileSync(join(dir, 'aetheel.log.1'), readFileSync(join(dir, 'aetheel.log')))
  expect(numbers((await read()).lines)).toEqual([0, 1, 2])
  expect(numbers((await read({ after: '' })).lines)).toEqual([0, 1, 2])
})
