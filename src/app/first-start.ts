// The first start after an installation: the compiler takes a moment, and whoever waits is told.
import { statSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'

const justMadeMs = 3000

/** Loads what is large. On a terminal, and while nothing is compiled yet, a line says so and goes away again. */
export async function toldWhileCompiling<T>(load: () => Promise<T>): Promise<T> {
  const { stderr } = process
  if (!stderr.isTTY || !cacheIsNew()) return load()
  stderr.write('Getting ready, this once …')
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
