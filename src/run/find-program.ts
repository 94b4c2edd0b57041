// Finds a program on PATH, as a shell does, and the version of the npm package that it belongs to.
import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path'

export function findProgram(name: string, path: string | undefined): string | null {
  const candidates =
    isAbsolute(name) || name.includes(sep)
      ? [resolve(name)]
      : (path ?? '')
          .split(delimiter)
          .filter(Boolean)
          .map(dir => join(dir, name))
  return candidates.find(isExecutable) ?? null
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Null: it is not installed, or belongs to no package. `of`: a word in the name of its package; others are passed over. */
export function packageVersion(name: string, path: string | undefined, of = ''): string | null {
  const program = findProgram(name, path)
  if (!program) return null
  const folder = dirname(realpathSync(program))
  for (let dir = folder; dir !== dirname(dir); dir = dirname(dir)) {
    const version = versionIn(join(dir, 'package.json'), of)
    if (version) return version
  }
  return null
}

function versionIn(file: string, of: string): string | null {
  try {
    const { name = '', version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown; version?: unknown }
    return typeof version === 'string' && String(name).includes(of) ? version : null
  } catch {
    return null
  }
}
