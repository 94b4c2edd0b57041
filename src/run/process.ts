// One child process from spawn to its last descendant: bounded output, its own process group, nothing survives an abort.
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { errorText } from '../base/unknown.ts'
import { createEnding } from './end-processes.ts'

export interface ProcessOrder {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Written to stdin, which is then closed. Null: it stays open for `send`. */
  readonly input: string | null
  /** The network of its box, which ends with it. */
  readonly network?: { readonly dial: Dial; close(): void }
}

/** Asks for a connection. */
type Dial = (ready: (error: Error | null, socket: Duplex) => void) => undefined

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
  /** Calls it on the port where it listens, if it is in a box with a network of its own. */
  readonly dial?: Dial
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
    order.network?.close()
    return unstarted(error)
  }
  // First of all: without descriptors the child has no pipes, and `error` is the only event that comes.
  const failing = new Promise<unknown>(resolve => child.on('error', resolve))
  ending.began(child)
  const running = follow(child, order.input, ending, failing, limits)
  const { network } = order
  if (!network) return running
  void running.end.then(network.close)
  return { ...running, dial: network.dial }
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

// How many file descriptors this process has left. Without enough of them, a turn would fail half-way.

/** Files, pipes and sockets that a turn opens at the same time when it starts. */
const neededByTurn = 12

/** Reserved from new connections, so that connected users still get answers. */
const reservedForTurns = neededByTurn + 8

export const hasRoomForTurn = (): boolean => descriptorsLeft() >= neededByTurn

export const hasRoomForConnection = (): boolean => descriptorsLeft() >= reservedForTurns

/** Whether a system call failed because this machine is out of descriptors, processes or memory. */
export const isNoRoom = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && noRoom.includes(String(error.code))

const noRoom = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']

/** Infinity if the system does not report it. */
function descriptorsLeft(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    // Newer kernels report the count as the size.
    const used = statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit) - used
  } catch (error) {
    return isNoRoom(error) ? 0 : Number.POSITIVE_INFINITY
  }
}

// The output of a process: complete lines of stdout within limits, and the last part of stderr.

export type TooMuch = 'line-too-long' | 'too-much-output'

export interface LineLimits {
  readonly line: number
  readonly total: number
}

/** The most that may wait to be read. Beyond that, the writer is paused. */
const mostWaiting = 4 * 1024 * 1024

/** Splits on \n only: U+2028 and the like are ordinary characters inside JSON. `flow` pauses or resumes the writer. */
export function openLines(limits: LineLimits, stop: (why: TooMuch) => void, flow: (on: boolean) => void) {
  const decoder = new StringDecoder('utf8')
  let ready: string[] = []
  let partial: string[] = []
  let partialLength = 0
  let waiting = 0
  let held = false
  let total = 0
  let closed = false
  /** Lines that are still buffered are not handed out. */
  let dropped = false
  let wake: (() => void) | null = null

  const nudge = () => {
    wake?.()
    wake = null
  }
  const hold = (on: boolean) => {
    if (held === on) return
    held = on
    flow(!on)
  }
  const drop = () => {
    closed = true
    dropped = true
    ready = []
    partial = []
    nudge()
  }
  const abandon = (why: TooMuch) => {
    drop()
    stop(why)
  }
  return {
    feed(chunk: Buffer) {
      if (closed) return
      total += chunk.length
      if (total > limits.total) return abandon('too-much-output')
      const [first = '', ...others] = decoder.write(chunk).split('\n')
      partial.push(first)
      partialLength += first.length
      for (const piece of others) {
        const line = partial.join('')
        ready.push(line)
        waiting += line.length
        partial = [piece]
        partialLength = piece.length
      }
      if (partialLength > limits.line) return abandon('line-too-long')
      if (ready.length > 0) nudge()
      if (waiting > mostWaiting) hold(true)
    },
    close() {
      if (closed) return
      closed = true
      const rest = partial.join('') + decoder.end()
      partial = []
      if (rest.trim() !== '') ready.push(rest)
      nudge()
    },
    /** Nothing more is handed out, not even lines that have arrived already. */
    drop,
    startCounting() {
      total = 0
    },
    async *read(): AsyncGenerator<string> {
      for (;;) {
        const batch = ready
        ready = []
        for (const line of batch) {
          if (dropped) return
          waiting -= line.length
          if (waiting <= mostWaiting / 2) hold(false)
          if (line.trim() !== '') yield line
        }
        if (ready.length > 0) continue
        if (closed) return
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

export function createTail(max: number) {
  let tail = Buffer.alloc(0)
  return {
    feed(chunk: Buffer) {
      tail = Buffer.concat([tail, chunk])
      if (tail.length > max) tail = tail.subarray(tail.length - max)
    },
    // Without the colours that some programs write even into a pipe.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape that begins a colour
    text: () => tail.toString('utf8').replace(/\u001b\[[\d;]*m/g, ''),
  }
}
