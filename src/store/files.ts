// Files that people and the agent read: written whole or not at all.
import { renameSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function writeWhole(path: string, text: string): Promise<void> {
  await replaceWhole(path, text, () => true)
}

/** Only if `stillSo` holds at that very moment; null: nothing was written. Otherwise returns the signature of the new file. */
export async function replaceWhole(path: string, text: string, stillSo: () => boolean): Promise<string | null> {
  const draft = `${path}.${process.pid}.tmp`
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true })
    const signature = signatureOf(draft)
    // Nothing may happen between the check and the rename: whoever writes the file meanwhile would lose that change.
    if (stillSo()) {
      renameSync(draft, path)
      return signature
    }
    await rm(draft, { force: true })
    return null
  } catch (error) {
    // If it could not be created it cannot be removed either; the first error is the one to report.
    await rm(draft, { force: true }).catch(() => undefined)
    throw new Error(`${path} could not be written; check free space and permissions of ${dirname(path)}`, {
      cause: error,
    })
  }
}

/** Changes with every write of the file, in place or by rename. Null: there is no file. */
export function signatureOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino}:${found.size}:${found.mtimeNs}` : null
}

/** Writes at most once per `pauseMs`, always the newest text, and skips unchanged text; `flush` writes what is pending. */
export function createMirrorFile(
  path: string,
  content: () => string,
  pauseMs: number,
  failed: (error: unknown) => void,
) {
  let written: { readonly text: string; readonly signature: string | null } | null = null
  const write = async () => {
    const text = content()
    if (written?.text === text && written.signature === signatureOf(path)) return
    written = { text, signature: await replaceWhole(path, text, () => true) }
  }
  return createMirror(write, pauseMs, failed)
}

/** The same with any write function. */
export function createMirror(writeIt: () => Promise<void>, pauseMs: number, failed: (error: unknown) => void) {
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
