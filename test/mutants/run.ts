// Makes small changes to the product, one at a time, and lists those that no test notices: npm run test:mutants -- --help
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createCompiler } from './compiles.ts'
import { inParallel, measureCoverage } from './coverage.ts'
import { reasonFor } from './equivalent.ts'
import { type Mutant, mutantsOf } from './mutate.ts'
import { sample } from './sample.ts'
import { sandboxTrouble } from './sandbox.ts'
import { scenariosFor } from './scenarios.ts'
import { createWorker, type Ran } from './workers.ts'

const folders = ['lanes', 'store', 'run', 'intake', 'send', 'clock', 'tools']

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '70' },
    folder: { type: 'string', multiple: true, default: folders },
    file: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    report: { type: 'string' },
    'no-scenarios': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(`npm run test:mutants -- [options]
  --seed N          which mutants are picked (1)
  --count N         how many, evenly over the folders (70)
  --folder NAME     only this folder of src/; may be repeated (${folders.join(', ')})
  --file PART       only files whose path contains this
  --jobs N          how many at a time (1)
  --no-scenarios    do not try the whole program on what unit and contract tests have missed
  --report FILE     writes every mutant and what noticed it, as JSON`)
  process.exit()
}
const trouble = sandboxTrouble()
if (trouble !== null) {
  console.error(trouble)
  process.exit(2)
}

interface Tried {
  readonly mutant: Mutant
  readonly put: string
  /** The test, or how it ended. */
  noticed: string | null
  done: boolean
}

const root = resolve(import.meta.dirname, '../..')
const compiler = createCompiler(root)
const texts = new Map<string, string>()
const textOf = (file: string) => {
  const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8')
  texts.set(file, text)
  return text
}
const changed = ({ file, start, end }: Mutant, put: string) =>
  textOf(file).slice(0, start) + put + textOf(file).slice(end)

const picked: Tried[] = []
const workers = Array.from({ length: Number(values.jobs) }, () => createWorker(root))
process.once('SIGINT', () => {
  report()
  process.exit(130)
})
process.once('exit', () => {
  for (const worker of workers) worker.stop()
})

const coverage = await measureCoverage(root, folders, workers, text => console.log(text))
await inParallel(workers, pick(Math.ceil(Number(values.count) / values.folder.length)), async (worker, tried) => {
  picked.push(tried)
  const { mutant, put } = tried
  const { file, start, end } = mutant
  const order = { fault: JSON.stringify({ file: file.slice('src/'.length), start, end, put }), changed: file }
  const { files, ms } = coverage.testsFor(mutant)
  if (files.length > 0) tried.noticed = noticedBy(await worker.run({ ...order, files }, 3 * ms + 60_000))
  // The type of a return value may matter in other files.
  if (tried.noticed === null && mutant.kind === 'return nothing')
    tried.noticed = compiler.errorAnywhere(file, changed(mutant, put)) && 'types'
  if (tried.noticed === null && !values['no-scenarios']) {
    const scenarios = scenariosFor(file).map(path => ({ file: path, tests: null }))
    tried.noticed = noticedBy(await worker.run({ ...order, files: scenarios }, 5 * 60_000))
  }
  tried.done = true
  const uncalled = files.length === 0 ? ' (no unit or contract test calls it)' : ''
  if (tried.noticed === null) console.log(`${picked.length}: ${described(tried)}${uncalled}`)
})

report()
process.exit()

function report(): void {
  const all = picked.filter(one => one.done)
  if (values.report) writeFileSync(values.report, JSON.stringify(all, null, 1))
  console.log()
  for (const folder of values.folder)
    score(
      folder,
      all.filter(({ mutant }) => mutant.file.startsWith(`src/${folder}/`)),
    )
  score('all', all)
}

/** Alternates between the folders, so that an interrupted run has covered all of them. */
function* pick(countEach: number): Generator<Tried> {
  const folders = values.folder.map(pickIn)
  for (let count = 0; count < countEach; count++)
    for (const folder of folders) {
      const { value, done } = folder.next()
      if (!done) yield value
    }
}

/** Mutants that compile and are not equivalent, in the order of the seed. */
function* pickIn(folder: string): Generator<Tried> {
  const files = globSync(`src/${folder}/**/*.ts`, { cwd: root, exclude: ['**/*.test.ts', '**/*.fixture.ts'] })
  const chosen = files.filter(file => values.file === undefined || file.includes(values.file)).sort()
  const mutants = chosen.flatMap(file => mutantsOf(file, textOf(file)))
  for (const mutant of sample(mutants, `${values.seed} ${folder}`)) {
    const put = mutant.puts.find(one => compiler.errorIn(mutant.file, changed(mutant, one)) === null)
    if (put === undefined || reasonFor(mutant, put, textOf(mutant.file)) !== null) continue
    yield { mutant, put, noticed: null, done: false }
  }
}

function noticedBy(ran: Ran): string | null {
  return ran.type === 'done' ? ran.noticed : ran.type
}

function described({ mutant: { file, line, kind, was }, put }: Tried): string {
  const short = (text: string) => (text.length > 160 ? `${text.slice(0, 160)} …` : text).replaceAll(/\s*\n\s*/g, ' ')
  return `${file}:${line} ${kind}: ${short(was)} → ${short(put) || 'nothing'}`
}

function score(name: string, tried: readonly Tried[]): void {
  // A mutant that causes a type error in another file does not count.
  const counted = tried.filter(({ noticed }) => noticed !== 'types')
  const noticed = counted.filter(one => one.noticed !== null).length
  const percent = counted.length === 0 ? '-' : `${((100 * noticed) / counted.length).toFixed(1)} %`
  console.log(
    `${name.padEnd(8)} ${String(noticed).padStart(4)} of ${String(counted.length).padStart(4)} noticed  ${percent}`,
  )
}
