// Which tests call which functions, measured once per test file and cached until it or the code changes.
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mutant } from './mutate.ts'
import type { Measured, Order } from './worker.ts'
import type { Worker } from './workers.ts'

export interface Coverage {
  /** The tests to run for a mutant, fastest first, and their duration; none if no test calls its function. */
  testsFor(mutant: Mutant): { files: Order['files']; ms: number }
}

/** Limits the tests per mutant, fastest first: the backend contracts alone take minutes. */
const mostMs = 45_000
const most = 10 * 60_000

export async function measureCoverage(
  root: string,
  folders: readonly string[],
  workers: readonly Worker[],
  say: (text: string) => void,
): Promise<Coverage> {
  const beside = folders.map(folder => `src/${folder}/**/*.test.ts`)
  const tests = globSync([...beside, 'test/contracts/*.contract.test.ts'], { cwd: root }).sort()
  const around = digest(root, [
    ...globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }),
    ...globSync('test/{contracts/*.suite.ts,fakes/**,harness/**,recordings/**/*.json*}', { cwd: root }),
  ])
  const cache = join(root, 'node_modules/.cache/mutants.json')
  const known = read(cache)
  const keys = new Map(tests.map(file => [file, `${around} ${digest(root, [file])}`]))
  const missing = tests.filter(file => known[file]?.key !== keys.get(file))
  if (missing.length > 0) say(`Measuring what ${missing.length} test files call ...`)
  await inParallel(workers, missing, async (worker, file) => {
    const ran = await worker.run({ files: [{ file, tests: null }], fault: null, changed: null }, most)
    const measured = ran.type === 'done' ? ran.measured[file] : undefined
    if (!measured) return say(`  ${file} does not pass here and is left out`)
    known[file] = { key: keys.get(file) ?? '', tests: measured }
    mkdirSync(dirname(cache), { recursive: true })
    writeFileSync(cache, JSON.stringify(Object.fromEntries(tests.map(path => [path, known[path]]))))
  })

  const callers = new Map<string, { file: string; id: string; ms: number }[]>()
  for (const file of tests)
    for (const { id, ms, calls } of known[file]?.tests ?? [])
      for (const name of calls) {
        const list = callers.get(name) ?? []
        callers.set(name, list)
        list.push({ file, id, ms })
      }

  return {
    testsFor({ file, inside }) {
      const all = (callers.get(`${file}#${inside}`) ?? []).toSorted((a, b) => a.ms - b.ms)
      let ms = 0
      const chosen = new Map<string, string[]>()
      for (const test of all) {
        ms += test.ms
        if (ms > mostMs && chosen.size > 0) break
        chosen.set(test.file, [...(chosen.get(test.file) ?? []), test.id])
      }
      // Tests next to the file come first.
      const beside = (path: string) => (dirname(path) === dirname(file) ? 0 : 1)
      const files = [...chosen].map(([path, ids]) => ({ file: path, tests: ids }))
      return { files: files.sort((a, b) => beside(a.file) - beside(b.file)), ms }
    },
  }
}

/** Each worker takes the next as soon as it is free. */
export async function inParallel<Item>(
  workers: readonly Worker[],
  items: Iterable<Item>,
  work: (worker: Worker, item: Item) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  await Promise.all(
    workers.map(async worker => {
      for (let next = queue.next(); !next.done; next = queue.next()) await work(worker, next.value)
    }),
  )
}

function digest(root: string, files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files.toSorted()) {
    try {
      hash.update(file).update(readFileSync(join(root, file)))
    } catch {
      // A folder.
    }
  }
  return hash.digest('hex').slice(0, 16)
}

function read(cache: string): Record<string, { key: string; tests: readonly Measured[] } | undefined> {
  try {
    return JSON.parse(readFileSync(cache, 'utf8'))
  } catch {
    return {}
  }
}
