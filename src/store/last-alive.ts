// When a turn was last known to run: after a kill, later changes to files were not made by it.
import { lstatSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** `during`: while a turn ran. `after`: when its process was certainly dead. `unclear`: the times do not tell. */
type Moment = 'during' | 'after' | 'unclear'

export interface LastAlive {
  /** Call when a turn starts; call the returned function at its end. */
  watch(): () => void
  /** For the start after a kill that interrupted turns: tells when a file was changed. */
  afterKill(): (file: string) => Moment
}

const everyMs = 5000
/** How long a process may run after the last sign of life: until the next sign was due, plus the time to end it for certain. */
const defaultDeadAfterMs = 30_000

/** Uses only file system timestamps that nobody can set: other clocks may show another time. */
export function createLastAlive(dir: string, deadAfterMs = defaultDeadAfterMs): LastAlive {
  const path = join(dir, '.aetheel', 'guest-alive')
  let watching = 0
  let timer: NodeJS.Timeout | null = null

  function touch(): void {
    try {
      // Needs no disk space. The given times do not matter: what is used is when they were set.
      utimesSync(path, 0, 0)
    } catch {
      create()
    }
  }

  function create(): void {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, '', { mode: 0o600 })
    } catch {
      // Without the file, no change counts as made after a kill.
    }
  }

  /** The current time by the file system's clock; null: nothing can be written. */
  function now(): number | null {
    const probe = `${path}-now`
    try {
      writeFileSync(probe, '', { mode: 0o600 })
      return lstatSync(probe).ctimeMs
    } catch {
      return null
    } finally {
      rmSync(probe, { force: true })
    }
  }

  return {
    watch() {
      watching++
      touch()
      timer ??= setInterval(touch, everyMs).unref()
      return () => {
        watching--
        if (watching > 0 || timer === null) return
        clearInterval(timer)
        timer = null
      }
    },
    afterKill() {
      const aliveAt = lstatSync(path, { throwIfNoEntry: false })?.ctimeMs
      // Also if the clock was set back since.
      if (aliveAt === undefined || (now() ?? 0) < aliveAt) return () => 'unclear'
      return file => momentOf(resolve(dir, file), aliveAt, aliveAt + deadAfterMs)
    },
  }
}

function momentOf(path: string, alive: number, dead: number): Moment {
  const found = lstatSync(path, { throwIfNoEntry: false })
  // Nothing tells when a file was deleted, or when the target of a link changed.
  if (!found || found.isSymbolicLink()) return 'unclear'
  // Copies keep the modification time, and chmod changes only ctime.
  const first = Math.min(found.mtimeMs, found.ctimeMs)
  const last = Math.max(found.mtimeMs, found.ctimeMs)
  if (last <= alive) return 'during'
  return first > dead ? 'after' : 'unclear'
}
