// Search over memory, facts, notes and conversations. The files are the source of truth; the index follows them.

import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { MemoryHit, MemorySearch } from '../base/memory.ts'
import { createSerial, type Serial } from '../base/serial.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { fromWallTime } from '../base/zone.ts'
import { dropIndex, type Hit, type IndexedFile, openIndex, remedyFor, type SearchIndex } from './search-index.ts'
import { wordsOf } from './search-query.ts'
import { lookAt, readSource, type SourceFile, walk } from './search-sources.ts'
import { type Piece, piecesOf } from './search-texts.ts'
import { keepFresh } from './search-watch.ts'

export interface SearchParts {
  /** The workspace. */
  readonly dir: string
  /** The index file. Another process may have it open too. */
  readonly file: string
  readonly clock: Clock
  readonly emit: Emit
  /** The time zone of the hours in conversations/. */
  zone?(): string
}

export interface OpenSearch extends MemorySearch {
  /** Keeps the index up to date until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const mostBytes = 5 * 1024 * 1024
/** How much is written at a time: a message must not wait for the index. */
const slice = { files: 64, characters: 100_000 }
const longestWaitMs = 20_000

/** Costs nothing until it is used. */
export function openMemorySearch({ dir, file, clock, emit, zone = () => 'UTC' }: SearchParts): OpenSearch {
  let index: SearchIndex | null = null
  let folders: readonly string[] = []
  let making = false
  /** The first scan of the workspace is not finished: results are incomplete. */
  let building = false
  let closed = false
  const inOrder = createSerial()
  const warned = new Set<string>()
  const never = new AbortController().signal

  const warnOnce = (name: string, why: string) => {
    if (!warned.has(name)) emit({ type: 'workspace-trouble', file: name, why })
    warned.add(name)
  }

  /** Another process may have rebuilt the index meanwhile. */
  const leaveOld = () => {
    if (index && !index.isCurrent()) close()
  }

  /** One at a time. */
  const inTurn: Serial = work =>
    inOrder(() => {
      leaveOld()
      return work()
    })

  const opened = (): SearchIndex => {
    if (closed) throw new Error('the search is closed')
    try {
      index ??= openIndex(file)
    } catch (error) {
      if (remedyFor(error) !== null) throw error
      warnOnce(
        basename(file),
        'cannot be written, so the index is rebuilt at each start; check the permissions of its folder',
      )
      index = openIndex(':memory:')
    }
    return index
  }

  const close = () => {
    index?.close()
    index = null
  }

  /** Waits for another process that writes; rebuilds a damaged index. */
  const using = async <T>(work: (index: SearchIndex) => T): Promise<T> => {
    for (let waited = 0; ; ) {
      try {
        return work(opened())
      } catch (error) {
        const remedy = remedyFor(error)
        if (remedy === 'wait' && waited < longestWaitMs) {
          waited += 25
          await clock.sleep(25, never)
        } else if (remedy === 'rebuild' && !making) {
          making = true
          close()
          dropIndex(file)
          await syncAll().finally(() => (making = false))
        } else throw error
      }
    }
  }

  const syncFiles = async (files: readonly SourceFile[], known: ReadonlyMap<string, IndexedFile>): Promise<number> => {
    const stale = files.filter(({ path, signature }) => known.get(path)?.signature !== signature)
    let changed = 0
    for (let i = 0; i < stale.length; i += slice.files) {
      const read = await Promise.all(stale.slice(i, i + slice.files).map(readOne))
      const gone = read.flatMap(({ source, text }) => (text === null && known.has(source.path) ? [source.path] : []))
      const texts = read.flatMap(({ source, text }) =>
        text === null ? [] : readied(source, text, known.get(source.path)),
      )
      await drop(gone)
      await put(texts)
      changed += gone.length + texts.filter(({ pieces }) => pieces !== null).length
    }
    return changed
  }

  const readOne = async (
    source: SourceFile,
  ): Promise<{ readonly source: SourceFile; readonly text: string | null }> => {
    const tooLarge = source.bytes > mostBytes
    if (tooLarge) warnOnce(source.path, 'is larger than 5 MB and is not searched; split it')
    const text = tooLarge ? null : await readSource(dir, source)
    return { source, text: text?.includes('\0') ? null : text }
  }

  const put = async (texts: readonly Readied[]): Promise<void> => {
    for (let next = 0; next < texts.length; ) {
      next = await using(it =>
        it.together(() => {
          let at = next
          for (let room = slice.characters; room > 0 && at < texts.length; at++) {
            const { source, hash, pieces } = texts[at] as Readied
            if (pieces) room = it.put(source.path, source.kind, pieces, room)
            if (room < 0) return at
            it.settle(source.path, source.signature, hash, source.kind === 'note' ? source.at : null)
          }
          return at
        }),
      )
      // Lets other work run between two slices.
      await setImmediate()
    }
  }

  const drop = async (paths: readonly string[]): Promise<void> => {
    for (let i = 0; i < paths.length; i += slice.files) {
      const some = paths.slice(i, i + slice.files)
      await using(it => it.together(() => some.forEach(it.remove)))
    }
  }

  /** Of a folder and everything below it, or of everything. */
  const syncAll = async (folder = ''): Promise<number> => {
    const { files, folders: found, unseen, whole } = await walk(dir, folder)
    if (!whole) warnOnce('the workspace', `has more than ${files.length} notes; not all of them are searched`)
    folders = folder === '' ? found : [...folders.filter(one => !isBelow(one, folder)), ...found]
    const there = new Set(files.map(({ path }) => path))
    const isUnseen = (path: string) => unseen.some(folder => folder === '' || path.startsWith(`${folder}/`))
    const known = await using(it => it.files(folder))
    building ||= folder === '' && known.length === 0
    const gone = known.map(({ path }) => path).filter(path => !there.has(path) && !isUnseen(path))
    await drop(gone)
    const changed = await syncFiles(files, new Map(known.map(one => [one.path, one])))
    if (folder === '') building = false
    return gone.length + changed
  }

  /** For a folder, everything in it. */
  const syncThese = async (paths: readonly string[]): Promise<void> => {
    const found = paths.map(path => lookAt(dir, path))
    for (const [i, path] of paths.entries()) {
      if (found[i] === 'folder') await syncAll(path)
      // The removed path may have been a folder.
      else if (found[i] === null && folders.includes(path)) await forgetBelow(path)
    }
    const known = await using(
      it => new Map(paths.flatMap(path => [it.file(path) ?? []].flat()).map(one => [one.path, one])),
    )
    await drop(paths.filter((path, i) => found[i] === null && known.has(path)))
    await syncFiles(
      found.filter(one => one !== null && one !== 'folder'),
      known,
    )
  }

  const forgetBelow = async (folder: string): Promise<void> => {
    folders = folders.filter(one => !isBelow(one, folder))
    await drop((await using(it => it.files(folder))).map(({ path }) => path))
  }

  const toHit = ({ path, title, snippet, at, wall }: Hit): MemoryHit => ({
    source: path === 'brain.json' ? 'brain' : path,
    title,
    snippet,
    at: wall === null ? at : momentOf(wall, zone()),
  })

  return {
    // Not serialized: a search does not wait for a full scan, unless it is the first.
    async search(words, most) {
      const terms = wordsOf(words)
      if (terms.length === 0) return []
      leaveOld()
      const isEmpty = () => using(it => it.isEmpty())
      if (building || (await isEmpty())) await inTurn(async () => void ((await isEmpty()) && (await syncAll())))
      // Finds what was remembered a moment ago. An index that cannot be written still answers.
      await syncThese(['memory.md', 'brain.json']).catch(() => undefined)
      const hits = await using(it => it.find(terms, Math.min(Math.max(1, Math.floor(most)), 100)))
      return hits.map(toHit)
    },
    sync: () =>
      inTurn(async () => {
        const changed = await syncAll()
        return { documents: await using(it => it.count()), changed }
      }),
    watch: signal =>
      keepFresh(
        { dir, clock, folders: () => folders },
        paths =>
          inTurn<unknown>(paths ? () => syncThese(paths) : () => syncAll()).catch(() =>
            warnOnce(basename(file), 'could not be updated; search may not find new content'),
          ),
        signal,
      ),
    close: () =>
      inTurn(async () => {
        closed = true
        close()
      }),
  }
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

interface Readied {
  readonly source: SourceFile
  readonly hash: string
  /** Null: its content is unchanged. */
  readonly pieces: readonly Piece[] | null
}

/** Empty: it cannot be parsed now, and the indexed content stays. */
function readied(source: SourceFile, text: string, known: IndexedFile | undefined): readonly Readied[] {
  const hash = createHash('sha256').update(text).digest('base64')
  if (known?.hash === hash) return [{ source, hash, pieces: null }]
  const pieces = piecesOf(source.kind, source.path, text)
  return pieces ? [{ source, hash, pieces }] : []
}

/** `2026-11-16 14:03`, as the archive writes it. */
function momentOf(wall: string, zone: string): number {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0] = wall.split(/\D/).map(Number)
  return zone === 'UTC'
    ? Date.UTC(year, month - 1, day, hour, minute)
    : fromWallTime({ year, month, day, hour, minute }, zone)
}
