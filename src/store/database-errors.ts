// Problems with the database file, explained to the owner.
import { closeSync, openSync, readSync, statSync } from 'node:fs'

type Kind = 'locked' | 'damaged' | 'newer' | 'unwritable' | 'gone'

/** Why the file cannot be used. */
export class DatabaseUnusable extends Error {
  readonly kind: Kind
  constructor(kind: Kind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseUnusable'
    this.kind = kind
  }
}

/** The last byte of SQLite's error code is the kind of error; 0: not an SQLite error. */
export const sqliteCode = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0

export const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const

/** Translates SQLite errors about the file into a message for the owner; other errors are returned as they are. */
export function inWords(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error
  const options = { cause: error }
  switch (sqliteCode(error)) {
    case codes.busy:
    case codes.locked:
      return new DatabaseUnusable('locked', `${path} is in use by another gateway.`, options)
    case codes.corrupt:
    case codes.notADatabase:
      return damaged(path, options)
    case codes.readOnly:
    case codes.ioError:
    case codes.full:
    case codes.cannotOpen:
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

/** SQLite notices a truncated file only when it reads a missing page; the file size shows it immediately. */
export function refuseCutFile(path: string): void {
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

/** A message for the owner; null: nothing is missing. */
export const lossNote = (items: number): string | null =>
  items === 0
    ? null
    : `The database was older at the start than when it was last written: its ${items} newest messages and answers are missing. Was aetheel.db-wal removed after a crash, or an older copy restored?`
