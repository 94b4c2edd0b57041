// Files that people and the agent read: written whole or not at all.
import { renameSync, statSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function writeWhole(path: string, text: string): Promise<void> {
  await replaceWhole(path, text, () => true)
}

/** Only if `stillSo` at the very moment; null: nothing was written. Else the signature of what was. */
export async function replaceWhole(path: string, text: string, stillSo: () => boolean): Promise<string | null> {
  const draft = `${path}.${process.pid}.tmp`
  try {
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    const signature = signatureOf(draft)
    // Nothing may come between the look and the replacement: whoever writes the file meanwhile would lose it.
    if (stillSo()) {
      renameSync(draft, path)
      return signature
    }
    await rm(draft, { force: true })
    return null
  } catch (error) {
    // Where it could not be made it cannot be removed either; what is told is the first trouble.
    await rm(draft, { force: true }).catch(() => undefined)
    throw new Error(`${path} could not be written; check free space and permissions of ${dirname(path)}`, {
      cause: error,
    })
  }
}

/** Changes with every write of the file, in place or by a rename. Null: there is none. */
export function signatureOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino}:${found.size}:${found.mtimeNs}` : null
}

/** Writes at most once per `pauseMs`, always the newest; `flush` writes what is still owed. */
export const openMirrorFile = (
  path: string,
  content: () => string,
  pauseMs: number,
  failed: (error: unknown) => void,
) => openMirror(() => writeWhole(path, content()), pauseMs, failed)

/** The same, however it is written. */
export function openMirror(writeIt: () => Promise<void>, pauseMs: number, failed: (error: unknown) => void) {
  let timer: NodeJS.Timeout | null = null
  let last: Promise<void> = Promise.resolve()
  const write = () => {
    timer = null
    last = last.then(writeIt).catch(failed)
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
