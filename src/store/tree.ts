// Guards whole trees: finds everything that a turn changed, created or removed there, puts it back, and leaves it to the owner to approve.
import { isUtf8 } from 'node:buffer'
import { closeSync, mkdirSync, openSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as immediately } from 'node:timers/promises'
import type { Emit } from '../base/signal.ts'
import {
  asText,
  contentOf,
  createPlaces,
  type Entry,
  type Exceptions,
  examine,
  hashOf,
  type Places,
  pathsIn,
  type Reach,
  type Surroundings,
} from './tree-places.ts'

export interface Difference {
  readonly path: string
  /** Null: there was nothing. */
  readonly was: BaseEntry | null
  /** Null: there is nothing. */
  readonly now: Entry | null
}

export interface TreeParts extends Surroundings, Exceptions {
  /** The workspace. */
  readonly dir: string
  readonly emit: Emit
  now(): number
  readonly limits?: TreeLimits
}

export interface TreeLimits {
  readonly entries: number
  /** Larger files can be set aside but not restored. */
  readonly fileBytes: number
  readonly bytes: number
}

/** The accepted state of the trees, and what differs from it. Keeps no promise about what happens to a difference: see tree-revert. */
export interface Tree {
  readonly base: TreeBase
  readonly places: Places
  /** Accepts what is there. `rest`: all but what widens power. Returns why it cannot, if there is too much to guard. */
  accept(reach: 'power' | 'rest'): Promise<string | null>
  acceptPath(path: string): void
  /** What differs from the accepted state, parents before their children. What lies in a new folder is not listed. */
  differences(reach: Reach): Promise<readonly Difference[]>
  /** Null: it is as accepted. */
  differenceAt(path: string): Difference | null
  close(): void
}

const defaultLimits: TreeLimits = { entries: 100_000, fileBytes: 16 * 1024 * 1024, bytes: 1024 ** 3 }
/** File system clocks are coarse: a second change within this time can leave the same timestamps. */
const unsureMs = 2000
/** So many entries are looked at before others get their turn. */
const atOnce = 500

