// A home for one test: `await using home = await temporaryHome()`. Processes started in it end with it.
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway, token } from '../harness/gateway.ts'

export interface TemporaryHome extends Home, AsyncDisposable {
  start(env?: Record<string, string>): Promise<RunningGateway>
  /** Started runs of the fake CLI, in order. */
  begun(): {
    now: string
    prompt: string
    about: string
    session: string
    resumed: boolean
    pid: number
    system: string
  }[]
}

export async function temporaryHome(): Promise<TemporaryHome> {
  const home = await makeHome()
  return {
    ...home,
    start: env => startGateway(home, env),
    begun: () =>
      home
        .journal()
        .filter(entry => entry.what === 'begin')
        .map(({ now, prompt = '', about = '', session = '', resumed, pid, system }) => ({
          ...{ now: String(now), prompt, about, session, resumed: resumed === true },
          ...{ pid, system: String(system) },
        })),
    async [Symbol.asyncDispose]() {
      await endAll(home)
      await rm(home.dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** All processes with this home: the gateway and its descendants. */
async function endAll(home: Home): Promise<void> {
  for (let left = processesWith(home.dir); left.length > 0; left = processesWith(home.dir)) {
    for (const pid of left) endNow(pid)
    await pause(20)
  }
}

/** The exit code, or an error that shows the output if it takes too long. */
export async function exitOf(
  run: { readonly exit: Promise<number | NodeJS.Signals | null>; output(): string },
  ms = 15_000,
): Promise<number | NodeJS.Signals | null> {
  const late = pause(ms).then(() => Promise.reject(new Error(`still running after ${ms} ms:\n${run.output()}`)))
  return Promise.race([run.exit, late])
}

export async function statusOf({ url }: { readonly url: string }) {
  const answer = await fetch(`${url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
  return (await answer.json()) as {
    readonly events: Readonly<Record<'received' | 'answered' | 'waiting' | 'running' | 'refused' | 'failed', number>>
    readonly deliveries: Readonly<Record<'sent' | 'failed' | 'waiting' | 'delayed', number>>
  }
}

/** Received messages without an end that are not in progress: must be zero. */
export async function unaccounted(gateway: { readonly url: string }): Promise<number> {
  const { received, answered, waiting, running, refused, failed } = (await statusOf(gateway)).events
  return received - answered - waiting - running - refused - failed
}

/** Waits until the condition holds; the error says what was waited for. */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  for (const until = performance.now() + ms; performance.now() < until; await pause(20)) if (await isSo()) return
  throw new Error(`${what}: not within ${ms} ms`)
}

export const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** Also false for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has exited meanwhile.
  }
}
