// A reader of JSON lines: what all dialects do the same way.
import type { AgentEvent, Ended } from '../base/agent.ts'
import type { Reader } from './cli.ts'
import { silentEnd } from './diagnosis.ts'
import { type Json, parseLine } from './json.ts'
import type { ProcessEnd } from './process.ts'

/** What is no object is passed over. `end`: what leaving means to a CLI that has no word for it; null: nothing good. */
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
