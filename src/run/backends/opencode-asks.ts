// What opencode asks before it does it, for one turn: its own session and those of its helpers.
import type { AgentEvent } from '../../base/agent.ts'
import { type Ask, canonicalJson, type ToolUse, type Verdict } from '../../base/tool-use.ts'
import { createAsks } from '../asks.ts'
import { type Json, object, objects, string } from '../stdio.ts'
import { diffWork, workOf } from '../tool-work.ts'
import type { Loopback } from './opencode-http.ts'
import { toolFor } from './opencode-rules.ts'

/** A tool call. Opencode may ask several things about it, such as first for its folder; people are asked once. */
interface Call {
  readonly session: string
  tool: string
  /** Null: not known yet. */
  input: Json | null
  /** The requests that wait for the answer. */
  readonly waiting: Map<string, Json>
  asked: boolean
  verdict: Verdict | null
}

export interface TurnAsks {
  /** One of its events. */
  take(event: Json): readonly AgentEvent[]
  /** The turn is over: what still waits is refused. An answer that came later would be carried out. */
  close(): void
}

export function openAsks(loopback: Loopback, servers: readonly string[]): TurnAsks {
  let out: AgentEvent[] = []
  const asks = createAsks(events => void out.push(...events))
  const calls = new Map<string, Call>()
  const questions = new Set<string>()
  const post = (path: string, body: Json) => void loopback.call('POST', path, body).catch(() => undefined)

  function callOf(session: string, id: string): Call {
    const known = calls.get(`${session} ${id}`)
    if (known) return known
    const call: Call = { session, tool: '', input: null, waiting: new Map(), asked: false, verdict: null }
    calls.set(`${session} ${id}`, call)
    return call
  }

  const answerOnce = (id: string) => post(`/permission/${id}/reply`, { reply: 'once' })
  const reject = (id: string, message: string) => post(`/permission/${id}/reply`, { reply: 'reject', message })

  /** A refusal also refuses everything else that the session asks, so it waits until that is answered. */
  function settle(session: string): void {
    const here = [...calls.values()].filter(call => call.session === session && call.waiting.size > 0)
    for (const { waiting, verdict } of here) {
      if (!verdict?.allow) continue
      for (const id of waiting.keys()) answerOnce(id)
      waiting.clear()
    }
    if (here.some(({ verdict }) => verdict === null)) return
    for (const { waiting, verdict } of here) {
      for (const id of waiting.keys()) reject(id, verdict && !verdict.allow ? verdict.message : '')
      waiting.clear()
    }
  }

  function present(call: Call): void {
    const [first] = call.waiting
    if (call.verdict) return settle(call.session)
    if (call.asked || call.input === null || !first) return
    call.asked = true
    const [id, metadata] = first
    const tool = toolFor(call.tool, servers)
    const ask: Ask = {
      id,
      kind: 'tool',
      use: useOf(tool, call.input, metadata),
      input: canonicalJson({ tool: call.tool, input: call.input }),
    }
    asks.ask(ask, verdict => {
      call.verdict = verdict
      settle(call.session)
    })
  }

  function permissionAsked({ id, sessionID, permission, metadata, tool }: Json): void {
    const { callID } = object(tool)
    const call = callOf(string(sessionID), string(callID) || string(id))
    // Not about a tool call: what it says is all there is.
    if (string(callID) === '') Object.assign(call, { tool: string(permission), input: object(metadata) })
    call.waiting.set(string(id), object(metadata))
    present(call)
  }

  function questionAsked(id: string, asked: readonly Json[]): void {
    questions.add(id)
    const ask: Ask = { id, kind: 'question', questions: asked.map(questionOf) }
    asks.ask(ask, verdict => {
      questions.delete(id)
      // To refuse a question has no words of its own, so they are given as the answer.
      const words = (question: string) => (verdict.allow ? (verdict.answers?.[question] ?? '') : verdict.message)
      post(`/question/${id}/reply`, {
        answers: ask.kind === 'question' ? ask.questions.map(one => [words(one.question)]) : [],
      })
    })
  }

  /** Answered, by us or with the refusal of something else. */
  function replied(id: string): void {
    for (const call of calls.values()) if (call.waiting.delete(id)) asks.withdraw(id)
    questions.delete(id)
    asks.withdraw(id)
  }

  function read({ type, properties }: Json): void {
    const about = object(properties)
    switch (type) {
      case 'message.part.updated': {
        const { type, sessionID, callID, tool, state } = object(about.part)
        const { status, input } = object(state)
        if (type !== 'tool' || status !== 'running') return
        const call = callOf(string(sessionID), string(callID))
        Object.assign(call, { tool: string(tool), input: object(input) })
        return present(call)
      }
      case 'permission.asked':
        return permissionAsked(about)
      case 'question.asked':
        return questionAsked(string(about.id), objects(about.questions))
      case 'permission.replied':
      case 'question.replied':
      case 'question.rejected':
        return replied(string(about.requestID))
      default:
    }
  }

  return {
    take(event) {
      read(event)
      const events = out
      out = []
      return events
    },
    close() {
      asks.close()
      for (const { waiting } of calls.values()) for (const id of waiting.keys()) reject(id, 'The turn is over.')
      for (const id of questions) post(`/question/${id}/reject`, {})
      calls.clear()
      questions.clear()
    },
  }
}

/** For a change of a file it says what will change. */
function useOf(tool: string, input: Json, { filepath, diff }: Json): ToolUse {
  const change = typeof filepath === 'string' && typeof diff === 'string'
  return { tool, work: change ? diffWork(filepath, diff) : workOf(tool, input) }
}

const questionOf = ({ question, header, multiple, options }: Json) => ({
  question: string(question),
  header: string(header),
  multiple: multiple === true,
  options: objects(options).map(({ label, description }) => ({
    label: string(label),
    description: string(description),
  })),
})

/** What a turn that asks has to see of the events of its own and its helpers' sessions. */
export const isAboutAsking = (event: Json): boolean =>
  /^(?:permission|question)\./.test(string(event.type)) ||
  (event.type === 'message.part.updated' && object(object(event.properties).part).type === 'tool')

/** Which session started which. */
export function createFamily() {
  const parents = new Map<string, string>()
  return {
    notice(event: Json): void {
      if (event.type !== 'session.created') return
      const { id, parentID } = object(object(event.properties).info)
      if (string(parentID) !== '') parents.set(string(id), string(parentID))
    },
    rootOf(session: string): string {
      let root = session
      for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up
      return root
    },
  }
}
