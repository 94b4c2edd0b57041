// How long quick commands take: `aetheel status` with and without a running gateway, the help, the version.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Home } from '../test/harness/gateway.ts'
import { type Figure, median, spread, times } from './figures.ts'
import { echo, node, root, withGateway, withHome } from './rig.ts'

const rounds = 15
const budget = 4
/** As bin/aetheel starts it; the baseline Node gets the same flags. */
const flags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1']
const program = join(root, 'bin/aetheel.mjs')

export async function commandLineFigures(): Promise<readonly Figure[]> {
  return withHome(async home => {
    const stopped = await compare(home, {
      'aetheel status, no gateway': ['status'],
      'aetheel --help': ['--help'],
      'aetheel --version': ['--version'],
    })
    const running = await withGateway(home, echo, () =>
      compare(home, { 'aetheel status, running gateway': ['status'] }),
    )
    return [...running, ...stopped]
  })
}

/** Alternating, so that a busy moment of the machine affects all of them. */
async function compare(home: Home, commands: Readonly<Record<string, readonly string[]>>): Promise<readonly Figure[]> {
  const bare: number[] = []
  const took = new Map(Object.keys(commands).map(name => [name, [] as number[]]))
  for (let round = 0; round <= rounds; round++) {
    const nothing = await timed(home, ['-e', '0'])
    // The first round fills the compile cache and does not count.
    if (round > 0) bare.push(nothing)
    for (const [name, args] of Object.entries(commands)) {
      const ms = await timed(home, [program, ...args])
      if (round > 0) took.get(name)?.push(ms)
    }
  }
  return [...took].map(([name, samples]) => {
    const ratio = median(samples) / median(bare)
    return {
      name,
      value: `${spread(samples)} = ${times(ratio)}`,
      baseline: `node -e 0: ${spread(bare)}`,
      budget: `≤ ${budget}×`,
      ok: ratio <= budget,
    }
  })
}

const timed = (home: Home, args: readonly string[]) =>
  new Promise<number>((done, fail) => {
    const began = performance.now()
    const child = spawn(node, [...flags, ...args], {
      cwd: home.dir,
      env: { PATH: process.env.PATH ?? '', HOME: home.dir, CONFIG_DIR: home.configDir },
      stdio: 'ignore',
    })
    child.on('error', fail)
    child.on('exit', () => done(performance.now() - began))
  })
