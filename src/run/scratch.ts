// A folder for one run, removed when the run is over.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

export function openScratch(runsDir: string) {
  return async <T>(use: (dir: string) => Promise<T>): Promise<T> => {
    await mkdir(runsDir, { recursive: true, mode: 0o700 })
    const dir = await mkdtemp(join(runsDir, 'run-'))
    try {
      return await use(dir)
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  }
}
