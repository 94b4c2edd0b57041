// The sample dashboard as a separate process, for pictures and tests.
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export interface Dashboard {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string
  readonly pid: number
  output(): string
  /** Like Ctrl-C. Resolves with the exit code. */
  stop(): Promise<number | null>
}

/** `env`: additional variables. TZ determines which hours of the day have sample data. */
export async function startDashboard(env: Readonly<Record<string, string>> = {}): Promise<Dashboard> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'dashboard.ts')],
    {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const exit = new Promise<number | null>(done => child.on('close', done))
  let over = false
  void exit.then(() => {
    over = true
  })
  for (;;) {
    const [, url, token] = /Control {2}(http:\S+)\/\?token=(\S+)/.exec(output) ?? []
    if (url && token) return { url, token, pid: child.pid ?? 0, output: () => output, stop }
    if (over) throw new Error(`the dashboard ended before it was ready:\n${output}`)
    await new Promise(done => setTimeout(done, 10))
  }

  function stop() {
    child.kill('SIGINT')
    return exit
  }
}

/** A time zone in which it is early afternoon now, so that the sample's last day has enough data. */
export const afternoon = (now: number): string => {
  const ahead = 15 - new Date(now).getUTCHours()
  const offset = ahead > 12 ? ahead - 24 : ahead < -12 ? ahead + 24 : ahead
  // The signs of these zones are inverted.
  return offset === 0 ? 'UTC' : `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`
}
