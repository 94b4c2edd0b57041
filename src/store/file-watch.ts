// Watches the files of the workspace for pages that show them. Only while there are listeners.
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'

/** Each folder needs a watcher in the kernel. */
const mostFolders = 200

/**
 * Watches folders instead of files: a file watcher stops working when the file is replaced. `''` is the workspace itself; `skills/*`
 * means all folders in skills/, including future ones.
 */
export function followFiles(dir: string, folders: readonly string[], listener: (file: string) => void): () => void {
  const watchers = new Map<string, FSWatcher>()
  const wide = folders.flatMap(folder => (folder.endsWith('/*') ? folder.slice(0, -2) : []))
  const plain = folders.filter(folder => !folder.endsWith('/*'))

  function leave(folder: string): void {
    watchers.get(folder)?.close()
    watchers.delete(folder)
  }

  function follow(folder: string, touched: (name: string) => void): void {
    leave(folder)
    try {
      const watcher: FSWatcher = watch(join(dir, folder), { persistent: false }, (_, name) => {
        if (name !== null && !isPassing(name)) touched(name)
      })
      watcher.on('error', () => watcher.close())
      watchers.set(folder, watcher)
    } catch {
      // The folder does not exist: a page that is reloaded sees its contents.
    }
  }

  function followAllIn(folder: string): void {
    const enter = (name: string) => {
      const inner = `${folder}/${name}`
      leave(inner)
      if (watchers.size < mostFolders && isFolder(join(dir, inner))) follow(inner, file => listener(`${inner}/${file}`))
    }
    for (const one of watchers.keys()) if (one.startsWith(`${folder}/`)) leave(one)
    // A folder was created, removed or replaced.
    follow(folder, name => {
      listener(`${folder}/${name}`)
      enter(name)
    })
    for (const name of namesIn(join(dir, folder))) enter(name)
  }

  // These first, so that they get their watchers however many folders the others have.
  for (const folder of plain)
    follow(folder, name => {
      listener(folder === '' ? name : `${folder}/${name}`)
      if (folder === '' && wide.includes(name)) followAllIn(name)
    })
  for (const folder of wide) followAllIn(folder)
  return () => {
    for (const folder of [...watchers.keys()]) leave(folder)
  }
}

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return [] // it is not there
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Temporary files of whole writes and of editors. */
const isPassing = (name: string) => name.endsWith('.tmp') || name.endsWith('~') || name.startsWith('.')
