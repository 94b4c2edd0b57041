// The current problems with jobs. Each is reported once while it lasts.
import type { JobTrouble } from '../base/jobs.ts'
import type { Emit } from '../base/signal.ts'

export interface Troubles {
  /** Replaces the problems of that kind there. */
  set(where: string, kind: string, now: readonly JobTrouble[]): void
  /** Drops all problems there. */
  clear(where: string): void
  all(): readonly JobTrouble[]
}

export function createTroubles(emit: Emit): Troubles {
  const lasting = new Map<string, Map<string, readonly JobTrouble[]>>()
  return {
    set(where, kind, now) {
      const there = lasting.get(where) ?? new Map<string, readonly JobTrouble[]>()
      const before = new Set((there.get(kind) ?? []).map(wordsOf))
      lasting.set(where, there.set(kind, now))
      for (const trouble of now) {
        if (before.has(wordsOf(trouble))) continue
        const { file, name, why } = trouble
        emit({ type: 'workspace-trouble', file, why: name === '' ? why : `${name}: ${why}` })
      }
    },
    clear: where => void lasting.delete(where),
    all: () => [...lasting.values()].flatMap(there => [...there.values()].flat()),
  }
}

const wordsOf = ({ file, name, why }: JobTrouble): string => JSON.stringify([file, name, why])
