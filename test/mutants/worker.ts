// One process that runs tests, again and again, each time with another mutant in the code. Runs in the sandbox.
import { join, relative } from 'node:path'
import { createVitest, type TestSpecification } from 'vitest/node'
import base from '../../vitest.config.ts'
import { withFault } from '../crash/faults.ts'
import { withProbes } from './mutate.ts'

/** Tests to run, by their ids in a file; null: all of the file. */
export interface Order {
  readonly files: readonly { file: string; tests: readonly string[] | null }[]
  /** As AETHEEL_TEST_FAULT has it; null: the code as it is. */
  readonly fault: string | null
  /** Where it is. */
  readonly changed: string | null
}

export interface Measured {
  readonly id: string
  readonly ms: number
  readonly calls: readonly string[]
}

export type Report =
  | { type: 'ready' }
  /** The test that failed first; null: none did. */
  | { type: 'done'; noticed: string | null; measured: Record<string, readonly Measured[]> }

/** In the requested order: fastest first. */
class AsGiven {
  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files
  }
  async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files
  }
}

const root = join(import.meta.dirname, '../..')
const mutated = /\/src\/(lanes|store|run|intake|send|clock|tools)\/(?!.*\.(test|fixture)\.ts$).*\.ts$/
let order: Order = { files: [], fault: null, changed: null }

const { exclude: _, sequence: __, ...options } = base.test ?? {}

const vitest = await createVitest(
  'test',
  {
    ...options,
    root,
    config: false,
    watch: false,
    exclude: ['node_modules/**'],
    setupFiles: [join(import.meta.dirname, 'calls.ts')],
    reporters: [{}],
    maxWorkers: 2,
    fsModuleCache: false,
    testTimeout: 15_000,
    sequence: { sequencer: AsGiven },
  },
  {
    plugins: [
      {
        name: 'mutant',
        enforce: 'pre',
        transform(code: string, id: string) {
          const [path = id] = id.split('?')
          if (order.fault !== null) return withFault(order.fault, path, code)
          return mutated.test(path) ? withProbes(relative(root, path), code) : undefined
        },
      },
    ],
  },
)
await vitest.standalone()

// As the first process of its namespace, it takes all others with it.
process.on('disconnect', () => process.exit())
process.on('message', (next: Order) => void run(next))
send({ type: 'ready' })

async function run(next: Order): Promise<void> {
  const touched = [order.changed, next.changed].filter(file => file !== null)
  order = next
  for (const file of touched) vitest.invalidateFile(join(root, file))
  if (next.fault === null) {
    delete process.env.AETHEEL_TEST_FAULT
    vitest.config.bail = 0
  } else {
    process.env.AETHEEL_TEST_FAULT = next.fault
    vitest.config.bail = 1
  }
  // What failed before does not count.
  vitest.state.idMap.clear()
  vitest.state.filesMap.clear()
  const [project] = vitest.projects
  const specifications = next.files.map(({ file, tests }) =>
    project!.createSpecification(join(root, file), tests === null ? undefined : { testIds: [...tests] }),
  )
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  let noticed: string | null = unhandledErrors.length > 0 ? 'unhandled error' : null
  const measured: Record<string, Measured[]> = {}
  for (const module of testModules) {
    const file = relative(root, module.moduleId)
    if (module.errors().length > 0) noticed ??= `${file} does not load`
    const tests = [...module.children.allTests()]
    for (const one of tests) if (one.result().state === 'failed') noticed = `${file}: ${one.fullName}`
    if (next.fault !== null || module.state() !== 'passed') continue
    const passed = tests.filter(one => one.result().state === 'passed')
    measured[file] = passed.map(one => ({
      id: one.id,
      ms: one.diagnostic()?.duration ?? 0,
      calls: (one.meta() as { calls?: string[] }).calls ?? [],
    }))
  }
  send({ type: 'done', noticed, measured })
}

function send(report: Report): void {
  process.send?.(report)
}
