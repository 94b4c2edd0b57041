// A workspace with a keeper on a real database, and turns that run in it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { MemoryChange } from '../base/memory.ts'
import type { Caller } from '../base/tools.ts'
import { openChanges } from './changes.ts'
import { type Database, openDatabase } from './database.ts'
import { type Interrupted, type Keeper, openKeeper } from './keeping.ts'

export interface Stage {
  readonly dir: string
  readonly keeper: Keeper
  readonly told: string[]
  readonly waits: MemoryChange[]
  readonly reloads: () => number
  /** What another thing of the same process does while the keeper waits for a file to be steady. */
  meanwhile: () => void
  db: Database
  text(file?: string): string | null
  write(file: string, text: string): void
  /** As after a kill: nothing is closed in order but the database, which must be free. */
  restart(interrupted?: readonly Interrupted[]): Promise<Stage>
}

const message = (owner: boolean, person: string, lane: string): NewEvent => ({
  ...{ key: `${lane}:${person}`, lane, replyTo: null, source: 'webchat' },
  what: { kind: 'message', id: 'm', text: 'hi', author: { id: person, name: person, owner } },
})

export const taken = (id: number, item: NewEvent, earlier: Taken<NewEvent>['earlier'] = []): Taken<NewEvent> => ({
  ...{ id, lane: item.lane, key: item.key, item, at: 1, attempt: 1, retries: 0, interrupted: false, earlier },
})
export const ofOwner = (id = 1, lane = 'webchat:home') => taken(id, message(true, 'ada', lane))
export const ofGuest = (id = 2, lane = 'discord:7') => taken(id, message(false, 'eve', lane))

export const callerOf = ({ id, lane, key, item }: Taken<NewEvent>): Caller => {
  const author = item.what.kind === 'message' ? item.what.author : null
  const behalf = { owner: author?.owner ?? false, person: author?.id ?? null }
  return { event: id, key, lane, place: null, behalf, agent: null }
}

export async function openStage(files: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-keeping-'))
  for (const [file, text] of Object.entries({ 'memory.md': '# Memory\n', ...files }))
    writeFileSync(join(dir, file), text)
  return openIn(dir, [])
}

async function openIn(dir: string, interrupted: readonly Interrupted[]): Promise<Stage> {
  const db = openDatabase(join(dir, 'test.db'))
  const told: string[] = []
  const waits: MemoryChange[] = []
  let now = 1_000_000
  let reloads = 0
  const clock = {
    now: () => now++,
    sleep: async () => stage.meanwhile(),
  }
  const keeper = openKeeper({
    dir,
    changes: openChanges(db, clock),
    clock,
    tell: signal => signal.type === 'workspace-trouble' && told.push(`${signal.file} ${signal.why}`),
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
  })
  const stage: Stage = {
    ...{ dir, keeper, told, waits, db, reloads: () => reloads, meanwhile: () => undefined },
    text(file = 'memory.md') {
      try {
        return readFileSync(join(dir, file), 'utf8')
      } catch {
        return null
      }
    },
    write: (file, text) => writeFileSync(join(dir, file), text),
    async restart(running = []) {
      await db.close()
      return openIn(dir, running)
    },
  }
  await keeper.begin(interrupted)
  return stage
}

export async function closeStage({ dir, db }: Stage): Promise<void> {
  await db.close()
  rmSync(dir, { recursive: true, force: true })
}
