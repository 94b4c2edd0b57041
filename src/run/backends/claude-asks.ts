// What claude asks before it does it, and the answers it understands: the same over its input and through the Agent SDK.
import { randomUUID } from 'node:crypto'
import type { AgentEvent, Turn } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { type Ask, canonicalJson, longestWork, type Question, type Verdict } from '../../base/tool-use.ts'
import { type Json, object, objects, string } from '../stdio.ts'
import { workOf } from '../tool-work.ts'

export const questionTool = 'AskUserQuestion'
export const planTool = 'ExitPlanMode'

/** Guests' turns never ask. */
export function isAsking(turn: Turn): boolean {
  return turn.askTools.length > 0 && !isConfined(turn.profile)
}

/** What it asks in one turn. */
export interface Asks {
  /** `request`: its id, by which it is answered. */
  asked(request: string, about: Asked, plan: string): readonly AgentEvent[]
  /** It no longer waits. */
  cancelled(request: string): readonly AgentEvent[]
  /** The turn is over: whatever still waits is refused. */
  close(): void
}

interface Asked {
  /** Of the call; `''`: unknown. */
  readonly id: string
  readonly tool: string
  readonly input: Json
}

export function openAsks(turn: Turn, respond: (request: string, response: Json) => void): Asks {
  const waiting = new Map<string, { readonly id: string; readonly input: Json }>()
  let planning = turn.permissionMode === 'plan'
  const answer = (request: string, verdict: Verdict) => {
    const asked = waiting.get(request)
    if (waiting.delete(request) && asked) respond(request, responseTo(verdict, asked.input))
  }
  return {
    asked(request, { id, tool, input }, plan) {
      const isTaken = id === '' || [...waiting.values()].some(one => one.id === id)
      const ask = askOf(isTaken ? request : id, tool, input, plan)
      waiting.set(request, { id: ask?.id ?? request, input })
      if (ask === null) answer(request, cannotBeShown)
      else if (ask.kind === 'tool' && planning && turn.allowedTools.includes(tool)) answer(request, planFirst)
      else if (isOfOwnServer(turn, tool)) answer(request, { allow: true })
      else {
        const answered = (verdict: Verdict) => {
          if (ask.kind === 'plan' && verdict.allow) planning = false
          answer(request, verdict)
        }
        return [{ type: 'asks', ask, answer: answered }]
      }
      return []
    },
    cancelled(request) {
      const asked = waiting.get(request)
      return waiting.delete(request) && asked ? [{ type: 'withdrawn', id: asked.id }] : []
    },
    close() {
      for (const request of [...waiting.keys()]) answer(request, turnIsOver)
    },
  }
}

/** A tool of an MCP server that the user has configured in claude itself: no rule allows all of these, and bypassing permissions does. */
const isOfOwnServer = ({ permissionMode, askTools }: Turn, tool: string): boolean =>
  permissionMode === 'bypassPermissions' && tool.startsWith('mcp__') && !askTools.some(asked => tool.startsWith(asked))

/** Words for the running turn: claude takes them in after the current tool, or else right after its answer, as if they were one turn. */
export interface Steering {
  steer(words: string): Promise<boolean>
  /** Whether a message with this id belongs to the turn. */
  has(uuid: string): boolean
  /** It has read the message. */
  taken(uuid: string): void
  /** Whether it has yet to read any. When it is interrupted, it drops them. */
  waits(): boolean
}

export function openSteering(say: (uuid: string, words: string) => void, signal: AbortSignal): Steering {
  const waiting = new Map<string, (taken: boolean) => void>()
  const sent = new Set<string>()
  return {
    steer(words) {
      const uuid = randomUUID()
      const { promise, resolve } = Promise.withResolvers<boolean>()
      waiting.set(uuid, resolve)
      sent.add(uuid)
      say(uuid, words)
      return promise
    },
    has: uuid => sent.has(uuid),
    taken(uuid) {
      waiting.get(uuid)?.(true)
      waiting.delete(uuid)
    },
    waits: () => waiting.size > 0 && !signal.aborted,
  }
}

/** Null: it cannot be put to anybody. `plan`: what it planned, because the request itself may not repeat it. */
function askOf(id: string, tool: string, input: Json, plan: string): Ask | null {
  const questions = tool === questionTool ? objects(input.questions).map(questionOf) : []
  if (questions.length > 0) return { id, kind: 'question', questions }
  if (tool === planTool) return { id, kind: 'plan', plan: (string(input.plan) || plan).slice(0, longestWork) }
  try {
    return { id, kind: 'tool', use: { tool, work: workOf(tool, input) }, input: canonicalJson(input) }
  } catch {
    return null // nested too deeply
  }
}

/** With answers to questions, it reads them from its own input. */
const responseTo = (verdict: Verdict, input: Json): Json =>
  verdict.allow
    ? { behavior: 'allow', updatedInput: verdict.answers ? { ...input, answers: verdict.answers } : input }
    : { behavior: 'deny', message: verdict.message }

const cannotBeShown: Verdict = {
  allow: false,
  message: 'This cannot be shown to the person who would have to allow it.',
}
const turnIsOver: Verdict = { allow: false, message: 'The turn ended before anybody answered.' }
/** It asks for what it may do anyway only because of its plan mode. */
const planFirst: Verdict = {
  allow: false,
  message: `You are in plan mode: change nothing yet. Present your plan with ${planTool} first.`,
}

const questionOf = (question: Json): Question => ({
  question: string(question.question),
  header: string(question.header),
  multiple: question.multiSelect === true,
  options: objects(question.options).map(option => ({
    label: string(option.label),
    description: string(object(option).description),
  })),
})
