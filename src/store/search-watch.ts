// Notices changes in the folders that are searched.
import { type FSWatcher, statSync, watch as watchFolder } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/time.ts'

/** How often folders are checked, in case a watcher has stopped working. */
const lookEveryMs = 30_000
/** Everything is checked after this time, or after many times as long as the check took, so that it costs next to nothing. */
const allEveryMs = { watched: 3_600_000, unwatched: 30_000 }
const restPerWork = 200
const debounceMs = 250
const mostFolders = 2000

export interface Watched {
  readonly dir: string
  readonly clock: Clock
  folders(): readonly string[]
}

/**
 * Calls `look` with the changed paths, or with null for everything. Watches folders instead of files: file watchers stop working when
 * the file is replaced.
 */
export async function keepFresh(
  { dir, clock, folders }: Watched,
  look: (paths: readonly string[] | null) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const touched = new Set<string>()
  let wake = new AbortController()
  const watches = createWatches(dir, touched, () => wake.abort())
  try {
    for (let paths: string[] | null = null, allAt = 0, restMs = 0; !signal.aborted; ) {
      const began = performance.now()
      await look(paths)
      if (paths === null) {
        allAt = performance.now()
        restMs = restPerWork * (allAt - began)
      }
      watches.cover(folders().slice(0, mostFolders))
      while (touched.size === 0 && !signal.aborted) {
        const isWatched = watches.count() === folders().length
        const pause = Math.max(restMs, isWatched ? allEveryMs.watched : allEveryMs.unwatched)
        const left = allAt + pause - performance.now()
        if (left <= 0) break
        await clock.sleep(Math.min(lookEveryMs, left), AbortSignal.any([signal, wake.signal]))
        watches.check()
      }
      if (touched.size > 0) await clock.sleep(debounceMs, signal)
      paths = touched.size > 0 ? topmost(touched) : null
      touched.clear()
      wake = new AbortController()
    }
  } finally {
    watches.cover([])
  }
}

/** Adds changed paths to `touched`, and calls `changed` for every report of a watcher. */
function createWatches(dir: string, touched: Set<string>, changed: () => void) {
  const watches = new Map<string, { readonly watcher: FSWatcher; sign: string }>()
  const drop = (folder: string) => {
    watches.get(folder)?.watcher.close()
    watches.delete(folder)
  }
  const emit = (folder: string, name: string | null) => {
    const path = folder === '' || name === null ? (name ?? folder) : `${folder}/${name}`
    // A folder that is removed and created again is another one.
    if (path !== folder) drop(path)
    const known = watches.get(folder)
    const sign = signOf(dir, folder)
    // A reported change need not be found by the folder's timestamp as well.
    if (known && inodeIn(sign) === inodeIn(known.sign)) known.sign = sign
    touched.add(path)
    changed()
  }
  return {
    /** Watches exactly these folders. Changes in a new one between its last check and now were missed, so it counts as touched. */
    cover(folders: readonly string[]): void {
      const wanted = new Set(folders)
      for (const folder of [...watches.keys()]) if (!wanted.has(folder)) drop(folder)
      for (const folder of wanted) {
        if (watches.has(folder)) continue
        try {
          const watcher = watchFolder(join(dir, folder), { persistent: false }, (_, name) => emit(folder, name))
          watcher.on('error', () => drop(folder))
          watches.set(folder, { watcher, sign: signOf(dir, folder) })
          touched.add(folder)
        } catch {
          // No more watchers available, or the folder is gone: the check of everything finds it.
        }
      }
    },
    count: () => watches.size,
    /** A created or removed file changes the timestamp of its folder, even if no watcher reported it. */
    check(): void {
      for (const [folder, known] of watches) {
        const sign = signOf(dir, folder)
        if (sign === known.sign) continue
        touched.add(folder)
        // Another folder is at this path: the watcher stayed with the old one.
        if (inodeIn(sign) !== inodeIn(known.sign)) drop(folder)
        else known.sign = sign
      }
    },
  }
}

/** A folder is checked with everything below it. */
function topmost(touched: ReadonlySet<string>): string[] {
  if (touched.has('')) return ['']
  const isBelowOne = (path: string): boolean => {
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    return folder !== '' && (touched.has(folder) || isBelowOne(folder))
  }
  return [...touched].filter(path => !isBelowOne(path))
}

function signOf(dir: string, folder: string): string {
  try {
    const { ino, mtimeMs, ctimeMs } = statSync(join(dir, folder))
    return `${ino} ${mtimeMs} ${ctimeMs}`
  } catch {
    return '' // gone
  }
}

const inodeIn = (sign: string): string => sign.split(' ')[0] ?? ''
