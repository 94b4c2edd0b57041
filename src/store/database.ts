// The only SQLite database: opened exclusively, migrated, and written in groups so that many writes share one fsync.
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { ChatMemory } from '../base/chat.ts'
import type { Clock } from '../base/time.ts'
import { DatabaseUnusable, inWords, refuseCutFile } from './database-errors.ts'
import { createHealth, type DatabaseTrouble, openWatermark, type Statement, watched } from './database-health.ts'
import { holdLock } from './database-lock.ts'
import { migrate, schemaVersion } from './database-schema.ts'

export interface Database {
  /**
   * Runs in the next group commit. Resolves once it is on disk; rejects alone if `work` throws, and with all others if the commit
   * fails.
   */
  write<T>(work: () => T): Promise<T>
  /** Runs immediately and without fsync: a kill does not undo it, a power failure may. Only for data whose loss causes a repetition. */
  writeLightly<T>(work: () => T): T
  /** The same for data that may be lost: a full disk is not reported to the caller. */
  writeOptionally(work: () => void): void
  prepare(sql: string): Statement
  /** The problem that prevents its use; null: none. */
  trouble(): DatabaseTrouble | null
  /** How many of its newest items are missing because the database is older than when it was last written. */
  readonly lost: number
  /** Call once somebody was notified of the loss; until then every start reports it again. */
  lossReported(): void
  close(): Promise<void>
}

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export function openDatabase(path: string): Database {
  const lock = lockFor(path)
  const db = openFile(path, lock.release)
  const health = createHealth(path, () => db.exec(`PRAGMA user_version = ${schemaVersion}`))
  const newest = db.prepare(`SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'items'), 0) AS id`)
  const watermark = openWatermark(path, () => Number(newest.get()?.id))
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const savepoint = db.prepare('SAVEPOINT job')
  const release = db.prepare('RELEASE job')
  const undo = db.prepare('ROLLBACK TO job')
  let waiting: Job[] = []
  let scheduled = false

  /** A job that throws is rolled back alone; the others in the group are kept. */
  const attempt = (job: Job): (() => void) => {
    savepoint.run()
    try {
      const value = job.work()
      release.run()
      return () => job.resolve(value)
    } catch (error) {
      health.failed(error)
      undo.run()
      release.run()
      return () => job.reject(error)
    }
  }

  const flush = () => {
    scheduled = false
    const jobs = waiting
    waiting = []
    let answers: (() => void)[]
    try {
      health.mustBeUsable()
      begin.run()
      answers = jobs.map(attempt)
      commit.run()
      health.mustBeThere()
      health.wrote()
      watermark.note()
    } catch (error) {
      health.failed(error)
      if (db.isTransaction) rollback.run()
      for (const job of jobs) job.reject(error)
      return
    }
    for (const answer of answers) answer()
  }

  const write = <T>(work: () => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve: value => resolve(value as T), reject })
      if (scheduled) return
      scheduled = true
      // After the sockets of this round have been read: everything that arrived together shares one fsync.
      setImmediate(flush)
    })

  const writeLightly = <T>(work: () => T): T => {
    health.mustBeUndamaged()
    // NORMAL and not OFF: a checkpoint may happen in this commit, and without its syncs a power failure would lose synced events too.
    db.exec('PRAGMA synchronous = NORMAL')
    try {
      return work()
    } finally {
      db.exec('PRAGMA synchronous = FULL')
    }
  }

  return {
    write,
    writeLightly,
    writeOptionally(work) {
      try {
        writeLightly(work)
      } catch {
        // Full disk: the work is repeated after a crash. An error here would fail a delivery that was sent.
      }
    },
    prepare: sql => watched(db.prepare(sql), health.failed),
    trouble: health.trouble,
    lost: watermark.lost,
    lossReported: watermark.lossReported,
    async close() {
      // The callers of pending writes were already notified that they failed.
      await write(() => undefined).catch(() => undefined)
      watermark.close()
      health.closing(() => db.close())
      lock.release()
    },
  }
}

function lockFor(path: string): { release(): void } {
  try {
    return holdLock(path)
  } catch (error) {
    throw inWords(error, path)
  }
}

function openFile(path: string, release: () => void): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    refuseCutFile(path)
    // SQLite would make it readable for everybody; the files that SQLite creates beside it get the same permissions.
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600))
    db = new DatabaseSync(path, { timeout: 0 })
    db.exec(
      'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY',
    )
    migrate(db, path)
    return db
  } catch (error) {
    db?.close()
    release()
    throw error instanceof DatabaseUnusable ? error : inWords(error, path)
  }
}

// What a chat needs after a restart: its position, and what it has open there.

export interface ChatStates {
  of(chat: string): ChatMemory
  /** Deletes entries not touched since then. Entries without a colon in their name concern the chat as a whole and stay. */
  forgetBefore(cutoff: number): Promise<void>
}

export function createChatStates(db: Database, clock: Clock): ChatStates {
  const get = db.prepare('SELECT value FROM chat_state WHERE chat = ? AND name = ?')
  const put = db.prepare(
    `INSERT INTO chat_state (chat, name, value, updated_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (chat, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )
  const remove = db.prepare('DELETE FROM chat_state WHERE chat = ? AND name = ?')
  const list = db.prepare(
    'SELECT name, value FROM chat_state WHERE chat = ? AND name >= ? AND name < ? ORDER BY updated_at DESC',
  )
  const sweep = db.prepare(`DELETE FROM chat_state WHERE updated_at < ? AND name LIKE '%:%'`)
  return {
    of: chat => ({
      get: name => (get.get(chat, name) as { value: string } | undefined)?.value ?? null,
      put: (name, value) =>
        db.writeOptionally(() => (value === null ? remove.run(chat, name) : put.run(chat, name, value, clock.now()))),
      list: prefix =>
        (list.all(chat, prefix, `${prefix}\u{10ffff}`) as { name: string; value: string }[]).map(row => ({ ...row })),
    }),
    forgetBefore: async cutoff => void (await db.write(() => sweep.run(cutoff))),
  }
}

// Writes that may be lost: after this round of the event loop, all in one transaction. The caller is on the path from a person to an agent and
// must not wait.

export interface OptionalWrites {
  later(write: () => void): void
  /** Writes what is pending now, so that it can be read. */
  settle(): void
  /** Calls the listener when writes are lost. */
  onLoss(listener: () => void): void
}

export function createOptionalWrites(db: Database): OptionalWrites {
  const open = db.prepare('BEGIN')
  const close = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const listeners: (() => void)[] = []
  let pending: (() => void)[] = []

  const settle = () => {
    const writes = pending
    pending = []
    if (writes.length === 0) return
    db.writeOptionally(() => {
      open.run()
      try {
        for (const write of writes) write()
        close.run()
      } catch (error) {
        for (const listener of listeners) listener()
        rollback.run()
        throw error
      }
    })
  }

  return {
    settle,
    later(write) {
      if (pending.length === 0) setImmediate(settle)
      pending.push(write)
    },
    onLoss: listener => void listeners.push(listener),
  }
}
