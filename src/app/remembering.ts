// What is remembered beside the queue: who changed which file, what was said, facts, tasks and finds, and the index over all of it.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { MemoryLog, MemorySearch } from '../base/memory.ts'
import type { Signal, Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import {
  type Database,
  type Interrupted,
  openArchive,
  openBrain,
  openChanges,
  openContent,
  openKeeper,
  openMemorySearch,
  openTasks,
} from '../store/index.ts'
import { showProblems } from './config.ts'
import { stateDir } from './folder.ts'
import type { LiveConfig } from './live.ts'

export interface RememberingParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly tell: Tell
  scrub(text: string): string
  /** Tells the owner something once. */
  notify(key: string, text: string): Promise<void>
}

export function openRemembering({ live, db, clock, tell, scrub, notify }: RememberingParts) {
  const { configDir: dir } = live.current()
  const zone = () => live.current().timezone
  const failed = (file: string) => (error: unknown) => {
    // It names its file itself, as the log does beside it.
    const words = error instanceof Error ? error.message : String(error)
    tell({ type: 'workspace-trouble', file, why: words.startsWith(`${file} `) ? words.slice(file.length + 1) : words })
  }
  const keeper = openKeeper({
    dir,
    changes: openChanges(db, clock),
    clock,
    tell,
    async checkConfig(file, text) {
      const loaded = await live.load({ [file]: text })
      return loaded.ok ? null : showProblems(loaded.problems)
    },
    async configChanged() {
      await live.reload()
    },
    notify({ id, file, person }) {
      const who = person === null ? 'Somebody' : `A guest (${person})`
      const how = `\`/memory approve ${id}\` or \`/memory deny ${id}\``
      void notify(`change:${id}`, `${who} had the agent change ${file}. It waits for you: ${how}.`)
    },
    scrub,
  })
  const archive = openArchive({ db, dir, clock, wall: live.wall, failed: failed('messages') })
  const search = openMemorySearch({ dir, file: join(stateDir(dir), 'search.db'), clock, tell, zone })
  const records = { dir, newId: randomUUID, now: clock.now }
  const brain = openBrain({ ...records, failed: failed('brain.json') })
  const tasks = openTasks({ ...records, failed: failed('tasks.json') })
  const content = openContent({ ...records, failed: failed('content-items.json') })

  return {
    keeper,
    brain,
    tasks,
    content,
    memory: { ...search, ...keeper } satisfies MemorySearch & MemoryLog,
    listen({ type }: Signal): void {
      if (archived.has(type)) archive.nudge()
    },
    begin: (interrupted: readonly Interrupted[]) => keeper.begin(interrupted),
    /** Keeps archive and index up to date until the signal. */
    chores: [archive.run, search.watch] as const,
    async flush() {
      await Promise.all([archive.flush(), brain.flush(), tasks.flush(), content.flush()])
      await search.close()
    },
  }
}

const archived = new Set<Signal['type']>(['turn-ended', 'letter-sent', 'command-answered', 'event-set-aside'])
