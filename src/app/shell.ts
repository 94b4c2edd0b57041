// Runs a shell command of the owner's, for the pre-check of a job.
import { spawn } from 'node:child_process'

const mostBytes = 1024 * 1024

interface Ended {
  readonly ok: boolean
  readonly output: string
}

/** Runs in the workspace with a minimal environment until the signal, then kills everything it has started. Never rejects. */
export function runShell(command: string, cwd: string, signal: AbortSignal): Promise<Ended> {
  if (signal.aborted) return Promise.resolve(failed('stopped before it began'))
  const { PATH = '', HOME = '', LANG = 'C.UTF-8' } = process.env
  return new Promise(resolve => {
    // Its own process group, to be killed as a whole. No stdin: a command that prompts would wait forever.
    const child = spawn('/bin/sh', ['-c', command], {
      ...{ cwd, env: { PATH, HOME, LANG }, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.on('error', error => resolve(failed(error.message)))
    // Without file descriptors for the pipes, there is only the error event.
    if (child.stdio === undefined) return
    const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
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
        else chunks[name].push(chunk)
      })
    const text = (name: 'stdout' | 'stderr') => Buffer.concat(chunks[name]).toString('utf8')
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
