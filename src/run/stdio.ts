// CLIs that speak JSON lines on stdin and stdout: reading JSON of any shape, the reader that all dialects share, and a warm host.
import type { AgentEvent, Ended, Turn } from '../base/agent.ts'
import { isObject } from '../base/unknown.ts'
import { endOf, type Reader } from './cli.ts'
import { silentEnd } from './diagnosis.ts'
import { orAlive } from './events.ts'
import type { ProcessEnd, RunningProcess } from './process.ts'
import { type Host, leave } from './warm.ts'

export type Json = Readonly<Record<string, unknown>>

/** The object in a line; null if it is anything else. Nothing here throws. */
export function parseLine(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

export const object = (value: unknown): Json => (isObject(value) ? value : {})
export const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])
export const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : []
export const string = (value: unknown): string => (typeof value === 'string' ? value : '')
export const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** Skips lines that are not objects. `end`: what an exit means for a CLI that does not report its end; null: a failure. */
export function readJsonLines(
  read: (line: Json) => readonly AgentEvent[],
  end: (how: ProcessEnd) => Ended | null = () => null,
): Reader {
  let understood = false
  return {
    line(text) {
      const line = parseLine(text)
      if (!line) return []
      understood = true
      return read(line)
    },
    end: how => end(how) ?? silentEnd(how, understood),
  }
}

export interface StdioProtocol {
  /** Sent first. A CLI that does not understand this protocol would otherwise stay silent forever. */
  readonly hello: string
  /** Whether a line is the answer to `hello`. */
  isUp(line: Json): boolean
  /** `send`: for lines in the middle of the turn. `signal`: aborts when it is interrupted. */
  take(turn: Turn, send: (lines: string) => void, signal: AbortSignal): TakenTurn
  /** The line that interrupts a turn. The CLI answers it with the end of the turn. */
  interrupt(): string
}

export interface TakenTurn {
  /** The lines that start it. */
  readonly words: string
  /** For the output from then on, which may include lines of other turns. */
  readonly reader: Reader
  /** Called once when it is over, to send what is still to be said, such as answers that nobody gave. */
  over?(): void
}

export const jsonLine = (line: Json): string => `${JSON.stringify(line)}\n`

/**
 * A warm host for a CLI that takes one turn after another on stdin and answers on stdout, one session per process. Resolves when it is up, and also when it exits right away, because its
 * first turn then reports why.
 */
export async function openStdioHost(child: RunningProcess, protocol: StdioProtocol): Promise<Host> {
  const lines = child.lines[Symbol.asyncIterator]()
  child.send(protocol.hello)
  for (let up = false; !up; ) {
    const next = await lines.next()
    up = next.done === true || protocol.isUp(parseLine(next.value) ?? {})
  }

  async function* run(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const { words, reader, over } = protocol.take(turn, child.send, signal)
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
      over?.()
    }
  }

  return { pid: child.pid, run, close: () => leave(child), kill: child.kill, gone: child.end }
}

// Keeps messages plain text: some CLIs take `@path` as an instruction to include that file, or a leading `/` or `$` as a command.

/** An invisible word joiner after the `@` prevents that; the model reads the same text. */
export const withoutReferences = (text: string): string => text.replace(/(^|[^\p{L}\p{N}_.+-])@(?=\S)/gu, '$1@\u2060')

/** An invisible word joiner before the sign prevents that; the model reads the same text. */
export const withoutCommands = (text: string): string => text.replace(/^(\s*)([/$])/, '$1\u2060$2')
