// The example workspace: copied file by file, never overwriting a file that exists.
import { constants } from 'node:fs'
import { copyFile, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { productRoot } from '../product-root.ts'
import { codeOf, makeFolder } from '../state-folder.ts'

export interface Copied {
  /** Relative paths with forward slashes. */
  readonly written: readonly string[]
  readonly kept: readonly string[]
}

export const exampleFolder = (): string => join(productRoot(), 'templates/example')

/** Rejects with a readable message if there is nothing to copy. */
export async function copyExample(from: string, to: string): Promise<Copied> {
  const entries = await readdir(from, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new Error('the example workspace is missing from this installation of Aetheel', { cause: error })
  })
  const files = entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(from.length + 1))
    .sort()
  const written: string[] = []
  const kept: string[] = []
  for (const file of files) {
    const isNew = await copyNew(join(from, file), join(to, file))
    if (isNew) written.push(file)
    else kept.push(file)
  }
  return { written, kept }
}

/** False if the file exists already. A dangling link counts as existing. */
async function copyNew(from: string, to: string): Promise<boolean> {
  try {
    await makeFolder(dirname(to))
    await copyFile(from, to, constants.COPYFILE_EXCL)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw new Error(`${to} could not be written (${codeOf(error)}). Check free space and permissions.`, {
      cause: error,
    })
  }
}
