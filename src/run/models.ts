// The models of a CLI that can list them: read when somebody chooses a model, and cached for a while.
import type { ModelCheck } from '../base/agent.ts'
import { startProcess } from './process.ts'

/** What is specific to one CLI. */
export interface ModelList {
  /** Arguments that make it print them. */
  readonly arguments: readonly string[]
  /** The models in its output. */
  read(lines: readonly string[]): readonly string[]
  /** Whether it would accept this model. */
  takes(model: string, list: readonly string[]): boolean
}

interface Program {
  readonly file: string
  readonly env: Readonly<Record<string, string>>
}

const patienceMs = 15_000
const cacheMs = 600_000
const mostLines = 5000

/** The check returns null if the CLI did not list its models. */
export function createModels({ arguments: args, read, takes }: ModelList, { file, env }: Program) {
  let cached: {
    readonly until: number
    readonly dir: string
    readonly list: Promise<readonly string[] | null>
  } | null = null

  async function listModels(cwd: string, signal: AbortSignal): Promise<readonly string[] | null> {
    const child = startProcess({ file, args, env, cwd, input: '' })
    const late = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
    late.addEventListener('abort', child.kill, { once: true })
    if (late.aborted) child.kill()
    const lines: string[] = []
    for await (const line of child.lines) if (lines.length < mostLines) lines.push(line)
    const { code } = await child.end
    late.removeEventListener('abort', child.kill)
    const list = code === 0 ? read(lines) : []
    return list.length > 0 ? list : null
  }

  return async (model: string, dir: string, signal: AbortSignal): Promise<ModelCheck | null> => {
    if (cached === null || cached.dir !== dir || cached.until < performance.now()) {
      cached = { until: performance.now() + cacheMs, dir, list: listModels(dir, signal) }
    }
    const list = await cached.list
    if (list === null) cached = null
    return list && { known: takes(model, list), has: list }
  }
}