export function createTree(parts: TreeParts): Tree {
  const { limits = defaultLimits } = parts
  mkdirSync(join(parts.dir, '.aetheel'), { recursive: true, mode: 0o700 })
  const real = (path: string | null) => (path === null ? null : realOf(path))
  const dir = realOf(parts.dir)
  const around = { home: real(parts.home), cwd: real(parts.cwd) }
  const places = createPlaces(dir, around, parts)
  const base = openTreeBase(join(dir, '.aetheel', 'guard.db'))
  /** The accepted paths that widen power: few, and looked at in every turn. */
  const power = new Set([...base.entries.keys()].filter(places.isPower))

  /** Whether the accepted entry is still there. Reads the content only if the times say that it may have changed. */
  function isAsAccepted(path: string, was: BaseEntry, now: Entry): boolean {
    if (was.kind !== now.kind || was.mode !== now.mode || was.target !== now.target) return false
    if (was.sign === now.sign && !was.unsure) return true
    if (now.kind !== 'file') return now.kind !== 'special' || was.sign === now.sign
    if (!was.kept) return was.sign === now.sign
    const content = was.size === now.size ? contentOf(path, limits.fileBytes) : null
    if (content === null || hashOf(now, content) !== was.hash) return false
    base.put(path, { ...was, sign: now.sign, unsure: isUnsure(now) })
    return true
  }

  const isUnsure = ({ changedAt }: Entry) => changedAt > parts.now() - unsureMs

  function store(path: string, now: Entry): void {
    const content = now.kind === 'file' ? contentOf(path, limits.fileBytes) : null
    const { changedAt: _, ...entry } = now
    const kept = content !== null
    base.put(path, { ...entry, hash: hashOf(now, content), kept, unsure: kept && isUnsure(now) }, content)
    if (places.isPower(path)) power.add(path)
  }

  function drop(path: string): void {
    base.drop(path)
    power.delete(path)
  }

  /** Goes through the trees; `enter` says whether to go into a folder. */
  async function walk(reach: Reach, enter: (path: string, now: Entry) => boolean): Promise<ReadonlySet<string>> {
    const visited = new Set<string>()
    const left = [...places.roots(reach)].reverse()
    for (let count = 1; left.length > 0; count++) {
      const path = left.pop() ?? ''
      if (visited.has(path) || places.isSkipped(path, reach)) continue
      const now = examine(path)
      if (!now) continue
      visited.add(path)
      if (enter(path, now) && now.kind === 'folder') for (const one of pathsIn(path).toReversed()) left.push(one)
      if (count % atOnce === 0) await immediately()
    }
    return visited
  }

  const isPower = (path: string) => power.has(path) || (!base.entries.has(path) && places.isPower(path))
  const isIn = (path: string, reach: 'power' | 'rest') => isPower(path) === (reach === 'power')

  async function accept(reach: 'power' | 'rest'): Promise<string | null> {
    let tooMuch: string | null = null
    let read = 0
    base.begin()
    try {
      let count = 0
      const visited = await walk(reach === 'power' ? 'power' : 'all', (path, now) => {
        if (++count > limits.entries) tooMuch = `has more than ${limits.entries} files and folders`
        else if (base.bytes() > limits.bytes) tooMuch = `has files of more than ${limits.bytes} bytes in all`
        if (tooMuch !== null) return false
        if (!isIn(path, reach)) return true
        const was = base.entries.get(path)
        if (was && isAsAccepted(path, was, now)) return true
        store(path, now)
        read += now.size
        return true
      })
      if (tooMuch === null)
        for (const path of reach === 'power' ? power : base.entries.keys())
          if (!visited.has(path) && isIn(path, reach) && !isFreeNow(path)) drop(path)
    } finally {
      base.commit()
    }
    if (read > 0) await immediately()
    return tooMuch
  }

  /** Another guest may have this folder: it is not looked at now, but it is not gone either. */
  const isFreeNow = (path: string) => places.isSkipped(path, 'all') && examine(path) !== null

  function differenceAt(path: string): Difference | null {
    const was = base.entries.get(path) ?? null
    const now = examine(path)
    if (was === null) return now === null ? null : { path, was, now }
    return now !== null && isAsAccepted(path, was, now) ? null : { path, was, now }
  }

  async function differences(reach: Reach): Promise<readonly Difference[]> {
    const found: Difference[] = []
    const visited = await walk(reach, (path, now) => {
      const was = base.entries.get(path) ?? null
      // A folder alone has no power; what is in it may have.
      if (was === null && now.kind === 'folder' && (reach === 'power' || places.isFrame(path))) {
        store(path, now)
        return true
      }
      if (was !== null && isAsAccepted(path, was, now)) return true
      found.push({ path, was, now })
      return was?.kind === 'folder' && now.kind === 'folder'
    })
    for (const path of reach === 'power' ? power : base.entries.keys()) {
      const was = base.entries.get(path)
      if (was && !visited.has(path) && !places.isSkipped(path, reach)) found.push({ path, was, now: examine(path) })
    }
    // What lies in a folder that was replaced by something else cannot be examined: it is gone.
    return found.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  return {
    base,
    places,
    accept,
    acceptPath(path) {
      const now = examine(path)
      if (now) store(path, now)
      else if (base.entries.has(path)) drop(path)
    },
    differences,
    differenceAt,
    close: base.close,
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path // it does not exist
  }
}

/** The text of a file that is short enough to be stored with a change; null: it is not such a file. */
export function shortText(content: Buffer | null, most: number): string | null {
  if (content === null || content.length > most || !isUtf8(content) || content.includes(0)) return null
  return content.toString('utf8')
}

/** The name of a path for people. */
export const nameIn = ({ places }: Pick<Tree, 'places'>, path: string): string => asText(places.nameOf(path))

// The accepted state of the guarded trees: a separate SQLite file with what is needed to restore each entry.

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
