// Whether the database can be read and written while it is in use: checks the file, its disk and SQLite's errors.
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  renameSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { errorText } from '../base/unknown.ts'
import { codes, DatabaseUnusable, sqliteCode } from './database-errors.ts'

export interface DatabaseTrouble {
  /** `unwritable` may go away by itself; the others do not. */
  readonly kind: 'gone' | 'damaged' | 'unwritable'
  /** For everybody: contains no paths. */
  readonly why: string
}

export interface DatabaseHealth {
  /** Call it with the error of a statement or a commit; returns the error. */
  failed(error: unknown): unknown
  /** A commit succeeded. */
  wrote(): void
  /** Throws if the database must not be written any more. */
  mustBeUndamaged(): void
  /** Also throws while the file is known to be gone: what is refused must not be stored, in case the file comes back. */
  mustBeUsable(): void
  /** Throws if the last commit went into a file that a restart would not find. */
  mustBeThere(): void
  trouble(): DatabaseTrouble | null
  /** Closes the database without deleting files that are not its own. */
  closing(close: () => void): void
}

const gone: DatabaseTrouble = {
  kind: 'gone',
  why: 'The database file was deleted or replaced while the gateway was running. Nothing is accepted until the gateway is restarted.',
}
const damaged: DatabaseTrouble = {
  kind: 'damaged',
  why: 'The database is damaged. Nothing is accepted. Stop the gateway, then restore the database from a backup, or move it away to start with an empty queue.',
}
/** Less free space than this counts as none: a single message can be larger. */
const leastFree = 1024 ** 2
const tryAgainMs = 1000

/** `tryWriting` throws if the disk does not accept it. */
export function createHealth(path: string, tryWriting: () => void): DatabaseHealth {
  const wal = `${path}-wal`
  const own = path === ':memory:' ? null : { database: inodeOf(path), wal: inodeOf(wal) }
  let isDamaged = false
  let wasGone = false
  let refused: string | null = null
  let triedAt = 0

  const isThere = () => own === null || (inodeOf(path) === own.database && inodeOf(wal) === own.wal)

  function failed(error: unknown): unknown {
    switch (sqliteCode(error)) {
      case codes.corrupt:
      case codes.notADatabase:
        isDamaged = true
        break
      case codes.readOnly:
      case codes.ioError:
      case codes.full:
      case codes.cannotOpen:
        refused = errorText(error)
        break
    }
    return error
  }

  function mustBeUndamaged(): void {
    if (isDamaged) throw new DatabaseUnusable('damaged', damaged.why)
  }

  function mustBeThere(): void {
    wasGone = !isThere()
    if (wasGone) throw new DatabaseUnusable('gone', gone.why)
  }

  /** There may be no writes for hours, so writing is tried, but not on every call. */
  function stillRefused(): string | null {
    if (refused === null || performance.now() - triedAt < tryAgainMs) return refused
    triedAt = performance.now()
    try {
      tryWriting()
      refused = null
    } catch (error) {
      failed(error)
    }
    return refused
  }

  return {
    failed,
    wrote() {
      refused = null
    },
    mustBeUndamaged,
    mustBeUsable() {
      mustBeUndamaged()
      if (wasGone) mustBeThere()
    },
    mustBeThere,
    trouble() {
      if (isDamaged) return damaged
      if (!isThere()) return gone
      const disk = path === ':memory:' ? null : diskTrouble(path)
      if (disk !== null) return { kind: 'unwritable', why: `${disk} Nothing is accepted until it can be written.` }
      const why = stillRefused()
      if (isDamaged) return damaged
      return why === null
        ? null
        : { kind: 'unwritable', why: `The database cannot be written (${why}). Nothing is accepted until it can.` }
    },
    closing(close) {
      const found = own && inodeOf(wal)
      if (found === null || found === own?.wal) return close()
      // SQLite deletes the log by name, even if it belongs to another file.
      renameSync(wal, `${wal}.kept`)
      close()
      renameSync(`${wal}.kept`, wal)
    },
  }
}

const orNone = { throwIfNoEntry: false } as const

/** Called after each commit. The device is not compared: another disk with the same inode number is too unlikely. */
const inodeOf = (file: string): number | null => statSync(file, orNone)?.ino ?? null

function diskTrouble(path: string): string | null {
  try {
    accessSync(path, constants.W_OK)
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < leastFree ? 'The disk is full.' : null
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    return code === 'EROFS' ? 'The disk is read-only.' : `The database cannot be written (${code}).`
  }
}

export interface Statement {
  run(...values: SQLInputValue[]): ReturnType<StatementSync['run']>
  get(...values: SQLInputValue[]): ReturnType<StatementSync['get']>
  all(...values: SQLInputValue[]): ReturnType<StatementSync['all']>
  iterate(...values: SQLInputValue[]): Generator<Record<string, SQLOutputValue>>
}

/** Reports errors of every statement, so that a damaged page is noticed wherever it is read. */
export function watched(statement: StatementSync, failed: (error: unknown) => unknown): Statement {
  const watch = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw failed(error)
    }
  }
  return {
    run: (...values) => watch(() => statement.run(...values)),
    get: (...values) => watch(() => statement.get(...values)),
    all: (...values) => watch(() => statement.all(...values)),
    *iterate(...values) {
      try {
        yield* statement.iterate(...values)
      } catch (error) {
        throw failed(error)
      }
    },
  }
}

// The number of the newest item, in a file beside the database. At the start it shows whether the database is older than it was.

export interface Watermark {
  /** How many items that once existed are missing. */
  readonly lost: number
  /** The loss was reported: from now on the watermark follows the database again. */
  lossReported(): void
  /**
   * Call after each commit; reads the newest number immediately and then at most ten times a second. Without fsync: a kill does not
   * undo it.
   */
  note(): void
  close(): void
}

const width = 20

const everyMs = 100

/** `newest`: the newest number in the database. */
export function openWatermark(path: string, newest: () => number): Watermark {
  if (path === ':memory:')
    return { lost: 0, lossReported: () => undefined, note: () => undefined, close: () => undefined }
  const file = `${path}-newest`
  const before = read(file)
  const lost = Math.max(0, before - newest())
  let follows = lost === 0
  let noted = before
  let handle: number | null = null
  let writtenAt = -everyMs
  let later: NodeJS.Timeout | null = null

  function write(): void {
    if (later !== null) clearTimeout(later)
    later = null
    writtenAt = performance.now()
    try {
      const now = newest()
      if (!follows || now === noted) return
      handle ??= openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
      // Always the same length, overwriting the old value.
      writeSync(handle, `${String(now).padStart(width, '0')}\n`, 0)
      noted = now
    } catch {
      // Full disk: the watermark falls behind, and a loss may go unnoticed; nothing else happens.
    }
  }

  return {
    lost,
    lossReported() {
      follows = true
    },
    note() {
      const wait = writtenAt + everyMs - performance.now()
      if (wait <= 0) write()
      else later ??= setTimeout(write, wait).unref()
    },
    close() {
      write()
      if (handle !== null) closeSync(handle)
    },
  }
}

function read(file: string): number {
  try {
    const text = readFileSync(file, 'utf8')
    return /^\d{20}\n$/.test(text) ? Number(text) : 0
  } catch {
    return 0 // the first start with this database
  }
}
