// Finds a program on PATH, as a shell does.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path'

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
