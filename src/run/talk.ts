// A CLI that takes one turn after the other on its stdin and answers on its stdout, one session per process.
import type { AgentEvent, Turn } from '../base/agent.ts'
import { endOf, type Reader } from './cli.ts'
import { type Json, parseLine } from './json.ts'
import type { RunningProcess } from './process.ts'
import { type Host, leave } from './warm.ts'

export interface Talk {
  /** Said first. One that does not understand this way of talking would be silent for ever. */
  readonly hello: string
  /** Whether a line answers it. */
  isUp(line: Json): boolean
  /** The lines that begin a turn. */
  begin(turn: Turn): string
  /** The line that breaks one off; it is answered with the turn's end. */
  interrupt(): string
  /** A reader for one turn. */
  read(turn: Turn): Reader
}

/** Resolves when it is up; also when it has left at once, for then its first turn tells why. */
export async function openTalk(child: RunningProcess, talk: Talk): Promise<Host> {
  const lines = child.lines[Symbol.asyncIterator]()
  child.send(talk.hello)
  for (let up = false; !up; ) {
    const next = await lines.next()
    up = next.done === true || talk.isUp(parseLine(next.value) ?? {})
  }

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const reader = talk.read(turn)
    const interrupt = () => child.send(talk.interrupt())
    child.startCounting()
    child.send(talk.begin(turn))
    signal.addEventListener('abort', interrupt, { once: true })
    if (signal.aborted) interrupt()
    try {
      for (;;) {
        const next = await lines.next()
        if (next.done) {
          yield endOf(await child.end, reader)
          return
        }
        for (const event of reader.line(next.value)) {
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
