// A warm host for a CLI that takes one turn after another on stdin and answers on stdout, one session per process.
import type { AgentEvent, Turn } from '../base/agent.ts'
import { endOf, type Reader } from './cli.ts'
import { orAlive } from './events.ts'
import { type Json, parseLine } from './json.ts'
import type { RunningProcess } from './process.ts'
import { type Host, leave } from './warm.ts'

export interface StdioProtocol {
  /** Sent first. A CLI that does not understand this protocol would otherwise stay silent forever. */
  readonly hello: string
  /** Whether a line is the answer to `hello`. */
  isUp(line: Json): boolean
  /** The lines that start a turn, and a reader for the output from then on, which may include lines of other turns. */
  take(turn: Turn): { readonly words: string; readonly reader: Reader }
  /** The line that interrupts a turn. The CLI answers it with the end of the turn. */
  interrupt(): string
}

/** Resolves when it is up, and also when it exits right away, because its first turn then reports why. */
export async function openStdioHost(child: RunningProcess, protocol: StdioProtocol): Promise<Host> {
  const lines = child.lines[Symbol.asyncIterator]()
  child.send(protocol.hello)
  for (let up = false; !up; ) {
    const next = await lines.next()
    up = next.done === true || protocol.isUp(parseLine(next.value) ?? {})
  }

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const { words, reader } = protocol.take(turn)
    const interrupt = () => child.send(protocol.interrupt())
    child.startCounting()
    child.send(words)
    signal.addEventListener('abort', interrupt, { once: true })
    if (signal.aborted) interrupt()
    try {
      for (;;) {
        const next = await lines.next()
        if (next.done) {
          yield endOf(await child.end, reader)
          return
        }
        for (const event of orAlive(reader.line(next.value))) {
          yield event
          if (event.type === 'ended') return
        }
      }
    } finally {
      signal.removeEventListener('abort', interrupt)
    }
  }

  return { pid: child.pid, run, close: () => leave(child), kill: child.kill, gone: child.end }
}
