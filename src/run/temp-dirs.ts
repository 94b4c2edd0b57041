// A temporary folder for each run, removed when the run is over.
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

export interface TempDirs {
  /** Throws if the folder cannot be created. */
  create(): { readonly dir: string; remove(): void }
  /** Resolves when all unused folders are removed. */
  removed(): Promise<void>
}

export function createTempDirs(runsDir: string): TempDirs {
  const removing = new Set<Promise<void>>()
  let made = false
  return {
    create() {
      if (!made) mkdirSync(runsDir, { recursive: true, mode: 0o700 })
      made = true
      const dir = mkdtempSync(join(runsDir, 'run-'))
      const remove = () => {
        // Runs in the background. The next start removes anything left over.
        const removal: Promise<void> = rm(dir, { recursive: true, force: true })
          .catch(() => undefined)
          .finally(() => removing.delete(removal))
        removing.add(removal)
      }
      return { dir, remove }
    },
    removed: async () => void (await Promise.all(removing)),
  }
}
