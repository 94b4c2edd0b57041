// Mutants that no test can notice, because the program does the same with them, each with the reason.
import type { Mutant } from './mutate.ts'

interface Equivalent {
  readonly file: string
  /** The whole line, without the spaces around it. */
  readonly line: string
  readonly was: string
  readonly put: string
  readonly because: string
}

export const equivalents: readonly Equivalent[] = [
  {
    file: 'src/send/deliveries.ts',
    line: 'const [found] = (end < 0 ? null : atEnd.exec(head.slice(-longest))) ?? []',
    ...{ was: '0', put: '1', because: 'The word does not fit into a single character.' },
  },
  {
    file: 'src/send/deliveries.ts',
    line: 'let at = text.length - 1',
    ...{ was: '-', put: '+', because: 'Behind the end there is nothing, which is in every set of marks.' },
  },
  {
    file: 'src/send/deliveries.ts',
    line: "for (const [, between = ''] of text.matchAll(/\\]\\(([^()\\n]+)\\)/g)) {",
    ...{ was: "''", put: "'x'", because: 'The group is always there; only its type is not sure of it.' },
  },
  {
    file: 'src/clock/jobs.ts',
    line: 'let stale = true',
    ...{
      was: 'true',
      put: 'false',
      because: 'They were never looked at, which is long ago, so they are read all the same.',
    },
  },
  {
    file: 'src/run/models.ts',
    line: "late.addEventListener('abort', child.kill, { once: true })",
    ...{ was: 'true', put: 'false', because: 'A signal aborts once, and the listener is taken off at the end.' },
  },
  {
    file: 'src/store/database-health.ts',
    line: 'if (refused === null || performance.now() - triedAt < tryAgainMs) return refused',
    ...{ was: '<', put: '<=', because: 'Nobody can tell a clock of fractions of a millisecond to stop at the limit.' },
  },
]

/** Why it does not count; null: it does. */
export function reasonFor(mutant: Mutant, put: string, text: string): string | null {
  const line = text.split('\n')[mutant.line - 1]?.trim()
  const found = equivalents.find(
    one => one.file === mutant.file && one.line === line && one.was === mutant.was && one.put === put,
  )
  return found?.because ?? null
}
