// Files that people and the agent read: written whole or not at all.
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`
  try {
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw new Error(`${path} could not be written; check free space and permissions of ${dirname(path)}`, {
      cause: error,
    })
  }
}

/** Writes at most once per `pauseMs`, always the newest; `flush` writes what is still owed. */
export function openMirrorFile(path: string, content: () => string, pauseMs: number, failed: (error: unknown) => void) {
  let timer: NodeJS.Timeout | null = null
  let last: Promise<void> = Promise.resolve()
  const write = () => {
    timer = null
    last = last.then(() => writeWhole(path, content())).catch(failed)
  }
  return {
    touch() {
      timer ??= setTimeout(write, pauseMs)
    },
    async flush() {
      if (timer) {
        clearTimeout(timer)
        write()
      }
      await last
    },
  }
}
