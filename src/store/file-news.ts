// Tells which files of the workspace change, for whoever shows them. Only while somebody asks to be told.
import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'

/** Folders and not files: a watcher of a file goes deaf when it is replaced. `''` is the workspace itself. */
export function followFiles(dir: string, folders: readonly string[], listener: (file: string) => void): () => void {
  const watchers = folders.flatMap(folder => {
    try {
      const watcher: FSWatcher = watch(join(dir, folder), { persistent: false }, (_, name) => {
        if (name !== null && !isPassing(name)) listener(folder === '' ? name : `${folder}/${name}`)
      })
      watcher.on('error', () => watcher.close())
      return watcher
    } catch {
      return [] // the folder is not there: a page that is loaded again sees what it holds
    }
  })
  return () => {
    for (const watcher of watchers) watcher.close()
  }
}

/** Drafts of whole writes, and what editors leave for a moment. */
const isPassing = (name: string) => name.endsWith('.tmp') || name.endsWith('~') || name.startsWith('.')
