// A reader of JSON lines: the part that all dialects share.
import type { AgentEvent, Ended } from '../base/agent.ts'
import type { Reader } from './cli.ts'
import { silentEnd } from './diagnosis.ts'
import { type Json, parseLine } from './json.ts'
import type { ProcessEnd } from './process.ts'

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
