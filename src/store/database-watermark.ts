// The number of the newest item, in a file beside the database. At the start it shows whether the database is older than it was.
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'

export interface Watermark {
  /** How many items that once existed are missing. */
  readonly lost: number
  /** The loss was reported: from now on the watermark follows the database again. */
  lossReported(): void
  /**
   * Call after each commit; reads the newest number immediately and then at most ten times a second. Without fsync: a kill does not
   * undo it.
   */
  note(): void
  close(): void
}

const width = 20

const everyMs = 100

/** `newest`: the newest number in the database. */
export function openWatermark(path: string, newest: () => number): Watermark {
  if (path === ':memory:')
    return { lost: 0, lossReported: () => undefined, note: () => undefined, close: () => undefined }
  const file = `${path}-newest`
  const before = read(file)
  const lost = Math.max(0, before - newest())
  let follows = lost === 0
  let noted = before
  let handle: number | null = null
  let writtenAt = -everyMs
  let later: NodeJS.Timeout | null = null

  function write(): void {
    if (later !== null) clearTimeout(later)
    later = null
    writtenAt = performance.now()
    try {
      const now = newest()
      if (!follows || now === noted) return
      handle ??= openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
      // Always the same length, overwriting the old value.
      writeSync(handle, `${String(now).padStart(width, '0')}\n`, 0)
      noted = now
    } catch {
      // Full disk: the watermark falls behind, and a loss may go unnoticed; nothing else happens.
    }
  }

  return {
    lost,
    lossReported() {
      follows = true
    },
    note() {
      const wait = writtenAt + everyMs - performance.now()
      if (wait <= 0) write()
      else later ??= setTimeout(write, wait).unref()
    },
    close() {
      write()
      if (handle !== null) closeSync(handle)
    },
  }
}

function read(file: string): number {
  try {
    const text = readFileSync(file, 'utf8')
    return /^\d{20}\n$/.test(text) ? Number(text) : 0
  } catch {
    return 0 // the first start with this database
  }
}
