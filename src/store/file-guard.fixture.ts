// A workspace with a file guard on a real database, and turns that run in it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { MemoryChange } from '../base/memory.ts'
import type { Caller } from '../base/tools.ts'
import { createChanges } from './changes.ts'
import { type Database, openDatabase } from './database.ts'
import { createFileGuard, type FileGuard, type Killed } from './file-guard.ts'
import type { FileGuardParts } from './file-guard-parts.ts'

/** How long a guest's process may outlive the gateway in these tests. */
export const deadAfterMs = 300

export interface Stage {
  readonly dir: string
  readonly fileGuard: FileGuard
  readonly problems: string[]
  readonly waits: MemoryChange[]
  readonly reloads: () => number
  /** Runs while the file guard waits for a file to be steady. */
  meanwhile: () => void
  db: Database
  text(file?: string): string | null
  write(file: string, text: string): void
  /** As after a kill: only the database is closed properly, because it must be free. */
  restart(killed?: readonly Killed[], survived?: boolean): Promise<Stage>
}

const message = (owner: boolean, person: string, lane: string): NewEvent => ({
  ...{ key: `${lane}:${person}`, lane, replyTo: null, source: 'webchat' },
  what: { kind: 'message', id: 'm', text: 'hi', author: { id: person, name: person, owner } },
})

export const taken = (id: number, item: NewEvent, earlier: Taken<NewEvent>['earlier'] = []): Taken<NewEvent> => ({
  ...{
    id,
    lane: item.lane,
    key: item.key,
    item,
    at: 1,
    attempt: 1,
    retries: 0,
    interrupted: false,
    putOff: false,
    earlier,
  },
})
export const ofOwner = (id = 1, lane = 'webchat:home') => taken(id, message(true, 'ada', lane))
export const ofGuest = (id = 2, lane = 'discord:7') => taken(id, message(false, 'eve', lane))

export const callerOf = ({ id, lane, key, item }: Taken<NewEvent>): Caller => {
  const author = item.what.kind === 'message' ? item.what.author : null
  const principal = { owner: author?.owner ?? false, person: author?.id ?? null, origin: key }
  return { event: id, key, lane, place: null, principal, agent: null }
}

export type StageOptions = Pick<FileGuardParts, 'around' | 'treeLimits'>

export async function openStage(
  files: Readonly<Record<string, string>> = {},
  options: StageOptions = {},
): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-file-guard-'))
  for (const [file, text] of Object.entries({ 'memory.md': '# Memory\n', ...files }))
    writeFileSync(join(dir, file), text)
  return openIn(dir, [], false, options)
}

async function openIn(
  dir: string,
  killed: readonly Killed[],
  survived = false,
  options: StageOptions = {},
): Promise<Stage> {
  mkdirSync(join(dir, '.aetheel'), { recursive: true })
  const db = openDatabase(join(dir, '.aetheel', 'test.db'))
  const problems: string[] = []
  const waits: MemoryChange[] = []
  let now = 1_000_000
  let reloads = 0
  const clock = {
    now: () => now++,
    sleep: async () => stage.meanwhile(),
  }
  const fileGuard = createFileGuard({
    dir,
    changes: createChanges(db, clock),
    clock,
    emit: signal => signal.type === 'workspace-trouble' && problems.push(`${signal.file} ${signal.why}`),
    checkConfig: async (_, text) => {
      try {
        JSON.parse(text)
        return null
      } catch {
        return 'it is not JSON.'
      }
    },
    configChanged: () => void reloads++,
    notify: change => waits.push(change),
    scrub: text => text.replaceAll('hunter22', '…'),
    deadAfterMs,
    ...options,
  })
  const stage: Stage = {
    ...{ dir, fileGuard, problems, waits, db, reloads: () => reloads, meanwhile: () => undefined },
    text(file = 'memory.md') {
      try {
        return readFileSync(join(dir, file), 'utf8')
      } catch {
        return null
      }
    },
    write: (file, text) => writeFileSync(join(dir, file), text),
    async restart(running = [], still = false) {
      fileGuard.tree.close()
      await db.close()
      return openIn(dir, running, still, options)
    },
  }
  await fileGuard.begin(killed, survived)
  return stage
}

export async function closeStage({ dir, db, fileGuard }: Stage): Promise<void> {
  fileGuard.tree.close()
  await db.close()
  rmSync(dir, { recursive: true, force: true })
}
