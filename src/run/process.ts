// One child process from spawn to its last descendant: bounded output, its own group, nothing survives an abort.
import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { descendants, isAlive } from './proc.ts'
import { findProgram } from './which.ts'

export interface ProcessOrder {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Written to stdin, which is then closed. Null: it stays open for `send`, and the program goes with the gateway. */
  readonly input: string | null
}

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last part of stderr. */
  readonly stderr: string
  /** Set when it could not be started, or was ended by us because of its output. */
  readonly trouble: 'spawn' | 'line-too-long' | 'too-much-output' | null
  readonly detail: string
}

export interface RunningProcess {
  readonly pid: number | null
  /** Complete lines of stdout, as they come. Ends when stdout does, or the process was ended. */
  readonly lines: AsyncIterable<string>
  /** Resolves when it is gone and, if it was killed, everything it started; never rejects. */
  readonly end: Promise<ProcessEnd>
  /** To an open stdin. A process that does not read it any more is no failure here: its end tells. */
  send(text: string): void
  /** Closes an open stdin: most programs leave then. */
  endInput(): void
  /** The bound on its whole output counts from here on. */
  startCounting(): void
  /** SIGTERM for the group, SIGKILL after the grace for all that is left. */
  kill(): void
}

export const outputLimits = { line: 16 * 1024 * 1024, total: 256 * 1024 * 1024, stderr: 16 * 1024, graceMs: 5000 }

const alive = new Set<number>()

/** For the last moment of this process: ends every run at once, without asking. */
export function killEverything(): void {
  for (const pid of alive) {
    for (const below of descendants(pid)) signalOne(below, 'SIGKILL')
    signalGroup(pid, 'SIGKILL')
  }
}

/**
 * What stays up has a watcher beside it that holds the other end of a pipe of ours: the pipe ends with the gateway, however that
 * ends, and then the program is ended with all that it has started. Its own input is no sign to rely on: in the middle of a turn
 * most do not look at it. The program itself takes the place of the shell, so that it is our child as any other.
 */
function watched(file: string, args: readonly string[]): readonly [string, readonly string[]] {
  const watch = `
    exec 4<&0 </dev/null
    (
      exec 4<&-
      read -r _
      # Nothing to do for one whose program has left before.
      read -r self _ _ parent _ </proc/self/stat
      [ "$parent" = "$$" ] || exit
      # All below it, also those that have left its group; by rounds, since a child may be listed before its parent.
      all=" $$ "
      grew=1
      while [ "$grew" ]; do
        grew=
        for stat in /proc/[0-9]*/stat; do
          read -r line <"$stat" || continue
          pid=\${stat#/proc/}
          pid=\${pid%/stat}
          rest=\${line##*) ? }
          case "$all" in *" $pid "*) continue ;; esac
          case "$all" in *" \${rest%% *} "*) [ "$pid" = "$self" ] || { all="$all$pid "; grew=1; } ;; esac
        done
      done
      kill $all
      n=0
      while kill -0 $$ && [ "$n" -lt ${outputLimits.graceMs / 100} ]; do sleep 0.1; n=$((n + 1)); done
      kill -9 $all
    ) <&3 >/dev/null 2>&1 &
    exec "$@" <&4 3<&- 4<&-`
  return ['/bin/sh', ['-c', watch, 'sh', file, ...args]]
}

