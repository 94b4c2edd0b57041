// Which instructions of boot.md have been carried out. Each text runs only once, ever.
import type { Clock } from '../base/time.ts'
import type { Database } from './database.ts'

export interface BootStore {
  isDone(digest: string): boolean
  done(digest: string): Promise<void>
}

export function createBootStore(db: Database, clock: Clock): BootStore {
  const find = db.prepare('SELECT 1 FROM boots WHERE digest = ?')
  const add = db.prepare('INSERT OR IGNORE INTO boots (digest, at) VALUES (?, ?)')
  return {
    isDone: digest => find.get(digest) !== undefined,
    done: async digest => void (await db.write(() => add.run(digest, clock.now()))),
  }
}
