// Reads the output of OpenCode: lines of `opencode run`, and events of `opencode serve`.
import type { AgentEvent, Ended, Turn, Usage } from '../../base/agent.ts'
import type { Reader } from '../cli.ts'
import { failure, silentEnd, statusIn } from '../diagnosis.ts'
import { answered, openAnswer } from '../events.ts'
import { type Json, number, object, objects, readJsonLines, string } from '../stdio.ts'
import { boundedOutput, workOf } from '../tool-work.ts'
import { toolLabel } from '../tools.ts'
import type { Reply } from './opencode-http.ts'
import { toolFor } from './opencode-rules.ts'

/** The lines of one run. */
export function readRun(turn: Turn): Reader {
  let session = ''
  const answer = openAnswer()
  let failed: Ended | null = null
  const steps = countSteps()
  const servers = turn.mcpServers.map(({ name }) => name)

  const started = (id: string): AgentEvent[] => {
    if (id === '' || id === session) return []
    session = id
    // Its first output comes after it has stored the prompt.
    return [{ type: 'started', session: id }, { type: 'stored' }]
  }

  return readJsonLines(
    line => {
      const events = started(string(line.sessionID))
      const part = object(line.part)
      switch (line.type) {
        case 'text': {
          const text = string(part.text)
          const delta = answer.any() ? `\n\n${text}` : text
          answer.add(text)
          return [...events, { type: 'text', delta }]
        }
        case 'tool_use': {
          // It reports a tool only when the tool has ended.
          const { id, label, phase, use, result } = actionOf(part, servers)
          return [
            ...events,
            { type: 'action', id, label, phase: 'started', use },
            { type: 'action', id, label, phase, ...result },
          ]
        }
        case 'step_finish':
          return [...events, ...steps.count(part, turn.model)]
        case 'error':
          // A second error only says that there was a first.
          failed ??= failureOf(object(line.error))
          return events
        default:
          return events
      }
    },
    // It does not report the end. Exit code 0 is the end, also after a last step without text.
    how => failed ?? (how.code === 0 && (answer.any() || steps.any()) ? answer.end() : null),
  )
}

export interface TurnReader {
  /** Turns an event of the session into agent events. Never throws. */
  read(event: Json): readonly AgentEvent[]
  /** Whether this message is complete. */
  isComplete(message: string): boolean
  /** The whole text: the parts in the reply as they are there, the others as they were streamed. */
  answer(reply: readonly Json[]): Ended
  /** Words added to the turn. Resolves when an answer to them begins. */
  expect(words: string): Promise<true>
  /** The error it reported before or without an answer. */
  failed(): Ended | null
  /** The end of the turn if the server is gone. */
  readonly end: Reader['end']
}

/** Reads the events of one turn, which starts with `prompt`. Answers to anything else are ignored. */
export function readTurn(prompt: string, servers: readonly string[] = []): TurnReader {
  /** The message with the prompt, and those that opencode adds itself, for example after it has compacted a long session. */
  const prompts = new Set<string>()
  /** The message with the prompt. Ids of messages ascend, so smaller ones are of earlier turns, of which news may still come. */
  let asked: string | null = null
  let finished = false
  const messages = new Map<string, 'begun' | 'complete'>()
  /** Summaries of long sessions are for the model, not for the user. */
  const summaries = new Set<string>()
  const parts = new Map<string, string>()
  const thoughts = new Set<string>()
  const actions = new Map<string, 'started' | 'over'>()
  const steps = countSteps()
  let model: string | null = null
  let failed: Ended | null = null
  let understood = false
  let last = ''
  /** Words that were added to the turn, and then the message they are in. */
  const added: { readonly words: string; message: string | null; readonly answered: () => void }[] = []

  /** Messages that do not name what they answer count as ours. */
  const isOurs = ({ parentID }: Json) => typeof parentID !== 'string' || prompts.has(parentID)

  const messageUpdated = (info: Json): AgentEvent[] => {
    if (info.role === 'user' && asked !== null && string(info.id) > asked && !finished) prompts.add(string(info.id))
    if (info.role !== 'assistant' || !isOurs(info)) return []
    for (const { message, answered } of added) if (message === info.parentID) answered()
    finished ||= !['', 'tool-calls', 'unknown'].includes(string(info.finish))
    messages.set(string(info.id), object(info.time).completed ? 'complete' : 'begun')
    if (info.summary === true) summaries.add(string(info.id))
    if (info.modelID) model = `${string(info.providerID)}/${string(info.modelID)}`
    return []
  }

  const speak = (part: string, delta: string): AgentEvent[] => {
    if (delta === '') return []
    const before = parts.get(part) ?? ''
    const apart = before === '' && last !== ''
    parts.set(part, before + delta)
    last = part
    return [{ type: 'text', delta: apart ? `\n\n${delta}` : delta }]
  }

  const acted = (part: Json): AgentEvent[] => {
    const { id, label, phase, use, result } = actionOf(part, servers)
    const known = actions.get(id)
    if (known === 'over' || (phase === 'started' && known)) return []
    actions.set(id, phase === 'started' ? 'started' : 'over')
    const begin: AgentEvent = { type: 'action', id, label, phase: 'started', use }
    return phase === 'started' ? [begin] : [...(known ? [] : [begin]), { type: 'action', id, label, phase, ...result }]
  }

  const partUpdated = (part: Json): AgentEvent[] => {
    if (asked === null && part.type === 'text' && part.text === prompt && !messages.has(string(part.messageID))) {
      asked = string(part.messageID)
      prompts.add(asked)
      return [{ type: 'stored' }]
    }
    const words = added.find(one => one.message === null && one.words === part.text && part.type === 'text')
    if (words && !messages.has(string(part.messageID))) {
      words.message = string(part.messageID)
      prompts.add(words.message)
      return []
    }
    if (!messages.has(string(part.messageID))) return []
    const id = string(part.id)
    switch (part.type) {
      case 'reasoning':
        thoughts.add(id)
        return object(part.time).end ? [] : [thinking]
      case 'text': {
        if (summaries.has(string(part.messageID))) return []
        const sent = parts.get(id) ?? ''
        parts.set(id, sent)
        // Usually sent already piece by piece. If a piece was missed, this sends the rest.
        return string(part.text).startsWith(sent) ? speak(id, string(part.text).slice(sent.length)) : []
      }
      case 'tool':
        return object(part.state).status === 'pending' ? [] : acted(part)
      case 'step-finish':
        return steps.count(part, model)
      default:
        return []
    }
  }

  return {
    read(event) {
      understood = true
      const about = object(event.properties)
      switch (event.type) {
        case 'message.updated':
          return messageUpdated(object(about.info))
        case 'message.part.updated':
          return partUpdated(object(about.part))
        case 'message.part.delta': {
          // Thoughts come the same way, but from parts that are not text.
          if (thoughts.has(string(about.partID))) return [{ ...thinking, summary: string(about.delta) }]
          const known = about.field === 'text' && parts.has(string(about.partID))
          return known ? speak(string(about.partID), string(about.delta)) : []
        }
        case 'session.error':
          failed ??= failureOf(object(about.error))
          return []
        default:
          return []
      }
    },
    isComplete: message => messages.get(message) === 'complete',
    answer(reply) {
      for (const { type, id, text } of reply) if (type === 'text') parts.set(string(id), string(text))
      return answered([...parts.values()].filter(text => text.trim() !== ''))
    },
    expect: words => new Promise(resolve => added.push({ words, message: null, answered: () => resolve(true) })),
    failed: () => failed,
    end: how => failed ?? silentEnd(how, understood),
  }
}

