// A folder for each run, removed when the run is over.
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

export interface Scratch {
  /** Throws where the disk does not take it. */
  keep(): { readonly dir: string; remove(): void }
  /** Resolves when every folder that is no longer used is gone. */
  tidied(): Promise<void>
}

export function openScratch(runsDir: string): Scratch {
  const removing = new Set<Promise<void>>()
  let made = false
  return {
    keep() {
      if (!made) mkdirSync(runsDir, { recursive: true, mode: 0o700 })
      made = true
      const dir = mkdtempSync(join(runsDir, 'run-'))
      const remove = () => {
        // Nobody waits for the broom; whatever it leaves, the next start removes.
        const removal: Promise<void> = rm(dir, { recursive: true, force: true })
          .catch(() => undefined)
          .finally(() => removing.delete(removal))
        removing.add(removal)
      }
      return { dir, remove }
    },
    tidied: async () => void (await Promise.all(removing)),
  }
}
