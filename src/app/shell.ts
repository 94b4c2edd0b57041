// A command line of the owner's, for looking whether there is anything new.
import { execFile } from 'node:child_process'

const mostBytes = 1024 * 1024

/** In the workspace, with a plain environment, until the signal. Never rejects. */
export function runShell(
  command: string,
  cwd: string,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const { PATH = '', HOME = '', LANG = 'C.UTF-8' } = process.env
  return new Promise(resolve => {
    const options = { cwd, signal, maxBuffer: mostBytes, env: { PATH, HOME, LANG }, killSignal: 'SIGKILL' } as const
    execFile('/bin/sh', ['-c', command], options, (error, stdout, stderr) =>
      resolve(error ? { ok: false, output: stderr.slice(0, 500) || error.message } : { ok: true, output: stdout }),
    )
  })
}
