// The accepted state of the guarded trees: a separate SQLite file with what is needed to restore each entry.
import { closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Entry } from './tree-entries.ts'

export interface BaseEntry extends Omit<Entry, 'changedAt'> {
  readonly hash: string
  /** The content is stored. */
  readonly kept: boolean
  /** It was changed so shortly before it was read that another change may have left the same times. */
  readonly unsure: boolean
}

export interface TreeBase {
  readonly entries: ReadonlyMap<string, BaseEntry>
  /** The stored bytes of all files. */
  bytes(): number
  content(path: string): Buffer | null
  /** Without content: what is stored stays. */
  put(path: string, entry: BaseEntry, content?: Uint8Array | null): void
  drop(path: string): void
  /** Several changes in one transaction. */
  begin(): void
  commit(): void
  /** A guest's turn is running that these entries guard against. */
  isActive(): boolean
  setActive(active: boolean): void
  close(): void
}

/** Change this number to discard the files of earlier versions. */
const version = 1
const schema = `
  CREATE TABLE entries (path TEXT PRIMARY KEY, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL, sign TEXT NOT NULL,
    target TEXT NOT NULL, hash TEXT NOT NULL, unsure INTEGER NOT NULL, content BLOB) STRICT;
  CREATE TABLE active (yes INTEGER NOT NULL) STRICT;
  PRAGMA user_version = ${version};`

type Row = Omit<BaseEntry, 'kept' | 'unsure'> & { path: string; kept: number; unsure: number; length: number }

export function openTreeBase(file: string): TreeBase {
  const db = openOrReplace(file)
  const sql = {
    all: db.prepare(
      'SELECT path, kind, mode, size, sign, target, hash, unsure, content IS NOT NULL AS kept, coalesce(length(content), 0) AS length FROM entries',
    ),
    put: db.prepare(
      `INSERT INTO entries (path, kind, mode, size, sign, target, hash, unsure, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (path) DO UPDATE SET kind = excluded.kind, mode = excluded.mode, size = excluded.size, sign = excluded.sign,
         target = excluded.target, hash = excluded.hash, unsure = excluded.unsure, content = excluded.content`,
    ),
    update: db.prepare('UPDATE entries SET mode = ?, sign = ?, unsure = ? WHERE path = ?'),
    drop: db.prepare('DELETE FROM entries WHERE path = ?'),
    content: db.prepare('SELECT content FROM entries WHERE path = ?'),
    active: db.prepare('SELECT yes FROM active'),
    noneActive: db.prepare('DELETE FROM active'),
    setActive: db.prepare('INSERT INTO active (yes) VALUES (1)'),
  }
  const entries = new Map<string, BaseEntry>()
  let bytes = 0
  for (const { path, kept, unsure, length, ...entry } of sql.all.all() as unknown as Row[]) {
    entries.set(path, { ...entry, kept: kept === 1, unsure: unsure === 1 })
    bytes += length
  }
  const lengthOf = (path: string) => {
    const entry = entries.get(path)
    return entry?.kept ? entry.size : 0
  }
  return {
    entries,
    bytes: () => bytes,
    content(path) {
      const content = sql.content.get(path)?.content
      return content instanceof Uint8Array ? Buffer.from(content) : null
    },
    put(path, entry, content) {
      const { kind, mode, size, sign, target, hash, unsure } = entry
      if (content === undefined) sql.update.run(mode, sign, unsure ? 1 : 0, path)
      else {
        bytes += (content?.length ?? 0) - lengthOf(path)
        sql.put.run(path, kind, mode, size, sign, target, hash, unsure ? 1 : 0, content)
      }
      entries.set(path, entry)
    },
    drop(path) {
      bytes -= lengthOf(path)
      sql.drop.run(path)
      entries.delete(path)
    },
    begin: () => db.exec('BEGIN'),
    commit: () => db.exec('COMMIT'),
    isActive: () => sql.active.get() !== undefined,
    setActive(active) {
      sql.noneActive.run()
      if (active) sql.setActive.run()
    },
    close: () => db.close(),
  }
}

/** A damaged file only means that there is nothing to compare with. */
function openOrReplace(file: string): DatabaseSync {
  try {
    return openFile(file)
  } catch {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    return openFile(file)
  }
}

function openFile(file: string): DatabaseSync {
  // SQLite would make it readable for everybody.
  closeSync(openSync(file, 'a', 0o600))
  const db = new DatabaseSync(file)
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    const { user_version: found } = db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (found === 0) db.exec(schema)
    else if (found !== version) throw new Error('of another version')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
