// What pi asks in the middle of a turn, by an extension of ours, and what it is told there.
import type { AgentEvent } from '../../base/agent.ts'
import { canonicalJson, type Verdict } from '../../base/tool-use.ts'
import { type Json, jsonLine, object, parseLine, string, withoutCommands } from '../stdio.ts'
import { workOf } from '../tool-work.ts'

const title = 'aetheel asks'

/** Pi itself has no questions about tools. The extension asks with a text field, because its yes or no could carry no reason. */
export const askingExtension = (tools: readonly string[]): string => `export default pi => {
  const asked = new Set(${JSON.stringify(tools)})
  pi.on('tool_call', async (event, ctx) => {
    if (!asked.has(event.toolName)) return
    const about = JSON.stringify({ id: event.toolCallId, tool: event.toolName, input: event.input })
    const answer = await ctx.ui.input(${JSON.stringify(title)}, about, { signal: ctx.signal })
    const verdict = answer === undefined ? {} : JSON.parse(answer)
    if (verdict.allow !== true) return { block: true, reason: verdict.message ?? 'Nobody answered.' }
  })
}
`

/** Its name for a tool, as in ALLOWED_TOOLS. */
export const usualName = (tool: string): string => names.get(tool) ?? tool

const names: ReadonlyMap<string, string> = new Map([
  ['read', 'Read'],
  ['ls', 'LS'],
  ['find', 'Glob'],
  ['grep', 'Grep'],
  ['write', 'Write'],
  ['edit', 'Edit'],
  ['bash', 'Bash'],
])

/** Of one turn. */
export interface PiTalk {
  readonly steerable: Extract<AgentEvent, { type: 'steerable' }>
  /** A line in which an extension asks. */
  asked(line: Json): readonly AgentEvent[]
  /** A tool has ended: nothing waits for an answer about it any more. */
  over(call: string): readonly AgentEvent[]
  /** The answer to a command. */
  responded(line: Json): void
  /** It has read the next words. */
  steered(): void
  /** The agent has settled: whether words were too late for it. They are removed, because the next turn would get them; it answers when they are. */
  clears(): boolean
  /** The turn is over: whatever still waits is refused. */
  close(): void
}

export function openTalk(send: (line: string) => void, signal: AbortSignal): PiTalk {
  /** By the id of the call. */
  const waiting = new Map<string, string>()
  let steers: { readonly id: string; resolve(taken: boolean): void }[] = []
  const answer = (call: string, verdict: Verdict) => {
    const id = waiting.get(call)
    if (waiting.delete(call)) send(jsonLine({ type: 'extension_ui_response', id, value: JSON.stringify(verdict) }))
  }
  return {
    steerable: {
      type: 'steerable',
      steer(words) {
        const id = `steer-${crypto.randomUUID()}`
        send(jsonLine({ id, type: 'steer', message: withoutCommands(words) }))
        return new Promise(resolve => steers.push({ id, resolve }))
      },
    },
    asked(line) {
      const about = line.title === title ? parseLine(string(line.placeholder)) : null
      if (about === null) return []
      const request = string(line.id)
      const call = string(about.id) === '' || waiting.has(string(about.id)) ? request : string(about.id)
      waiting.set(call, request)
      const tool = usualName(string(about.tool))
      const input = object(about.input)
      try {
        const use = { tool, work: workOf(tool, input) }
        const ask = { id: call, kind: 'tool', use, input: canonicalJson(input) } as const
        return [{ type: 'asks', ask, answer: verdict => answer(call, verdict) }]
      } catch {
        answer(call, { allow: false, message: 'This cannot be shown to the person who would have to allow it.' })
        return []
      }
    },
    over: call => (waiting.delete(call) ? [{ type: 'withdrawn', id: call }] : []),
    responded(line) {
      if (line.command !== 'steer' || line.success !== false) return
      steers.find(one => one.id === line.id)?.resolve(false)
      steers = steers.filter(one => one.id !== line.id)
    },
    steered: () => steers.shift()?.resolve(true),
    clears() {
      if (steers.length === 0 || signal.aborted) return false
      send(jsonLine({ type: 'clear_queue' }))
      return true
    },
    close() {
      for (const call of [...waiting.keys()])
        answer(call, { allow: false, message: 'The turn ended before anybody answered.' })
    },
  }
}
