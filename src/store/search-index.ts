// The full-text index: a separate SQLite file that can be deleted and rebuilt at any time.
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { forIndex, forPeople, isShort, matchOf, type Word } from './search-query.ts'
import { type Found, scoreOf, snippetOf, type Term } from './search-rank.ts'
import type { Piece, SourceKind } from './search-texts.ts'

/** Change this number to discard the indexes of earlier versions. */
const version = 1

const schema = `
  CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER) STRICT;
  CREATE TABLE pieces (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, hash TEXT NOT NULL, at INTEGER, wall TEXT) STRICT;
  CREATE INDEX pieces_of_file ON pieces (file);
  CREATE VIRTUAL TABLE words USING fts5 (title, body, tokenize = 'unicode61 remove_diacritics 2');
  PRAGMA user_version = ${version};`

/** The id of a piece contains its rank, so that ranking needs no second table. */
const shelves: Readonly<Record<SourceKind, number>> = { memory: 0, brain: 0, note: 2 ** 40, conversation: 2 ** 41 }

const ranges = {
  kept: [0, shelves.note],
  note: [shelves.note, shelves.conversation],
  conversation: [shelves.conversation, 2 * shelves.conversation],
  all: [0, 2 * shelves.conversation],
} as const
const preferred = (id: number): number => (id > shelves.conversation ? 1 : id > shelves.note ? 1.5 : 2)
/** How many matches are read and ranked. */
const rankedAtMost = 80
/** A word that occurs in this many pieces says next to nothing. */
const commonFrom = 1000

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

