// A first config.json with every option in it.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { initialConfigFile } from './config-report.ts'
import { makeFolder } from './folder.ts'

/** Leaves an existing one alone. */
export async function writeFirstConfig(configDir: string): Promise<{ path: string; created: boolean }> {
  const path = join(configDir, 'config.json')
  await makeFolder(configDir)
  try {
    await writeFile(path, initialConfigFile(), { flag: 'wx', mode: 0o600 })
    return { path, created: true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return { path, created: false }
    throw error
  }
}
