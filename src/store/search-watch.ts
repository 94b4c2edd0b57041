// Notices what changes in the folders that are searched.
import { type FSWatcher, watch as watchFolder } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/time.ts'

const lookEveryMs = 30_000
const debounceMs = 250
const mostFolders = 500

export interface Watched {
  readonly dir: string
  readonly clock: Clock
  folders(): readonly string[]
}

/** `look` at these, or with null at everything. Folders are watched, not files: those go deaf when they are replaced. */
export async function keepFresh(
  { dir, clock, folders }: Watched,
  look: (paths: readonly string[] | null) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const watchers = new Map<string, FSWatcher>()
  const touched = new Set<string>()
  let wake = new AbortController()

  const heard = (folder: string, name: string | null) => {
    const path = folder === '' || name === null ? (name ?? folder) : `${folder}/${name}`
    // A folder that goes and comes back is another one.
    const watcher = path === folder ? undefined : watchers.get(path)
    if (watcher) drop(path, watcher)
    touched.add(path)
    wake.abort()
  }
  const watchThem = () => {
    const before = watchers.size
    const wanted = folders().slice(0, mostFolders)
    for (const [folder, watcher] of watchers) if (!wanted.includes(folder)) drop(folder, watcher)
    for (const folder of wanted) {
      if (watchers.has(folder)) continue
      try {
        const watcher = watchFolder(join(dir, folder), { persistent: false }, (_, name) => heard(folder, name))
        watcher.on('error', () => drop(folder, watcher))
        watchers.set(folder, watcher)
      } catch {
        // No more watchers to be had, or the folder is gone: the look every 30 seconds is enough.
      }
    }
    return watchers.size > before
  }
  const drop = (folder: string, watcher: FSWatcher) => {
    watcher.close()
    watchers.delete(folder)
  }

  try {
    for (let paths: string[] | null = null; !signal.aborted; ) {
      await look(paths)
      // What changed between the look and the watching was missed.
      if (watchThem()) touched.add('')
      if (touched.size === 0) await clock.sleep(lookEveryMs, AbortSignal.any([signal, wake.signal]))
      if (touched.size > 0) await clock.sleep(debounceMs, signal)
      paths = touched.size > 0 ? [...touched] : null
      touched.clear()
      wake = new AbortController()
    }
  } finally {
    for (const [folder, watcher] of watchers) drop(folder, watcher)
  }
}
