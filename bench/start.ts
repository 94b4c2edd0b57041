// How long the gateway takes to start, from the clone and as one bundle, compared with a Node that does nothing.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'rolldown'
import { type Figure, median, spread, times } from './figures.ts'
import { echo, launch, node, root, withHome } from './rig.ts'

const rounds = 12
const budget = 8

export async function startFigures(): Promise<readonly Figure[]> {
  return withHome(home =>
    withBundle(async bundle => {
      const ways = {
        bare: bareNode,
        clone: () => startOnce(),
        bundle: () => startOnce([node, '--disable-warning=ExperimentalWarning', bundle]),
      }
      const startOnce = async (command?: readonly [string, ...string[]]) => {
        const gateway = await launch(home, echo, command)
        await gateway.stop()
        return gateway.startMs
      }
      const samples = { bare: [] as number[], clone: [] as number[], bundle: [] as number[] }
      // The first round fills the compile cache and does not count.
      for (let round = 0; round <= rounds; round++)
        for (const way of ['bare', 'clone', 'bundle'] as const) {
          const took = await ways[way]()
          if (round > 0) samples[way].push(took)
        }
      const ratio = (way: 'clone' | 'bundle') => median(samples[way]) / median(samples.bare)
      const baseline = `node -e 0: ${spread(samples.bare)}`
      return [
        {
          name: 'start to /healthz 200, from the clone',
          value: `${spread(samples.clone)} = ${times(ratio('clone'))}`,
          baseline,
          budget: `≤ ${budget}×`,
          ok: ratio('clone') <= budget,
        },
        {
          name: 'start to /healthz 200, bundled',
          value: `${spread(samples.bundle)} = ${times(ratio('bundle'))}`,
          baseline,
          budget: '',
          ok: null,
        },
      ]
    }),
  )
}

const bareNode = () =>
  new Promise<number>((done, fail) => {
    const began = performance.now()
    const child = spawn(node, ['-e', '0'], { stdio: 'ignore' })
    child.on('error', fail)
    child.on('exit', () => done(performance.now() - began))
  })

/** Below node_modules, so that the program finds its package.json and pages. Packages are bundled too. */
async function withBundle<T>(use: (file: string) => Promise<T>): Promise<T> {
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const dir = await mkdtemp(join(cache, 'aetheel-bench-'))
  try {
    await build({
      input: join(root, 'src/main.ts'),
      platform: 'node',
      logLevel: 'silent',
      output: { dir, format: 'esm', minify: true, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
    })
    return await use(join(dir, 'main.mjs'))
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
