// The full text index: a SQLite file of its own that can be thrown away and made again at any time.
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { forIndex, forPeople, type Query } from './search-query.ts'
import type { Piece, SourceKind } from './search-texts.ts'

/** Another number throws away what an earlier version made. */
const version = 1

const schema = `
  CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER) STRICT;
  CREATE TABLE pieces (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, hash TEXT NOT NULL, at INTEGER, wall TEXT) STRICT;
  CREATE INDEX pieces_of_file ON pieces (file);
  CREATE VIRTUAL TABLE words USING fts5 (title, body, tokenize = 'unicode61 remove_diacritics 2');
  PRAGMA user_version = ${version};`

/** The id of a piece tells what comes first, so that ranking needs no second table. */
const shelves: Readonly<Record<SourceKind, number>> = { memory: 0, brain: 0, note: 2 ** 40, conversation: 2 ** 41 }

export interface IndexedFile {
  readonly id: number
  readonly path: string
  readonly signature: string
  readonly hash: string
}

export interface Hit {
  readonly path: string
  readonly title: string
  readonly snippet: string
  readonly at: number | null
  readonly wall: string | null
}

export type SearchIndex = ReturnType<typeof openIndex>

/** `:memory:`: it lasts as long as the process. Throws what SQLite says. */
export function openIndex(path: string) {
  const db = openFile(path)
  const sql = {
    files: db.prepare('SELECT id, path, signature, hash FROM files'),
    anyFile: db.prepare('SELECT 1 FROM files LIMIT 1'),
    file: db.prepare('SELECT id, path, signature, hash FROM files WHERE path = ?'),
    addFile: db.prepare(
      `INSERT INTO files (path, signature, hash) VALUES (?, '', '') RETURNING id, path, signature, hash`,
    ),
    setFile: db.prepare('UPDATE files SET signature = ?, hash = ?, at = ? WHERE path = ?'),
    dropFile: db.prepare('DELETE FROM files WHERE id = ?'),
    pieces: db.prepare('SELECT id, hash FROM pieces WHERE file = ?'),
    last: db.prepare('SELECT max(id) AS id FROM pieces WHERE id > ? AND id < ?'),
    addPiece: db.prepare('INSERT INTO pieces (id, file, hash, at, wall) VALUES (?, ?, ?, ?, ?)'),
    dropPiece: db.prepare('DELETE FROM pieces WHERE id = ?'),
    // Node binds every number as a real one, which FTS5 does not take for a rowid: it would use the first row that matches.
    addWords: db.prepare('INSERT INTO words (rowid, title, body) VALUES (CAST(? AS INTEGER), ?, ?)'),
    dropWords: db.prepare('DELETE FROM words WHERE rowid = CAST(? AS INTEGER)'),
    count: db.prepare('SELECT count(*) AS n FROM pieces'),
    // All words match: what is remembered and noted comes before what was only said.
    all: db.prepare(
      `SELECT rowid AS id FROM words WHERE words MATCH ? ORDER BY rowid > ${shelves.conversation},
         bm25(words, 4, 1) * iif(rowid > ${shelves.note}, 1, 2) LIMIT ?`,
    ),
    any: db.prepare(
      `SELECT rowid AS id FROM words WHERE words MATCH ?
       ORDER BY bm25(words, 4, 1) * iif(rowid > ${shelves.conversation}, 1, iif(rowid > ${shelves.note}, 1.5, 2)) LIMIT ?`,
    ),
    hit: db.prepare(
      `SELECT path, title, coalesce(pieces.at, files.at) AS at, wall, snippet(words, 1, '**', '**', '…', 24) AS snippet
       FROM words JOIN pieces ON pieces.id = words.rowid JOIN files ON files.id = pieces.file
       WHERE words MATCH ? AND words.rowid = CAST(? AS INTEGER)`,
    ),
  }

  const together = <T>(work: () => T): T => {
    db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      db.exec('COMMIT')
      return result
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  const drop = (id: number) => {
    sql.dropPiece.run(id)
    sql.dropWords.run(id)
  }

  return {
    /** Whether it is still the file that others would open. */
    isCurrent: (): boolean => path === ':memory:' || statSync(path, { throwIfNoEntry: false })?.ino === db.ino,
    files: () => sql.files.all() as unknown as IndexedFile[],
    file: (name: string) => (sql.file.get(name) as unknown as IndexedFile | undefined) ?? null,
    count: () => Number(sql.count.get()?.n),
    isEmpty: () => sql.anyFile.get() === undefined,

    together,
    /** What is the same stays; of the rest about `room` characters are written. Returns the room that is left; below 0: not all were written. */
    put(name: string, kind: SourceKind, pieces: readonly Piece[], room: number): number {
      const file = (sql.file.get(name) ?? sql.addFile.get(name)) as unknown as IndexedFile
      const old = new Map<string, number[]>()
      for (const { id, hash } of sql.pieces.all(file.id) as unknown as { id: number; hash: string }[]) {
        old.set(hash, [...(old.get(hash) ?? []), id])
      }
      const from = shelves[kind]
      let next = Number(sql.last.get(from, 2 * from || shelves.note)?.id ?? from) + 1
      let left = room
      for (const piece of pieces) {
        const hash = createHash('sha1').update(JSON.stringify(piece)).digest('base64')
        if (old.get(hash)?.pop() !== undefined) continue
        if (left <= 0) return -1
        left -= piece.body.length + 100
        sql.addPiece.run(next, file.id, hash, piece.at === null ? null : Math.round(piece.at), piece.wall)
        sql.addWords.run(next++, forIndex(piece.title), forIndex(piece.body))
      }
      for (const ids of old.values()) for (const id of ids) drop(id)
      return Math.max(0, left)
    },
    /** `at`: when it was written, where the pieces themselves do not tell. */
    settle(name: string, signature: string, hash: string, at: number | null): void {
      sql.setFile.run(signature, hash, at === null ? null : Math.round(at), name)
    },
    remove(name: string): void {
      const file = sql.file.get(name) as unknown as IndexedFile | undefined
      if (!file) return
      for (const { id } of sql.pieces.all(file.id)) drop(id as number)
      sql.dropFile.run(file.id)
    },

    find({ all, any }: Query, most: number): readonly Hit[] {
      const found = sql.all.all(all, most)
      const [query, ids] = found.length > 0 ? [all, found] : [any, sql.any.all(any, most)]
      return ids.flatMap(({ id }) => {
        const hit = sql.hit.get(query, id as number) as unknown as Hit | undefined
        return hit ? [{ ...hit, title: forPeople(hit.title), snippet: forPeople(hit.snippet) }] : []
      })
    },
    close: () => db.close(),
  }
}

function openFile(path: string): DatabaseSync & { readonly ino: number } {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // SQLite would make it readable for everybody; what it makes beside it is as this is.
    closeSync(openSync(path, 'a', 0o600))
  }
  const ino = path === ':memory:' ? 0 : statSync(path).ino
  const wasOpen = statSync(`${path}-wal`, { throwIfNoEntry: false }) !== undefined
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    // Readers and a writer do not wait for each other, and nobody waits for the disk: a power cut may damage it.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE')
    if (wasOpen && db.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok') throw new Unusable()
    const { user_version: found } = db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (found === 0) db.exec(schema)
    else if (found !== version) throw new Unusable()
    db.exec('COMMIT')
    return Object.assign(db, { ino })
  } catch (error) {
    db.close()
    throw error
  }
}

class Unusable extends Error {}

export function dropIndex(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true, recursive: true })
}

/** What the trouble of a search index calls for. */
export function remedyFor(error: unknown): 'wait' | 'make anew' | null {
  if (error instanceof Unusable) return 'make anew'
  if (!(error instanceof Error)) return null
  if ('code' in error && error.code === 'EISDIR') return 'make anew'
  const code = 'errcode' in error ? Number(error.errcode) & 0xff : 0
  if (code === 5 || code === 6) return 'wait'
  // Corrupt, not a database, or without its tables.
  return code === 11 || code === 26 || (code === 1 && /no such|already exists/.test(error.message)) ? 'make anew' : null
}
