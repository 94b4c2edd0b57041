// Writes a first config.json, or a new one; the old file is never lost.

import { constants } from 'node:fs'
import { copyFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { initialConfigFile } from '../../config/index.ts'
import { writeWhole } from '../../store/index.ts'
import type { InitialConfig } from '../../ui/index.ts'
import { codeOf, makeFolder } from '../state-folder.ts'

export async function writeInitialConfig(configDir: string, force: boolean): Promise<InitialConfig> {
  const path = join(configDir, 'config.json')
  await makeFolder(configDir)
  try {
    await writeFile(path, initialConfigFile(), { flag: 'wx', mode: 0o600 })
    return { path, created: true, copy: null }
  } catch (error) {
    if (codeOf(error) !== 'EEXIST')
      throw new Error(`${path} could not be written (${codeOf(error)}). Check free space and permissions.`, {
        cause: error,
      })
  }
  if (!force) return { path, created: false, copy: null }
  const copy = await keepCopy(path)
  // The target of a link, so that the link stays.
  await writeWhole(await realpath(path), initialConfigFile())
  return { path, created: true, copy }
}

async function keepCopy(path: string): Promise<string> {
  for (let n = 1; ; n++) {
    const copy = n === 1 ? `${path}.old` : `${path}.old-${n}`
    try {
      await copyFile(path, copy, constants.COPYFILE_EXCL)
      return copy
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}
