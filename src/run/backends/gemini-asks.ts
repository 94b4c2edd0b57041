// What a tool call over ACP does, and what gemini asks before it does it.
import { type Ask, canonicalJson, type ToolUse, type Verdict, type Work } from '../../base/tool-use.ts'
import type { Asks } from '../asks.ts'
import { later, type RpcRequest } from '../rpc.ts'
import { type Json, object, objects, string } from '../stdio.ts'
import { boundedOutput, diffWork, lineDiff, workOf } from '../tool-work.ts'
import { toolFor } from './gemini-policy.ts'

/** Null: it is not known yet. A call has the name of its tool in its id. */
export function useOf(call: Json, servers: readonly string[]): ToolUse | null {
  const tool = toolFor(string(call.toolCallId).split('__')[0] ?? '', servers)
  const work = workIn(call, tool)
  return work && { tool, work }
}

function workIn(call: Json, tool: string): Work | null {
  const title = string(call.title)
  const diff = objects(call.content).find(part => part.type === 'diff')
  if (diff) return diffWork(string(diff.path), lineDiff(string(diff.oldText), string(diff.newText)))
  switch (call.kind) {
    case 'edit':
      return null
    case 'execute':
      return title === '' ? null : workOf('Bash', { command: title })
    case 'read': {
      const path = string(objects(call.locations)[0]?.path) || title
      return path === '' ? null : workOf('Read', { path })
    }
    case 'search':
      return title === ''
        ? null
        : workOf('Grep', { query: /^Searching the web for: "(.*)"$/s.exec(title)?.[1] ?? title })
    case 'fetch': {
      const urls = title.match(/https?:\/\/[^\s"]+/g) ?? []
      const [url] = urls
      if (url !== undefined && urls.length === 1 && !isCut(title)) return workOf('WebFetch', { url })
      break
    }
    default:
  }
  const given = textIn(call)
  return title === '' && given === '' ? null : workOf('', { tool, title, ...(given === '' ? {} : { input: given }) })
}

/** The text in its content: an explanation before it runs, the output afterwards. */
export const textIn = (call: Json): string =>
  objects(call.content)
    .map(part => string(object(part.content).text))
    .filter(Boolean)
    .join('\n')

export const resultIn = (call: Json) => {
  const output = textIn(call)
  return output === '' ? null : { output: boundedOutput(output), exit: null }
}

/** Gemini shortens some of what it asks about. */
const isCut = (text: string) => text.includes('...') || text.includes('[Payload omitted')

/** As exact as gemini tells it. An answer to something shortened is valid for this one call only. */
function inputOf(call: Json): string {
  const { toolCallId, title, kind, content } = call
  const about = { tool: string(toolCallId).split('__')[0], title, kind, content }
  const shortened = kind !== 'execute' && kind !== 'edit' && isCut(`${title} ${textIn(call)}`)
  return canonicalJson(shortened ? { ...about, toolCallId } : about)
}

/** Asks for one call. `settled` is called before gemini gets the answer. */
export function askAbout(
  { toolCall, options }: Json,
  servers: readonly string[],
  request: RpcRequest,
  asks: Asks,
  settled: (verdict: Verdict) => void,
): typeof later {
  const call = object(toolCall)
  const name = string(call.toolCallId).split('__')[0] ?? ''
  const use = useOf(call, servers) ?? { tool: toolFor(name, servers), work: workOf('', call) }
  const ask: Ask = { id: string(call.toolCallId), kind: 'tool', use, input: inputOf(call) }
  asks.ask(ask, verdict => {
    settled(verdict)
    // To a plain refusal it adds no words. The text of an error becomes the result of the tool, so the model reads it.
    if (!verdict.allow) return request.reply({ error: verdict.message || 'This was not allowed.' })
    const once = objects(options).find(option => option.kind === 'allow_once')
    const outcome = { outcome: 'selected', optionId: string(once?.optionId) || 'proceed_once' }
    request.reply({ result: { outcome } })
  })
  return later
}

export const cancelled = { outcome: { outcome: 'cancelled' } }
