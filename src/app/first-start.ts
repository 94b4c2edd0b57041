// The first start after an installation: compiling takes a moment, so a line on the terminal says so.
import { statSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'

const justMadeMs = 3000

/** Loads the large modules. On a terminal, and if nothing is compiled yet, shows a line while it waits. */
export async function withCompileNotice<T>(load: () => Promise<T>): Promise<T> {
  const { stderr } = process
  if (!stderr.isTTY || !cacheIsNew()) return load()
  stderr.write('Compiling for the first start …')
  try {
    return await load()
  } finally {
    stderr.write('\r\u001b[K')
  }
}

function cacheIsNew(): boolean {
  const dir = getCompileCacheDir()
  const made = dir && statSync(dir, { throwIfNoEntry: false })
  return made ? Date.now() - made.birthtimeMs < justMadeMs : false
}
