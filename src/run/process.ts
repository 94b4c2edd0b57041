// One child process from spawn to its last descendant: bounded output, its own process group, nothing survives an abort.

import { type ChildProcess, spawn } from 'node:child_process'
import { errorText } from '../base/error-text.ts'
import { isNoRoom } from './descriptors.ts'
import { createEnding } from './end-processes.ts'
import { createTail, openLines, type TooMuch } from './lines.ts'

export interface ProcessOrder {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Written to stdin, which is then closed. Null: it stays open for `send`. */
  readonly input: string | null
}

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last part of stderr. */
  readonly stderr: string
  /** Set when it could not be started (`no-room`: for lack of descriptors, processes or memory), or was killed because of its output. */
  readonly trouble: 'spawn' | 'no-room' | 'line-too-long' | 'too-much-output' | null
  readonly detail: string
}

export interface RunningProcess {
  readonly pid: number | null
  /** Complete lines of stdout, as they come. Ends when stdout ends or the process is killed. */
  readonly lines: AsyncIterable<string>
  /** Resolves when it and everything it started are gone; never rejects. */
  readonly end: Promise<ProcessEnd>
  /** Writes to an open stdin. A process that no longer reads it is not an error here: its end reports why. */
  send(text: string): void
  /** Closes an open stdin: most programs exit then. */
  endInput(): void
  /** Restarts the count for the limit on the whole output. */
  startCounting(): void
  /** SIGTERM for it and everything it started, SIGKILL for the rest after the grace period. No further output is passed on. */
  kill(): void
}

export const outputLimits = { line: 16 * 1024 * 1024, total: 256 * 1024 * 1024, stderr: 16 * 1024, graceMs: 5000 }

export function startProcess(order: ProcessOrder, limits = outputLimits): RunningProcess {
  const ending = createEnding(order.env, limits.graceMs)
  let child: ChildProcess
  try {
    child = spawn(order.file, [...order.args], {
      env: { ...order.env },
      cwd: order.cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  } catch (error) {
    // E2BIG and bad arguments are thrown, ENOENT comes as an event. Both end the same way.
    ending.neverBegan()
    return unstarted(error)
  }
  // First of all: without descriptors the child has no pipes, and `error` is the only event that comes.
  const failing = new Promise<unknown>(resolve => child.on('error', resolve))
  ending.began(child)
  return follow(child, order.input, ending, failing, limits)
}

function follow(
  child: ChildProcess,
  input: string | null,
  ending: ReturnType<typeof createEnding>,
  failing: Promise<unknown>,
  limits: typeof outputLimits,
): RunningProcess {
  let tooMuch: TooMuch | null = null
  let exited = false
  const kill = () => {
    lines.drop()
    child.stdout?.destroy()
    ending.begin()
  }
  const lines = openLines(
    limits,
    why => {
      tooMuch = why
      kill()
    },
    on => {
      // After the exit little is left in the pipe, and its end is awaited.
      if (on || exited) child.stdout?.resume()
      else child.stdout?.pause()
    },
  )
  const stderr = createTail(limits.stderr)
  child.stdout?.on('data', (chunk: Buffer) => lines.feed(chunk))
  child.stdout?.on('error', () => lines.close())
  child.stderr?.on('data', (chunk: Buffer) => stderr.feed(chunk))
  child.stderr?.on('error', () => undefined /* the rest of stderr is lost */)
  child.stdin?.on('error', () => undefined /* it need not read its input: EPIPE does not fail the run */)
  if (input !== null) child.stdin?.end(input)

  const end = new Promise<ProcessEnd>(resolve => {
    let done = false
    const finish = (how: Pick<ProcessEnd, 'code' | 'signal'>, failure?: ReturnType<typeof failureOf>) => {
      if (done) return
      done = true
      lines.close()
      // A background process may hold the other ends. Our ends must not keep the gateway from exiting.
      child.stdout?.destroy()
      child.stderr?.destroy()
      const result = () => ({ ...how, stderr: stderr.text(), ...(failure ?? { trouble: tooMuch, detail: '' }) })
      void ending.finish().then(() => resolve(result()))
    }
    void failing.then(error => finish({ code: null, signal: null }, failureOf(error)))
    child.on('exit', (code, signal) => {
      exited = true
      ending.exited()
      child.stdout?.resume()
      // Usually `close` follows right away. A grandchild that holds the pipes must not hold up the turn.
      const patience = setTimeout(() => finish({ code, signal }), 1000)
      child.on('close', () => {
        clearTimeout(patience)
        finish({ code, signal })
      })
    })
  })
  return {
    pid: child.pid ?? null,
    lines: lines.read(),
    end,
    send: text => void (child.stdin?.writable && child.stdin.write(text)),
    endInput: () => void child.stdin?.end(),
    startCounting: lines.startCounting,
    kill,
  }
}

/** A process that could not be started. */
function unstarted(error: unknown): RunningProcess {
  const end = Promise.resolve({ code: null, signal: null, stderr: '', ...failureOf(error) })
  const nothing = () => undefined
  return { pid: null, lines: none(), end, send: nothing, endInput: nothing, startCounting: nothing, kill: nothing }
}

function failureOf(error: unknown): Pick<ProcessEnd, 'trouble' | 'detail'> {
  const detail = errorText(error)
  return { trouble: isNoRoom(error) ? 'no-room' : 'spawn', detail }
}

async function* none(): AsyncGenerator<string> {}
