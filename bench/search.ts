// Whether the search index is worth it, compared with a plain scan of the same notes in the same run.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemorySearch } from '../src/store/index.ts'
import { type Figure, median, ms, percentile, times } from './figures.ts'

const notes = 5000
const rounds = 30
const searchesPerRound = 10
const budgets = { searchMs: 10, search: 0.2, made: 30 }

export async function searchFigures(): Promise<readonly Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-bench-search-'))
  const search = openMemorySearch({
    dir,
    file: join(dir, '.aetheel/search.db'),
    clock: { now: Date.now, sleep: async pause => void (await sleep(pause)) },
    emit: () => undefined,
  })
  try {
    const word = fillNotes(join(dir, 'notes'), notes)
    scan(dir, ['nothing'])
    const [made, again] = [await worked(() => search.sync()), await worked(() => search.sync())]
    const oneScan =
      (await worked(async () => {
        for (let i = 0; i < 10; i++) scan(dir, ['nothing'])
      })) / 10
    const [scans, searches] = [[] as number[], [] as number[]]
    for (let i = 0; i < rounds; i++) {
      scans.push(await timed(async () => scan(dir, [word(), word()])))
      for (let n = 0; n < searchesPerRound; n++) {
        const words = `${word()} ${word().slice(0, 3)}`
        searches.push(await timed(() => search.search(words, 10)))
      }
    }
    const plain = median(scans)
    const baseline = `plain scan: ${ms(plain)}`
    const found = median(searches)
    return [
      {
        name: 'a search over 5,000 notes',
        value: `${ms(found)} (p95 ${ms(percentile(searches, 0.95))}) = ${times(found / plain)}`,
        baseline,
        budget: `≤ ${budgets.search}×, p50 ≤ ${budgets.searchMs} ms`,
        ok: found / plain <= budgets.search && found <= budgets.searchMs,
      },
      {
        name: '… building the index, in processor time',
        value: `${ms(made)} = ${times(made / oneScan)}`,
        baseline: `plain scan: ${ms(oneScan)}`,
        budget: `≤ ${budgets.made}×`,
        ok: made / oneScan <= budgets.made,
      },
      {
        name: '… checking for changes, none found',
        value: `${ms(again)} = ${times(again / oneScan)}`,
        baseline: `plain scan: ${ms(oneScan)}`,
        budget: '',
        ok: null,
      },
    ]
  } finally {
    await search.close()
    rmSync(dir, { recursive: true })
  }
}

/** Returns a generator of words, common ones more often; the same sequence in every run. */
export function fillNotes(dir: string, notes: number): () => string {
  let seed = 1
  const chance = () => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const letters = Array.from({ length: 8000 }, (_, i) => (i * 7919 + 46_656).toString(36))
  const word = () => letters[Math.floor(letters.length * chance() ** 3)] ?? ''
  mkdirSync(dir)
  for (let i = 0; i < notes; i++) {
    const text = Array.from({ length: 170 }, word).join(' ')
    writeFileSync(join(dir, `note-${i}.md`), `# ${word()} ${word()}\n\n${text}\n`)
  }
  return word
}

function scan(dir: string, words: readonly string[]): number {
  let found = 0
  for (const name of readdirSync(join(dir, 'notes'))) {
    const text = readFileSync(join(dir, 'notes', name), 'utf8').toLowerCase()
    if (words.every(one => text.includes(one))) found++
  }
  return found
}

/** Processor time, because elapsed time says little on a busy machine. */
async function worked(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