/** `:memory:`: it lasts as long as the process. Throws SQLite's errors. */
export function openIndex(path: string) {
  const db = openFile(path)
  const sql = {
    files: db.prepare('SELECT id, path, signature, hash FROM files'),
    anyFile: db.prepare('SELECT 1 FROM files LIMIT 1'),
    filesBelow: db.prepare('SELECT id, path, signature, hash FROM files WHERE path >= ? AND path < ?'),
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
    // Node binds every number as a REAL, which FTS5 does not accept as a rowid: it would use the first row that matches.
    addWords: db.prepare('INSERT INTO words (rowid, title, body) VALUES (CAST(? AS INTEGER), ?, ?)'),
    dropWords: db.prepare('DELETE FROM words WHERE rowid = CAST(? AS INTEGER)'),
    count: db.prepare('SELECT count(*) AS n FROM pieces'),
    // Ordered by id, as the index is, so that it stops when there are enough.
    matching: db.prepare(
      `SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid >= CAST(? AS INTEGER) AND rowid < CAST(? AS INTEGER)
       ORDER BY rowid DESC LIMIT ?`,
    ),
    text: db.prepare('SELECT rowid AS id, title, body FROM words WHERE rowid = CAST(? AS INTEGER)'),
    hit: db.prepare(
      `SELECT path, coalesce(pieces.at, files.at) AS at, wall FROM pieces JOIN files ON files.id = pieces.file
       WHERE pieces.id = ?`,
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

  const idsOf = (match: string, [from, to]: readonly [number, number], most: number): readonly number[] =>
    sql.matching.all(match, from, to, most).map(({ id }) => Number(id))

  /** The best of these, as they are shown. */
  const ranked = (ids: readonly number[], terms: readonly Term[], most: number): readonly Hit[] =>
    [...new Set(ids)]
      .flatMap(id => (sql.text.get(id) as unknown as Found | undefined) ?? [])
      .map(found => ({ found, score: scoreOf(found, terms) * preferred(found.id) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, most)
      .flatMap(({ found: { id, title, body } }) => {
        const hit = sql.hit.get(id) as unknown as Pick<Hit, 'path' | 'at' | 'wall'> | undefined
        return hit ? [{ ...hit, title: forPeople(title), snippet: snippetOf(body, terms) }] : []
      })

  /** Memory and notes come before conversations. */
  const withAll = (words: readonly Word[], most: number): readonly Hit[] => {
    const match = words.map(matchOf).join(' AND ')
    const terms = words.map(word => ({ word, weight: 1 }))
    const kept = [
      ...idsOf(match, ranges.kept, rankedAtMost),
      ...idsOf(`{title} : (${match})`, ranges.note, rankedAtMost / 2),
      ...idsOf(match, ranges.note, Math.max(most, rankedAtMost)),
    ]
    const hits = ranked(kept, terms, most)
    if (hits.length >= most) return hits
    const left = most - hits.length
    return [...hits, ...ranked(idsOf(match, ranges.conversation, Math.max(left, rankedAtMost)), terms, left)]
  }

  /** A rare word says more, so its pieces are checked first. */
  const withAny = (words: readonly Word[], most: number): readonly Hit[] => {
    const found = words
      .filter((word, i) => !(isShort(word) && words.length > 1 && i === words.length - 1))
      .map(word => ({ word, ids: idsOf(matchOf(word), ranges.all, commonFrom) }))
      .filter(({ ids }) => ids.length > 0)
      .sort((a, b) => a.ids.length - b.ids.length)
    const terms = found.map(({ word, ids }) => ({ word, weight: Math.log(1 + (2 * commonFrom) / ids.length) }))
    const each = Math.max(most, Math.ceil((2 * rankedAtMost) / Math.max(1, found.length)))
    return ranked(
      found.flatMap(({ ids }) => ids.slice(0, each)),
      terms,
      most,
    )
  }

  return {
    /** Whether it is still the file that others would open. */
    isCurrent: (): boolean => path === ':memory:' || statSync(path, { throwIfNoEntry: false })?.ino === db.ino,
    /** Below a folder; '' is the workspace. */
    files: (folder: string) =>
      (folder === '' ? sql.files.all() : sql.filesBelow.all(`${folder}/`, `${folder}0`)) as unknown as IndexedFile[],
    file: (name: string) => (sql.file.get(name) as unknown as IndexedFile | undefined) ?? null,
    count: () => Number(sql.count.get()?.n),
    isEmpty: () => sql.anyFile.get() === undefined,

    together,
    /**
     * Unchanged pieces stay; of the rest about `room` characters are written. Returns the remaining room; below 0: not all were
     * written.
     */
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
    /** `at`: when it was written, if the pieces themselves do not tell. */
    settle(name: string, signature: string, hash: string, at: number | null): void {
      sql.setFile.run(signature, hash, at === null ? null : Math.round(at), name)
    },
    remove(name: string): void {
      const file = sql.file.get(name) as unknown as IndexedFile | undefined
      if (!file) return
      for (const { id } of sql.pieces.all(file.id)) drop(id as number)
      sql.dropFile.run(file.id)
    },

    /** Of very many matches, the newest are ranked, and those with the words in their titles. */
    find(words: readonly Word[], most: number): readonly Hit[] {
      // Whole words first: for a prefix, the index collects all words that start with it before it returns the first match.
      const whole = withAll(
        words.map(word => ({ ...word, begun: false })),
        most,
      )
      if (whole.length >= most || (whole.length > 0 && words.some(isShort))) return whole
      const all = withAll(words, most)
      return all.length > 0 ? all : withAny(words, most)
    },
    close: () => db.close(),
  }
}

function openFile(path: string): DatabaseSync & { readonly ino: number } {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // SQLite would make it readable for everybody; the files that SQLite creates beside it get the same permissions.
    closeSync(openSync(path, 'a', 0o600))
  }
  const ino = path === ':memory:' ? 0 : statSync(path).ino
  const wasOpen = statSync(`${path}-wal`, { throwIfNoEntry: false }) !== undefined
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    // Readers and a writer do not block each other, and nobody waits for the disk: a power failure may damage the index.
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

/** What to do about an error of the search index. */
export function remedyFor(error: unknown): 'wait' | 'rebuild' | null {
  if (error instanceof Unusable) return 'rebuild'
  if (!(error instanceof Error)) return null
  if ('code' in error && error.code === 'EISDIR') return 'rebuild'
  const code = 'errcode' in error ? Number(error.errcode) & 0xff : 0
  if (code === 5 || code === 6) return 'wait'
  // Corrupt, not a database, or without its tables.
  return code === 11 || code === 26 || (code === 1 && /no such|already exists/.test(error.message)) ? 'rebuild' : null
}