export function startProcess(order: ProcessOrder, limits = outputLimits): RunningProcess {
  let trouble: ProcessEnd['trouble'] = null
  let detail = ''
  let child: ChildProcess
  try {
    const stays = order.input === null
    // The shell would tell that it is missing only in words.
    if (stays && findProgram(order.file, order.env.PATH) === null) throw new Error(`spawn ${order.file} ENOENT`)
    const [file, args] = stays ? watched(order.file, order.args) : [order.file, order.args]
    child = spawn(file, [...args], {
      env: { ...order.env },
      cwd: order.cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', ...(stays ? (['pipe'] as const) : [])],
    })
  } catch (error) {
    // E2BIG and bad arguments are thrown, ENOENT comes as an event: both end the same way.
    const end = Promise.resolve({
      code: null,
      signal: null,
      stderr: '',
      trouble: 'spawn',
      detail: messageOf(error),
    } as const)
    const nothing = () => undefined
    return { pid: null, lines: none(), end, send: nothing, endInput: nothing, startCounting: nothing, kill: nothing }
  }

  const { pid } = child
  if (pid !== undefined) alive.add(pid)
  const killing = openKill(child, limits.graceMs)
  const lines = openLines(limits.line, limits.total, why => {
    trouble = why
    killing.begin()
  })
  const stderr = openTail(limits.stderr)
  child.stdout?.on('data', (chunk: Buffer) => lines.feed(chunk))
  child.stdout?.on('error', () => lines.close())
  child.stderr?.on('data', (chunk: Buffer) => stderr.feed(chunk))
  for (const pipe of child.stdio.slice(3))
    pipe?.on('error', () => undefined /* the watcher is gone, and so is the program */)
  child.stdin?.on('error', () => undefined /* it need not read its input: EPIPE is no failure of the run */)
  if (order.input !== null) child.stdin?.end(order.input)

  const end = new Promise<ProcessEnd>(resolve => {
    let done = false
    const finish = (code: number | null, signal: NodeJS.Signals | null) => {
      if (done) return
      done = true
      lines.close()
      // Something in the background may hold the other ends; ours must not hold this process when it wants to leave.
      child.stdout?.destroy()
      child.stderr?.destroy()
      for (const pipe of child.stdio.slice(3)) pipe?.destroy()
      if (pid !== undefined) alive.delete(pid)
      void killing.finish().then(() => resolve({ code, signal, stderr: stderr.text(), trouble, detail }))
    }
    child.on('error', error => {
      trouble = 'spawn'
      detail = messageOf(error)
      finish(null, null)
    })
    child.on('exit', (code, signal) => {
      // The watcher has nothing left to watch. It leaves with its pipe, and `close` would wait for both.
      for (const pipe of child.stdio.slice(3)) pipe?.destroy()
      // Usually `close` follows at once; a grandchild that holds the pipes must not hold the turn.
      const patience = setTimeout(() => finish(code, signal), 1000)
      child.on('close', () => {
        clearTimeout(patience)
        finish(code, signal)
      })
    })
  })
  return {
    pid: pid ?? null,
    lines: lines.read(),
    end,
    send: text => void (child.stdin?.writable && child.stdin.write(text)),
    endInput: () => void child.stdin?.end(),
    startCounting: lines.startCounting,
    kill: killing.begin,
  }
}

/** The group first; then whoever left the group, collected from the process table while the parents still lived. */
function openKill(child: ChildProcess, graceMs: number) {
  let begun = false
  let collected: readonly number[] = []
  let timer: NodeJS.Timeout | null = null
  const signalAll = (signal: NodeJS.Signals) => {
    if (child.pid === undefined) return
    collected = [...new Set([...collected, ...descendants(child.pid)])]
    signalGroup(child.pid, signal)
    for (const pid of collected) signalOne(pid, signal)
  }
  return {
    begin() {
      if (begun || child.pid === undefined) return
      begun = true
      signalAll('SIGTERM')
      timer = setTimeout(() => signalAll('SIGKILL'), graceMs)
    },
    async finish() {
      if (timer) clearTimeout(timer)
      if (!begun || child.pid === undefined) return
      signalGroup(child.pid, 'SIGKILL')
      for (const pid of collected) signalOne(pid, 'SIGKILL')
      for (let i = 0; i < 100 && collected.some(isAlive); i++) await new Promise(resolve => setTimeout(resolve, 10))
    },
  }
}

export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Already gone: what was wanted.
  }
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  signalOne(-pid, signal)
}

/** Splits on \n only: U+2028 and the like are ordinary characters inside JSON. */
function openLines(maxLine: number, maxTotal: number, stop: (why: 'line-too-long' | 'too-much-output') => void) {
  const decoder = new StringDecoder('utf8')
  let ready: string[] = []
  let partial: string[] = []
  let partialLength = 0
  let total = 0
  let closed = false
  let wake: (() => void) | null = null

  const nudge = () => {
    wake?.()
    wake = null
  }
  const close = () => {
    if (closed) return
    closed = true
    const rest = partial.join('') + decoder.end()
    partial = []
    if (rest.trim() !== '') ready.push(rest)
    nudge()
  }
  const abandon = (why: 'line-too-long' | 'too-much-output') => {
    partial = []
    closed = true
    stop(why)
    nudge()
  }
  return {
    feed(chunk: Buffer) {
      if (closed) return
      total += chunk.length
      if (total > maxTotal) return abandon('too-much-output')
      const [first = '', ...others] = decoder.write(chunk).split('\n')
      partial.push(first)
      partialLength += first.length
      for (const piece of others) {
        ready.push(partial.join(''))
        partial = [piece]
        partialLength = piece.length
      }
      if (partialLength > maxLine) return abandon('line-too-long')
      if (ready.length > 0) nudge()
    },
    close,
    startCounting() {
      total = 0
    },
    async *read(): AsyncGenerator<string> {
      for (;;) {
        const batch = ready
        ready = []
        for (const line of batch) if (line.trim() !== '') yield line
        if (ready.length > 0) continue
        if (closed) return
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

function openTail(max: number) {
  let tail = Buffer.alloc(0)
  return {
    feed(chunk: Buffer) {
      tail = Buffer.concat([tail, chunk])
      if (tail.length > max) tail = tail.subarray(tail.length - max)
    },
    // Without the colours that some programs write into a pipe as well.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape that begins a colour
    text: () => tail.toString('utf8').replace(/\u001b\[[\d;]*m/g, ''),
  }
}

async function* none(): AsyncGenerator<string> {}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
