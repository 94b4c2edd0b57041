// What is stored outside the queue: file changes and their authors, the message archive, facts, tasks and content items, and the search index.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import { mask } from '../../base/scrub.ts'
import type { Emit, Signal } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import { errorText } from '../../base/unknown.ts'
import { type LiveConfig, showProblems } from '../../config/index.ts'
import { changeNotice } from '../../send/index.ts'
import {
  createArchive,
  createBrain,
  createChanges,
  createContent,
  createFileGuard,
  createTasks,
  type Database,
  type Killed,
  openMemorySearch,
  type Surroundings,
} from '../../store/index.ts'
import { stateDir } from '../state-folder.ts'
import { widens } from './power.ts'

export interface MemoryWiringParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly emit: Emit
  scrub(text: string): string
  hide(text: string): string
  readonly around: Surroundings
  /** Notifies the owner, once per key. */
  notify(key: string, text: string): Promise<void>
}

export function createMemoryWiring({ live, db, clock, emit, scrub, hide, around, notify }: MemoryWiringParts) {
  const { configDir: dir } = live.current()
  const zone = () => live.current().timezone
  const failed = (file: string) => (error: unknown) => {
    // The message names the file itself; the log has it in its own field.
    const words = errorText(error)
    emit({ type: 'workspace-trouble', file, why: words.startsWith(`${file} `) ? words.slice(file.length + 1) : words })
  }
  const changes = createChanges(db, clock, { hide, mask })
  const fileGuard = createFileGuard({
    dir,
    changes,
    clock,
    emit,
    async checkConfig(file, text) {
      const loaded = await live.load({ [file]: text })
      return loaded.ok ? null : showProblems(loaded.problems)
    },
    async configChanged() {
      await live.reload()
      await changes.redact()
    },
    notify: change => void notify(`change:${change.id}`, changeNotice(change)),
    scrub,
    around,
    widens,
  })
  const archive = createArchive({ db, dir, clock, wall: live.wall, failed: failed('messages') })
  const search = openMemorySearch({ dir, file: join(stateDir(dir), 'search.db'), clock, emit, zone })
  const records = { dir, newId: randomUUID, now: clock.now, guard: fileGuard.tree }
  const brain = createBrain({ ...records, failed: failed('brain.json') })
  const tasks = createTasks({ ...records, failed: failed('tasks.json') })
  const content = createContent({ ...records, failed: failed('content-items.json') })

  return {
    fileGuard,
    brain,
    tasks,
    content,
    /** What the owner sees on the Memory page and with `aetheel memory`. Approving and undoing changes is the file guard's part. */
    memory: { ...search, ...fileGuard } satisfies MemorySearch & MemoryLog,
    /** Archives what has ended, soon. */
    archive: archive.nudge,
    async begin(killed: readonly Killed[], survived: boolean) {
      await fileGuard.begin(killed, survived)
      await changes.redact()
    },
    /** Keep the archive and the index up to date until the signal. */
    chores: [archive.run, search.watch] as const,
    async flush() {
      await Promise.all([archive.flush(), brain.flush(), tasks.flush(), content.flush()])
      await search.close()
      fileGuard.tree.close()
    },
  }
}

/** After these signals something has ended that belongs in the archive. */
export const archivedAfter = new Set<Signal['type']>([
  'turn-ended',
  'delivery-sent',
  'command-answered',
  'event-set-aside',
])
