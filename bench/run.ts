// What is measured, and the budgets. Usage: npm run bench -- [--write] [start commands memory latency asks accepts history growth guard sse overview search discord telegram slack walls backends]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { acceptFigures } from './accepts.ts'
import { askFigures } from './asks.ts'
import { commandLineFigures } from './command-line.ts'
import { discordFigures } from './discord.ts'
import { type Figure, markdownTable, table, verdict } from './figures.ts'
import { growthFigures } from './growth.ts'
import { guardFigures } from './guard.ts'
import { historyFigures } from './history.ts'
import { latencyFigures } from './latency.ts'
import { describeMachine, load } from './machine.ts'
import { memoryFigures } from './memory.ts'
import { overviewFigures } from './overview.ts'
import { searchFigures } from './search.ts'
import { slackFigures } from './slack.ts'
import { sseFigures } from './sse.ts'
import { startFigures } from './start.ts'
import { telegramFigures } from './telegram.ts'
import { wallFigures } from './walls.ts'

const parts: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  start: startFigures,
  commands: commandLineFigures,
  memory: memoryFigures,
  latency: latencyFigures,
  asks: askFigures,
  accepts: acceptFigures,
  history: historyFigures,
  growth: growthFigures,
  guard: guardFigures,
  sse: sseFigures,
  overview: overviewFigures,
  discord: discordFigures,
  telegram: telegramFigures,
  slack: slackFigures,
  search: searchFigures,
  walls: wallFigures,
}
/** Takes minutes and needs the real CLIs, so it runs only when named or with --write. It has its own table. */
const apart = 'backends'

const { values, positionals } = parseArgs({ options: { write: { type: 'boolean' } }, allowPositionals: true })
const known = [...Object.keys(parts), apart]
if (positionals.some(name => !known.includes(name)) || (values.write && positionals.length > 0)) {
  console.error(`There are: ${known.join(', ')}. --write takes all of them, so it goes without names.`)
  process.exit(2)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const kept: (boolean | null)[] = []

const chosen = Object.entries(parts).filter(([name]) => positionals.length === 0 || positionals.includes(name))
if (chosen.length > 0)
  await report('figures', async () => {
    const figures: Figure[] = []
    for (const [name, measure] of chosen) {
      process.stderr.write(`${name} …\n`)
      figures.push(...(await measure()))
    }
    kept.push(...figures.map(({ ok }) => ok))
    return markdownTable(figures)
  })
if (values.write || positionals.includes(apart))
  await report(apart, async () => {
    process.stderr.write(`${apart} …\n`)
    const { backendFigures, backendHeadings } = await import('./backends.ts')
    const rows = await backendFigures()
    kept.push(...rows.map(({ ok }) => ok))
    return table(
      backendHeadings,
      rows.map(({ cells, ok }) => [...cells, verdict(ok)]),
    )
  })
process.exitCode = kept.includes(false) ? 1 : 0

/** Prints the table with a description of the machine; with --write, also puts it on the page. */
async function report(mark: string, measure: () => Promise<string>): Promise<void> {
  const began = performance.now()
  const before = load()
  const figures = await measure()
  const text = [
    `${describeMachine()}.`,
    `Load average ${before} before and ${load()} after; ${Math.round((performance.now() - began) / 1000)} s in all.`,
    '',
    figures,
  ].join('\n')
  console.log(text)
  if (values.write) writeReport(mark, text)
}

/** Replaces only the text between the marks; the rest of the page is written by people. */
function writeReport(mark: string, text: string): void {
  const file = join(import.meta.dirname, 'README.md')
  const marks = new RegExp(`(<!-- ${mark} -->\\n)[\\s\\S]*?(<!-- end of ${mark} -->)`)
  const page = readFileSync(file, 'utf8')
  if (!marks.test(page)) throw new Error(`bench/README.md has lost the marks between which the ${mark} stand`)
  writeFileSync(
    file,
    page.replace(marks, (_, open: string, close: string) => `${open}\n${text}\n\n${close}`),
  )
}
