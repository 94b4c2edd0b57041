// The one SQLite file: opened exclusively, migrated, and written in groups so that many commits cost one fsync.
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

export interface Database {
  /** Runs in the next group commit. Resolves once it is on disk; rejects alone if `work` throws, with all if the commit fails. */
  write<T>(work: () => T): Promise<T>
  /** Runs at once and without fsync: a kill does not undo it, a power cut may. For what only saves a repetition. */
  writeLightly<T>(work: () => T): T
  /** The same for marks that may be lost: a full disk is not the caller's trouble. */
  mark(work: () => void): void
  prepare(sql: string): StatementSync
  close(): Promise<void>
}

/** Why the file could not be opened, in words for the owner. */
export class DatabaseUnusable extends Error {
  readonly kind: 'locked' | 'damaged' | 'newer' | 'unwritable'
  constructor(kind: DatabaseUnusable['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseUnusable'
    this.kind = kind
  }
}

/** Each is run once, in this order; new ones are added at the end. */
export const migrations: readonly string[] = [
  `CREATE TABLE items (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     box TEXT NOT NULL,
     lane TEXT NOT NULL,
     key TEXT NOT NULL,
     state TEXT NOT NULL,
     body TEXT NOT NULL,
     at INTEGER NOT NULL,
     not_before INTEGER NOT NULL DEFAULT 0,
     attempts INTEGER NOT NULL DEFAULT 0,
     retries INTEGER NOT NULL DEFAULT 0,
     interrupted INTEGER NOT NULL DEFAULT 0,
     sent INTEGER NOT NULL DEFAULT 0,
     ended_at INTEGER,
     why TEXT,
     UNIQUE (box, key)
   ) STRICT;
   CREATE INDEX items_open ON items (box, id) WHERE state IN ('waiting', 'running');
   CREATE INDEX items_of_lane ON items (lane, id);
   CREATE TABLE counts (box TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (box, name)) STRICT, WITHOUT ROWID;
   CREATE TABLE sessions (
     lane TEXT PRIMARY KEY,
     backend TEXT NOT NULL,
     session TEXT NOT NULL,
     confirmed INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  // A conversation may go on with several backends in turn, each in a session of its own.
  `ALTER TABLE sessions RENAME TO sessions_1;
   CREATE TABLE sessions (
     lane TEXT NOT NULL,
     backend TEXT NOT NULL,
     session TEXT NOT NULL,
     confirmed INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     through INTEGER NOT NULL DEFAULT 0,
     totals TEXT,
     PRIMARY KEY (lane, backend)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO sessions (lane, backend, session, confirmed, updated_at, through)
     SELECT lane, backend, session, confirmed, updated_at,
       (SELECT coalesce(max(id), 0) FROM items WHERE items.lane = sessions_1.lane AND box = 'in' AND state = 'done')
     FROM sessions_1;
   DROP TABLE sessions_1;
   CREATE TABLE conversations (
     lane TEXT PRIMARY KEY,
     backend TEXT,
     model TEXT,
     fresh_from INTEGER NOT NULL DEFAULT 0,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE turns (
     id INTEGER PRIMARY KEY,
     event INTEGER NOT NULL,
     at INTEGER NOT NULL,
     lane TEXT NOT NULL,
     source TEXT NOT NULL,
     kind TEXT NOT NULL,
     person TEXT,
     backend TEXT NOT NULL,
     model TEXT,
     ms INTEGER NOT NULL,
     first_word_ms INTEGER,
     input_tokens INTEGER,
     output_tokens INTEGER,
     cost_usd REAL,
     ok INTEGER NOT NULL,
     why TEXT
   ) STRICT;
   CREATE INDEX turns_by_time ON turns (at);`,
  // Who may speak: what was decided about people, and the codes of those who ask.
  `CREATE TABLE people (
     chat TEXT NOT NULL,
     user TEXT NOT NULL,
     name TEXT NOT NULL,
     decision TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (chat, user)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE pairing_codes (
     code TEXT PRIMARY KEY,
     chat TEXT NOT NULL,
     user TEXT NOT NULL,
     name TEXT NOT NULL,
     place TEXT NOT NULL,
     at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX pairing_codes_of_person ON pairing_codes (user, chat);`,
  // What a chat must know after a restart.
  `CREATE TABLE chat_state (
     chat TEXT NOT NULL,
     name TEXT NOT NULL,
     value TEXT NOT NULL,
     updated_at INTEGER NOT NULL,
     PRIMARY KEY (chat, name)
   ) STRICT, WITHOUT ROWID;`,
  // Which due times of a job were dealt with.
  `CREATE TABLE job_marks (
     kind TEXT NOT NULL,
     name TEXT NOT NULL,
     schedule TEXT NOT NULL,
     since INTEGER NOT NULL,
     due INTEGER,
     fired INTEGER,
     checked TEXT,
     PRIMARY KEY (kind, name)
   ) STRICT, WITHOUT ROWID;`,
  // Sub-agents, whose work is in `items`, and what they tell each other.
  `CREATE TABLE subagents (
     n INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     key TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     instruction TEXT NOT NULL,
     parent TEXT NOT NULL,
     place TEXT,
     root TEXT NOT NULL,
     depth INTEGER NOT NULL,
     owner INTEGER NOT NULL,
     person TEXT,
     model TEXT,
     at INTEGER NOT NULL,
     entered INTEGER NOT NULL DEFAULT 0,
     stopping INTEGER
   ) STRICT;
   CREATE INDEX subagents_of_root ON subagents (root, n);
   CREATE TABLE posts (
     id INTEGER PRIMARY KEY,
     channel TEXT NOT NULL,
     at INTEGER NOT NULL,
     sender TEXT NOT NULL,
     text TEXT NOT NULL
   ) STRICT;
   CREATE INDEX posts_of_channel ON posts (channel, id);`,
  // Who changed the files that say who the agent is; and what stood in them last, for what changes while nobody looks.
  `CREATE TABLE changes (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at INTEGER NOT NULL,
     file TEXT NOT NULL,
     events TEXT NOT NULL,
     lane TEXT,
     person TEXT,
     owner INTEGER NOT NULL,
     state TEXT NOT NULL,
     before TEXT,
     before_hash TEXT NOT NULL,
     after TEXT,
     after_hash TEXT NOT NULL,
     aside TEXT
   ) STRICT;
   CREATE INDEX changes_by_state ON changes (state, id);
   CREATE TABLE kept_files (file TEXT PRIMARY KEY, text TEXT, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
  // What is still to be written to the archive files. What ended before counts as archived, without a row being touched.
  `ALTER TABLE items ADD COLUMN archived INTEGER NOT NULL DEFAULT 1;
   UPDATE items SET archived = 0 WHERE state IN ('waiting', 'running');
   CREATE INDEX items_to_archive ON items (id) WHERE archived = 0 AND (box = 'out' OR state NOT IN ('waiting', 'running'));
   CREATE TABLE archive_intent (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL) STRICT;`,
  // How an event went, step by step, and the words that its agent was given; gone with the event.
  `CREATE TABLE steps (
     id INTEGER PRIMARY KEY,
     event INTEGER NOT NULL,
     at INTEGER NOT NULL,
     what TEXT NOT NULL,
     detail TEXT NOT NULL
   ) STRICT;
   CREATE INDEX steps_of_event ON steps (event);
   CREATE TABLE prompts (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     event INTEGER NOT NULL,
     at INTEGER NOT NULL,
     backend TEXT NOT NULL,
     model TEXT,
     prompt TEXT NOT NULL,
     system INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE system_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL) STRICT;
   CREATE INDEX prompts_of_event ON prompts (event);
   CREATE INDEX turns_of_event ON turns (event);
   CREATE TRIGGER items_forgotten AFTER DELETE ON items BEGIN
     DELETE FROM steps WHERE event = old.id;
     DELETE FROM prompts WHERE event = old.id;
   END;`,
  // Files attached in WebChat, and the key of the event that each belongs to.
  `CREATE TABLE uploads (
     id TEXT PRIMARY KEY,
     conversation TEXT NOT NULL,
     name TEXT NOT NULL,
     type TEXT NOT NULL,
     bytes INTEGER NOT NULL,
     at INTEGER NOT NULL,
     event TEXT
   ) STRICT, WITHOUT ROWID;`,
]

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export function openDatabase(path: string): Database {
  refuseCutFile(path)
  const db = openFile(path)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const mark = db.prepare('SAVEPOINT job')
  const keep = db.prepare('RELEASE job')
  const undo = db.prepare('ROLLBACK TO job')
  let waiting: Job[] = []
  let scheduled = false

  /** One job that throws is undone alone; the others of the group are kept. */
  const attempt = (job: Job): (() => void) => {
    mark.run()
    try {
      const value = job.work()
      keep.run()
      return () => job.resolve(value)
    } catch (error) {
      undo.run()
      keep.run()
      return () => job.reject(error)
    }
  }

  const flush = () => {
    scheduled = false
    const jobs = waiting
    waiting = []
    let answers: (() => void)[]
    try {
      begin.run()
      answers = jobs.map(attempt)
      commit.run()
    } catch (error) {
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
      // After the sockets of this round have been read: everything that came in together shares one fsync.
      setImmediate(flush)
    })

  const writeLightly = <T>(work: () => T): T => {
    // NORMAL and not OFF: a checkpoint may fall into this commit, and without its syncs a power cut would take synced events along.
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
    mark(work) {
      try {
        writeLightly(work)
      } catch {
        // A full disk: what it would have saved is repeated after a crash. Thrown, it would fail a letter that was sent.
      }
    },
    prepare: sql => db.prepare(sql),
    async close() {
      await write(() => undefined)
      db.close()
    },
  }
}

function openFile(path: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    // SQLite would make it readable for everybody; what it makes beside it is as this is.
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600))
    db = new DatabaseSync(path, { timeout: 0 })
    db.exec(
      'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY',
    )
    migrate(db, path)
    return db
  } catch (error) {
    db?.close()
    throw error instanceof DatabaseUnusable ? error : inWords(error, path)
  }
}

function migrate(db: DatabaseSync, path: string): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > migrations.length)
    throw new DatabaseUnusable(
      'newer',
      `${path} was written by a newer version of Aetheel. Update Aetheel, or use another folder.`,
    )
  // Also takes the exclusive lock, so that a second gateway is refused here and not at its first message.
  db.exec('BEGIN IMMEDIATE')
  for (const sql of migrations.slice(version)) db.exec(sql)
  // Only when it changes: a file that turns out to be damaged must be found as it was.
  if (version < migrations.length) db.exec(`PRAGMA user_version = ${migrations.length}`)
  db.exec('COMMIT')
}

/** What SQLite says about the file, in words for the owner; anything else as it came. */
export function inWords(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error
  const code = 'errcode' in error ? Number(error.errcode) & 0xff : 0
  const options = { cause: error }
  switch (code) {
    case 5: // SQLITE_BUSY
    case 6: // SQLITE_LOCKED
      return new DatabaseUnusable('locked', `${path} is in use by another gateway.`, options)
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return damaged(path, options)
    case 8: // SQLITE_READONLY
    case 10: // SQLITE_IOERR
    case 13: // SQLITE_FULL
    case 14: // SQLITE_CANTOPEN
      return new DatabaseUnusable(
        'unwritable',
        `${path} cannot be written (${error.message}). Check free space and permissions of its folder.`,
        options,
      )
    default:
      return error
  }
}

const damaged = (path: string, options?: ErrorOptions) =>
  new DatabaseUnusable(
    'damaged',
    `${path} is damaged. Restore it from a backup, or move it (and its -wal file) away to start with an empty queue; nothing was changed.`,
    options,
  )

/** SQLite notices a file that was cut off only when it reads a missing page; the size tells at once. */
function refuseCutFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isFile())
    throw new DatabaseUnusable('damaged', `${path} is not a file. Move it away and start again.`)
  const size = found?.size ?? 0
  if (size === 0 || (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  const header = Buffer.alloc(100)
  const file = openSync(path, 'r')
  try {
    if (readSync(file, header, 0, 100, 0) < 100) throw damaged(path)
  } finally {
    closeSync(file)
  }
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  if (header.readUInt32BE(28) * pageSize > size) throw damaged(path)
}
