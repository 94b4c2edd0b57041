// A command line of the owner's, for looking whether there is anything new.
import { spawn } from 'node:child_process'

const mostBytes = 1024 * 1024

interface Ended {
  readonly ok: boolean
  readonly output: string
}

/** In the workspace, with a plain environment, until the signal; then all that it has started goes with it. Never rejects. */
export function runShell(command: string, cwd: string, signal: AbortSignal): Promise<Ended> {
  if (signal.aborted) return Promise.resolve(failed('stopped before it began'))
  const { PATH = '', HOME = '', LANG = 'C.UTF-8' } = process.env
  return new Promise(resolve => {
    // A group of its own, to be ended as one. Nothing to read: a command that asks would wait for ever.
    const child = spawn('/bin/sh', ['-c', command], {
      ...{ cwd, env: { PATH, HOME, LANG }, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
    let bytes = 0
    const end = (ended: Ended) => {
      signal.removeEventListener('abort', stopped)
      resolve(ended)
    }
    const cutShort = (why: string) => {
      endGroup(child.pid)
      child.stdout.destroy()
      child.stderr.destroy()
      end(failed(why))
    }
    const stopped = () => cutShort('stopped')
    signal.addEventListener('abort', stopped)
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > mostBytes) cutShort('it printed too much')
        else said[name].push(chunk)
      })
    const text = (name: 'stdout' | 'stderr') => Buffer.concat(said[name]).toString('utf8')
    child.on('error', error => end(failed(error.message)))
    child.on('close', code =>
      end(code === 0 ? { ok: true, output: text('stdout') } : failed(text('stderr').slice(0, 500))),
    )
  })
}

const failed = (output: string): Ended => ({ ok: false, output })

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
