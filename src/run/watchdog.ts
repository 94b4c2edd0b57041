// A small program that holds the other end of a pipe. When the gateway is gone for any reason, it ends all runs.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Identity } from './process-table.ts'

/** A run as the watchdog knows it. */
export interface Listed {
  readonly root: Identity | null
  /** The environment entry that all processes of the run inherit. */
  readonly tag: string | null
}

/**
 * A shell, because it is small; it starts a program that can look for processes only at the end. It remembers the last complete line.
 * It ignores the signals that ask the gateway to stop, because they may reach it too.
 */
const script = `trap '' HUP INT TERM
list='[]'
while IFS= read -r next; do list=$next; done
[ "$list" = '[]' ] && exit
printf '%s\\n' "$list" | exec "$@"`

const reaper = [process.execPath, '--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'reap.ts')]

/** One per gateway process: started with the first run, and restarted if it is gone. */
export const watchdog = createWatchdog()

function createWatchdog() {
  let dog: ChildProcess | null = null

  function start(): ChildProcess | null {
    const started = spawn('/bin/sh', ['-c', script, 'sh', ...reaper], {
      cwd: '/',
      env: {},
      // Ctrl-C in a terminal goes to the whole process group.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const lost = () => {
      if (dog === started) dog = null
    }
    started.on('error', lost)
    started.on('exit', lost)
    // There are no descriptors left; the next run tries again.
    if (!started.stdin) return null
    started.stdin.on('error', lost)
    started.unref()
    if ('unref' in started.stdin && typeof started.stdin.unref === 'function') started.stdin.unref()
    return started
  }

  return {
    /** Sends the list of all runs. It is in the pipe when this returns, so it survives a kill right after. */
    emit(runs: readonly Listed[]): void {
      if (dog === null && runs.length === 0) return
      dog ??= start()
      const tagged = runs.filter(({ tag }) => tag !== null).map(({ root, tag }) => ({ root, tag }))
      dog?.stdin?.write(`${JSON.stringify(tagged)}\n`)
    },
    pid: (): number | null => dog?.pid ?? null,
  }
}
