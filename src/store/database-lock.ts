// One process per database, even if its file is deleted or replaced: the lock is a separate file beside it.
import { closeSync, openSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Held until it is released or the process ends in any way. Throws SQLite's error if another process holds it. */
export function holdLock(path: string): { release(): void } {
  if (path === ':memory:') return { release: () => undefined }
  // The name does not start like SQLite's own files, so that `rm aetheel.db*` does not remove it.
  const file = join(dirname(path), `.${basename(path)}.lock`)
  makePrivate(file)
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw error
  }
  return { release: () => lock.close() }
}

/** SQLite would make it readable for everybody. If it cannot be created, SQLite reports why. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch {
    // Opening the file reports the problem.
  }
}
