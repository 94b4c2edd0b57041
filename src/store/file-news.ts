// Tells which files of the workspace change, for whoever shows them. Only while somebody asks to be told.
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'

/** Each folder has a watcher of its own in the kernel. */
const mostFolders = 200

/**
 * Folders and not files: a watcher of a file goes deaf when it is replaced. `''` is the workspace itself; `skills/*` are all folders
 * in skills/, also those that come later.
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
      // The folder is not there: a page that is loaded again sees what it holds.
    }
  }

  function followAllIn(folder: string): void {
    const enter = (name: string) => {
      const inner = `${folder}/${name}`
      leave(inner)
      if (watchers.size < mostFolders && isFolder(join(dir, inner))) follow(inner, file => listener(`${inner}/${file}`))
    }
    for (const one of watchers.keys()) if (one.startsWith(`${folder}/`)) leave(one)
    // What is told of has come, or gone, or another one has taken its place.
    follow(folder, name => {
      listener(`${folder}/${name}`)
      enter(name)
    })
    for (const name of namesIn(join(dir, folder))) enter(name)
  }

  // These first: however many folders there are in the others, they have their watchers.
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

/** Drafts of whole writes, and what editors leave for a moment. */
const isPassing = (name: string) => name.endsWith('.tmp') || name.endsWith('~') || name.startsWith('.')
