// A folder for each run, removed when the run is over.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

export interface Scratch {
  keep(): Promise<{ readonly dir: string; remove(): void }>
  /** Resolves when every folder that is no longer used is gone. */
  tidied(): Promise<void>
}

export function openScratch(runsDir: string): Scratch {
  const removing = new Set<Promise<void>>()
  const made = mkdir(runsDir, { recursive: true, mode: 0o700 })
  // A failure is told by the first run that needs it.
  made.catch(() => undefined)
  async function keep() {
    await made
    const dir = await mkdtemp(join(runsDir, 'run-'))
    const remove = () => {
      // Nobody waits for the broom; whatever it leaves, the next start removes.
      const removal: Promise<void> = rm(dir, { recursive: true, force: true })
        .catch(() => undefined)
        .finally(() => removing.delete(removal))
      removing.add(removal)
    }
    return { dir, remove }
  }
  return { keep, tidied: async () => void (await Promise.all(removing)) }
}
