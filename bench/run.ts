// What is measured, and the budgets. Usage: npm run bench -- [--write] [start memory latency accepts history]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { acceptFigures } from './accepts.ts'
import { type Figure, markdownTable } from './figures.ts'
import { historyFigures } from './history.ts'
import { latencyFigures } from './latency.ts'
import { describeMachine, load } from './machine.ts'
import { memoryFigures } from './memory.ts'
import { startFigures } from './start.ts'

const parts: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  start: startFigures,
  memory: memoryFigures,
  latency: latencyFigures,
  accepts: acceptFigures,
  history: historyFigures,
}

const { values, positionals } = parseArgs({ options: { write: { type: 'boolean' } }, allowPositionals: true })
const unknown = positionals.filter(name => !Object.hasOwn(parts, name))
if (unknown.length > 0 || (values.write && positionals.length > 0)) {
  console.error(`There are: ${Object.keys(parts).join(', ')}. --write takes all of them, so it goes without names.`)
  process.exit(2)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const began = performance.now()
const before = load()
const figures: Figure[] = []
for (const [name, measure] of Object.entries(parts)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  process.stderr.write(`${name} …\n`)
  figures.push(...(await measure()))
}
const report = [
  `${describeMachine()}.`,
  `Load average ${before} before and ${load()} after; ${Math.round((performance.now() - began) / 1000)} s in all.`,
  '',
  markdownTable(figures),
].join('\n')
console.log(report)
if (values.write) writeReport(report)
process.exitCode = figures.some(({ ok }) => ok === false) ? 1 : 0

/** Only what stands between the marks is replaced; the rest of the page is written by people. */
function writeReport(text: string): void {
  const file = join(import.meta.dirname, 'README.md')
  const marks = /(<!-- figures -->\n)[\s\S]*?(<!-- end of figures -->)/
  const page = readFileSync(file, 'utf8')
  if (!marks.test(page)) throw new Error('bench/README.md has lost the marks between which the figures stand')
  writeFileSync(
    file,
    page.replace(marks, (_, open: string, close: string) => `${open}\n${text}\n\n${close}`),
  )
}
