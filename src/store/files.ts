// How the gateway writes its own files: whole or not at all if people and the agent read them, line by line for the log.
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '../base/unknown.ts'

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

// The log files, limited in size. Each line is passed to the operating system before `write` returns, so that even a kill loses none.

export const logName = 'aetheel.log'
/** In addition to the current one. */
export const mostOldLogs = 3
const largest = 5 * 1024 * 1024
/** After a failed write, the disk is tried again after this time. */
const restMs = 10_000
/** How often to check that the file still exists. */
const lookMs = 5000

export interface LogFileParts {
  readonly dir: string
  now(): number
  /** Called once. A failure never disturbs the code that logs. */
  failed(error: unknown): void
  readonly largest?: number
}

export interface LogFile {
  /** One or several whole lines. Never throws. */
  write(lines: string): void
  close(): void
}

/** For one process at a time: only one may rename the files. */
export function openLogFile({ dir, now, failed, largest: most = largest }: LogFileParts): LogFile {
  const path = join(dir, logName)
  let file: { readonly fd: number; readonly ino: number; size: number; torn: boolean } | null = null
  let restUntil = 0
  let looked = 0
  let reported = false

  function open() {
    mkdirIfMissing(dir)
    chmodSync(dir, 0o700)
    const fd = openSync(path, 'a+', 0o600)
    fchmodSync(fd, 0o600)
    const { size, ino } = fstatSync(fd)
    looked = now()
    file = { fd, ino, size, torn: size > 0 && !endsALine(fd, size) }
    return file
  }

  function close(): void {
    if (file) closeSync(file.fd)
    file = null
  }

  /** Somebody may have removed or moved the file: lines written to it could not be read. */
  function stillThere(): typeof file {
    if (file && now() - looked >= lookMs) {
      looked = now()
      if (statSync(path, { throwIfNoEntry: false })?.ino !== file.ino) close()
    }
    return file
  }

  function rotate() {
    close()
    for (let age = mostOldLogs; age > 0; age--) {
      const younger = age === 1 ? path : `${path}.${age - 1}`
      if (statSync(younger, { throwIfNoEntry: false })) renameSync(younger, `${path}.${age}`)
    }
    return open()
  }

  function put(lines: string): void {
    let to = stillThere() ?? open()
    if (to.size > 0 && to.size + Buffer.byteLength(lines) > most) to = rotate()
    // A line truncated by a full disk must not swallow the next line as well.
    const bytes = Buffer.from(to.torn ? `\n${lines}` : lines)
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(to.fd, bytes, at)
      at += written
      to.size += written
      to.torn = at < bytes.length
    }
  }

  function write(lines: string): void {
    if (restUntil > 0 && now() < restUntil) return
    try {
      put(lines)
      restUntil = 0
    } catch (error) {
      restUntil = now() + restMs
      if (!reported) {
        reported = true
        failed(error)
      }
    }
  }

  // Creates the folder immediately, for those who watch it.
  write('')
  return {
    write,
    close() {
      close()
      restUntil = Number.POSITIVE_INFINITY
    },
  }
}

function mkdirIfMissing(dir: string): void {
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

function endsALine(fd: number, size: number): boolean {
  const last = Buffer.alloc(1)
  readSync(fd, last, 0, 1, size - 1)
  return last[0] === 10
}