/** Some models report only the start and the end of their thinking. */
const thinking = { type: 'thinking', quietly: true } as const

/** Whether all events of the replied message have arrived. */
export const isWhole = ({ status, body }: Reply, reader: TurnReader): boolean =>
  status === 200 ? reader.isComplete(string(object(body.info).id)) : reader.failed() !== null

export function endOfReply({ status, body }: Reply, reader: TurnReader): Ended {
  // In this case only an event has the reason.
  if (status !== 200) return reader.failed() ?? failureOf(body)
  const info = object(body.info)
  if (string(info.id) === '') return unreadable
  if (info.error) return failureOf(object(info.error))
  return reader.answer(objects(body.parts))
}

export const unreadable: Ended = {
  type: 'ended',
  ok: false,
  why: 'unreadable',
  detail: 'the server sent an unexpected answer',
}

/** The usage of a turn is the sum of its steps. A step may be reported more than once. */
function countSteps() {
  const seen = new Set<string>()
  let count = 0
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  return {
    any: () => count > 0,
    count(part: Json, model: string | null): AgentEvent[] {
      const id = string(part.id)
      if (id !== '' && seen.has(id)) return []
      seen.add(id)
      count++
      const tokens = object(part.tokens)
      const cache = object(tokens.cache)
      usage = {
        inputTokens: usage.inputTokens + number(tokens.input) + number(cache.read) + number(cache.write),
        outputTokens: usage.outputTokens + number(tokens.output) + number(tokens.reasoning),
        costUsd: (usage.costUsd ?? 0) + number(part.cost),
      }
      return [{ type: 'usage', usage, of: 'turn', model }]
    },
  }
}

function actionOf(part: Json, servers: readonly string[]) {
  const { status, input, output, error, metadata } = object(part.state)
  const phase = status === 'completed' ? 'ended' : status === 'error' ? 'failed' : 'started'
  const tool = toolFor(string(part.tool), servers)
  const text = string(output) || string(error)
  const { exit } = object(metadata)
  return {
    id: string(part.callID),
    label: toolLabel(string(part.tool), object(input)),
    phase,
    use: { tool, work: workOf(tool, object(input)) },
    result:
      text === '' ? {} : { result: { output: boundedOutput(text), exit: typeof exit === 'number' ? exit : null } },
  } as const
}

/** An error reported by opencode. */
export function failureOf(error: Json): Ended {
  const data = object(error.data)
  const message = string(data.message) || string(error.name) || 'the turn failed'
  const wait = string(object(data.responseHeaders)['retry-after'])
  const found = failure(
    /^\d+$/.test(wait) ? `${message} (retry-after: ${wait})` : message,
    number(data.statusCode) || statusIn(message),
  )
  if (found.ok) return found
  if (error.name === 'ProviderAuthError') return { ...found, why: 'not-logged-in' }
  // An unknown model, a conversation that is too long: it would fail the same way again, and nothing has crashed.
  return found.why === 'crashed' ? { ...found, why: 'refused' } : found
}
