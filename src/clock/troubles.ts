// What is wrong with the jobs right now. The same trouble is told once while it lasts.
import type { JobTrouble } from '../base/jobs.ts'
import type { Tell } from '../base/signal.ts'

export interface Troubles {
  /** Everything of that kind that is wrong there now, in place of what was. */
  set(where: string, kind: string, now: readonly JobTrouble[]): void
  /** What was wrong there matters no more. */
  clear(where: string): void
  all(): readonly JobTrouble[]
}

export function openTroubles(tell: Tell): Troubles {
  const lasting = new Map<string, Map<string, readonly JobTrouble[]>>()
  return {
    set(where, kind, now) {
      const there = lasting.get(where) ?? new Map<string, readonly JobTrouble[]>()
      const before = there.get(kind) ?? []
      lasting.set(where, there.set(kind, now))
      for (const trouble of now) {
        if (before.some(one => same(one, trouble))) continue
        const { file, name, why } = trouble
        tell({ type: 'workspace-trouble', file, why: name === '' ? why : `${name}: ${why}` })
      }
    },
    clear: where => void lasting.delete(where),
    all: () => [...lasting.values()].flatMap(there => [...there.values()].flat()),
  }
}

const same = (a: JobTrouble, b: JobTrouble): boolean => a.file === b.file && a.name === b.name && a.why === b.why
