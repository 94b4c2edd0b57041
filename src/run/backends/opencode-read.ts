// What OpenCode tells: as lines of `opencode run`, and as events of `opencode serve`.
import type { AgentEvent, Ended, Turn, Usage } from '../../base/agent.ts'
import type { Reader } from '../cli.ts'
import { failure, silentEnd, statusIn } from '../diagnosis.ts'
import { type Json, number, object, objects, string } from '../json.ts'
import { readJsonLines } from '../reader.ts'
import { shownTool } from '../tools.ts'
import type { Reply } from './opencode-http.ts'

/** The lines of one run. */
export function readRun(turn: Turn): Reader {
  let session = ''
  let last: string | null = null
  let failed: Ended | null = null
  const steps = countSteps()

  const started = (id: string): AgentEvent[] => {
    if (id === '' || id === session) return []
    session = id
    return [{ type: 'started', session: id }]
  }

  return readJsonLines(
    line => {
      const events = started(string(line.sessionID))
      const part = object(line.part)
      switch (line.type) {
        case 'text': {
          const delta = last === null ? string(part.text) : `\n\n${string(part.text)}`
          last = string(part.text)
          return [...events, { type: 'text', delta }]
        }
        case 'tool_use': {
          // It tells of a tool only when that has ended.
          const { id, label, phase } = actionOf(part)
          return [...events, { type: 'action', id, label, phase: 'started' }, { type: 'action', id, label, phase }]
        }
        case 'step_finish':
          return [...events, ...steps.count(part, turn.model)]
        case 'error':
          // A second one only says that there was a first.
          failed ??= failureOf(object(line.error))
          return events
        default:
          return events
      }
    },
    // It has no word for the end: leaving in good order is the end, also after a last step without words.
    how =>
      failed ??
      (how.code === 0 && (last !== null || steps.any()) ? { type: 'ended', ok: true, text: last ?? '' } : null),
  )
}

export interface TurnReader {
  /** What an event of the session means. Never throws. */
  heard(event: Json): readonly AgentEvent[]
  /** Whether this message has been told to its end. */
  told(message: string): boolean
  /** The text part that was told last. */
  text(): string
  /** What it said went wrong, before or without an answer. */
  failed(): Ended | null
  /** What it means that the server is gone. */
  readonly end: Reader['end']
}

/** The events of one turn of a session. */
export function readTurn(): TurnReader {
  const messages = new Map<string, 'begun' | 'told'>()
  /** What it makes of a long session for itself is not for the person. */
  const summaries = new Set<string>()
  const parts = new Map<string, string>()
  const actions = new Map<string, 'started' | 'over'>()
  const steps = countSteps()
  let model: string | null = null
  let failed: Ended | null = null
  let understood = false
  let last = ''

  const messageUpdated = (info: Json): AgentEvent[] => {
    if (info.role !== 'assistant') return []
    messages.set(string(info.id), object(info.time).completed ? 'told' : 'begun')
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
    const { id, label, phase } = actionOf(part)
    const known = actions.get(id)
    if (known === 'over' || (phase === 'started' && known)) return []
    actions.set(id, phase === 'started' ? 'started' : 'over')
    const begin: AgentEvent = { type: 'action', id, label, phase: 'started' }
    return phase === 'started' ? [begin] : [...(known ? [] : [begin]), { type: 'action', id, label, phase }]
  }

  const partUpdated = (part: Json): AgentEvent[] => {
    if (!messages.has(string(part.messageID))) return []
    const id = string(part.id)
    switch (part.type) {
      case 'text': {
        if (summaries.has(string(part.messageID))) return []
        const told = parts.get(id) ?? ''
        parts.set(id, told)
        // What it has told piece by piece, or, where a piece was missed, the rest.
        return string(part.text).startsWith(told) ? speak(id, string(part.text).slice(told.length)) : []
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
    heard(event) {
      understood = true
      const about = object(event.properties)
      switch (event.type) {
        case 'message.updated':
          return messageUpdated(object(about.info))
        case 'message.part.updated':
          return partUpdated(object(about.part))
        case 'message.part.delta': {
          // Thoughts come the same way, from parts that are no text.
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
    told: message => messages.get(message) === 'told',
    text: () => parts.get(last) ?? '',
    failed: () => failed,
    end: how => failed ?? silentEnd(how, understood),
  }
}

/** Whether all has been told that the reply to a prompt ends. */
export const isWhole = ({ status, body }: Reply, reader: TurnReader): boolean =>
  status === 200 ? reader.told(string(object(body.info).id)) : reader.failed() !== null

export function endOfReply({ status, body }: Reply, reader: TurnReader): Ended {
  // Only an event has the reason then.
  if (status !== 200) return reader.failed() ?? failureOf(body)
  const info = object(body.info)
  if (string(info.id) === '') return unreadable
  if (info.error) return failureOf(object(info.error))
  const last = objects(body.parts).findLast(part => part.type === 'text')
  return { type: 'ended', ok: true, text: last ? string(last.text) : reader.text() }
}

export const unreadable: Ended = {
  type: 'ended',
  ok: false,
  why: 'unreadable',
  detail: 'the server answered something else than was asked',
}

/** What a turn has used up is the sum of its steps; each is told once or again. */
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

function actionOf(part: Json) {
  const { status } = object(part.state)
  const phase = status === 'completed' ? 'ended' : status === 'error' ? 'failed' : 'started'
  return { id: string(part.callID), label: shownTool(string(part.tool)), phase } as const
}

/** An error that it reports itself. */
export function failureOf(error: Json): Ended {
  const data = object(error.data)
  const said = string(data.message) || string(error.name) || 'the turn failed'
  const wait = string(object(data.responseHeaders)['retry-after'])
  const found = failure(
    /^\d+$/.test(wait) ? `${said} (retry-after: ${wait})` : said,
    number(data.statusCode) || statusIn(said),
  )
  if (found.ok) return found
  if (error.name === 'ProviderAuthError') return { ...found, why: 'not-logged-in' }
  // A model that is not there, a conversation that is too long: it would say so again, and nothing has crashed.
  return found.why === 'crashed' ? { ...found, why: 'refused' } : found
}
