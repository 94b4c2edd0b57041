// Each real CLI, cold and warm, alone and through the gateway, with a model that answers immediately.
import type { Dialect } from '../src/run/cli.ts'
import { dialects, killEverything } from '../src/run/index.ts'
import { clis } from '../test/cli/install.ts'
import { type Cold, measureCold } from './backends-cold.ts'
import { install, type Name, setStage, withModel } from './backends-stage.ts'
import { measureWarm, type Warmth } from './backends-warm.ts'
import { median, ms, spread, times, whole } from './figures.ts'
import { withHome } from './rig.ts'

const budget = { addedMs: 5, ratio: 1.2 }

/** A row of the table; `ok` null: it could not be measured. */
export interface BackendFigure {
  readonly cells: readonly string[]
  readonly ok: boolean | null
}

export const backendHeadings = [
  'backend',
  'alone, cold',
  'through the gateway, cold',
  `added (≤ ${budget.addedMs} ms)`,
  'its own warm turn',
  'through the gateway, warm',
  `ratio (≤ ${budget.ratio}×)`,
  'pool with 3 conversations',
  'kept',
]

export async function backendFigures(): Promise<readonly BackendFigure[]> {
  // An interrupted benchmark ends what it has started.
  process.on('exit', killEverything)
  const rows: BackendFigure[] = []
  for (const name of [...clis, 'claude-sdk'] as const) rows.push(await rowOf(name))
  return rows
}

async function rowOf(name: Name): Promise<BackendFigure> {
  process.stderr.write(`  ${name} …\n`)
  const installed = install(name)
  if ('why' in installed) return notRun(name, installed.why)
  try {
    return await withHome(home =>
      withModel(home.dir, async model => {
        const dialect = dialects.find(one => one.name === name) ?? null
        const stage = await setStage(name, installed, home, model)
        const cold = await measureCold(stage, dialect, dialect ?? saysItLike('claude'))
        const warm = dialect?.warm === null ? null : await measureWarm(stage, dialect)
        return row(name, cold, warm, stage.config.views.warm)
      }),
    )
  } catch (error) {
    return notRun(name, error instanceof Error ? error.message : String(error))
  }
}

function saysItLike(name: string): Dialect {
  const found = dialects.find(one => one.name === name)
  if (!found) throw new Error(`there is no dialect ${name}`)
  return found
}

function row(
  name: Name,
  cold: Cold,
  warm: Warmth | null,
  rules: { readonly most: number; readonly memoryBytes: number } | null,
): BackendFigure {
  const added = median(cold.added)
  const beginning = [name, spread(cold.alone), spread(cold.through), `${ms(added)} (${cold.added.length})`]
  if (!warm || !rules) return { cells: [...beginning, 'does not stay up', '', '', ''], ok: added <= budget.addedMs }
  const ratio = median(warm.through) / median(warm.own)
  const { processes, megabytes } = warm.pool
  const room = rules.memoryBytes / 2 ** 20
  return {
    cells: [
      ...beginning,
      `${spread(warm.own)}`,
      `${spread(warm.through)}`,
      `${times(ratio)} (${warm.through.length})`,
      `${processes} of ${rules.most}, ${whole(megabytes)} of ${whole(room)} MB`,
    ],
    ok: added <= budget.addedMs && ratio <= budget.ratio && processes <= rules.most && megabytes <= room,
  }
}

function notRun(name: Name, why: string): BackendFigure {
  process.stderr.write(`NOT RUN: ${name}: ${why}\n`)
  return { cells: [name, 'not measured', '', '', '', '', '', ''], ok: null }
}
