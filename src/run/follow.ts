// Follows one run to its end: what it says and does goes to the live view and the listeners, what it asks to the people.
import type { AgentEvent, Ended, Live } from '../base/agent.ts'
import type { NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { gist } from '../base/shown-use.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Ask } from '../base/tool-use.ts'
import type { UsageReport } from './events.ts'
import type { Asking, Requests } from './requests.ts'
import type { SteerableTurns } from './steering.ts'

export interface RunResult {
  readonly ended: Ended
  readonly text: string
  readonly acted: boolean
  /** It has asked people something. */
  readonly asked: boolean
  readonly firstWordMs: number | null
  readonly used: UsageReport | null
}

export interface FollowParts {
  readonly requests: Pick<Requests, 'answerTo' | 'withdraw'>
  readonly turns: SteerableTurns
  readonly clock: Clock
  readonly emit: Emit
  /** The run has this session. */
  started(session: string): Promise<void>
  /** The session contains the prompt. */
  stored(): void
  reportProblem(error: unknown): void
  readonly signal: AbortSignal
}

export async function follow(
  events: AsyncIterable<AgentEvent>,
  asking: Asking & { readonly taken: Taken<NewEvent> },
  live: Live,
  parts: FollowParts,
): Promise<RunResult> {
  const { clock, emit } = parts
  const { backend } = asking
  const { id, lane } = asking.taken
  const began = clock.now()
  const result = {
    text: '',
    acted: false,
    asked: false,
    firstWordMs: null as number | null,
    used: null as UsageReport | null,
  }
  const asked = new Map<string, Ask>()
  const over = new AbortController()
  const signal = AbortSignal.any([parts.signal, over.signal])
  let thinking = false
  let steerable: Parameters<SteerableTurns['set']>[1] | null = null
  const show = (thinks: boolean) => {
    if (thinks !== thinking) live.action('Thinking', thinks ? 'started' : 'ended')
    thinking = thinks
  }

  /** Beside the run, which may ask for several things at once. If the request cannot be stored, nothing is allowed. */
  async function answer({ ask, answer }: Extract<AgentEvent, { type: 'asks' }>): Promise<void> {
    const label = `Waiting for permission: ${ask.kind === 'tool' ? `${ask.use.tool}: ${gist(ask.use.work)}` : ask.kind}`
    asked.set(ask.id, ask)
    let waits = false
    const waiting = () => {
      waits = true
      live.action(label, 'started', true)
    }
    const verdict = await parts.requests.answerTo(ask, asking, waiting, signal).catch((error: unknown) => {
      parts.reportProblem(error)
      return { allow: false, message: 'The request could not be stored, so nobody can be asked.' } as const
    })
    asked.delete(ask.id)
    if (waits) live.action(label, 'ended', true)
    if (verdict !== null) answer(verdict)
  }

  try {
    for await (const event of events) {
      if (event.type === 'text' || event.type === 'action') show(false)
      switch (event.type) {
        case 'started':
          if (event.session !== null) await parts.started(event.session)
          break
        case 'stored':
          parts.stored()
          break
        case 'thinking':
          show(true)
          if (event.summary !== undefined) emit({ type: 'turn-thought', id, lane, summary: event.summary })
          break
        case 'alive':
          break
        case 'steerable':
          steerable = { taken: asking.taken, steer: event.steer }
          parts.turns.set(lane, steerable)
          break
        case 'asks':
          result.asked = true
          void answer(event)
          break
        case 'withdrawn': {
          const ask = asked.get(event.id)
          if (ask) parts.requests.withdraw(ask, asking).catch(parts.reportProblem)
          break
        }
        case 'trouble':
          emit({ type: 'turn-troubled', id, lane, backend, why: event.why })
          break
        case 'text':
          if (result.firstWordMs === null) {
            result.firstWordMs = clock.now() - began
            emit({ type: 'turn-spoke', id, lane, afterMs: result.firstWordMs })
          }
          result.text += event.delta
          live.text(event.delta)
          break
        case 'action': {
          result.acted = true
          const { type: _, id: action, ...rest } = event
          emit({ type: 'turn-acted', id, lane, action, ...rest })
          live.action(event.label, event.phase)
          break
        }
        case 'usage':
          result.used = event
          break
        case 'ended':
          return { ...result, ended: event }
        default:
          event satisfies never
      }
    }
  } finally {
    if (steerable !== null && parts.turns.get(lane) === steerable) parts.turns.delete(lane)
    over.abort(parts.signal.aborted ? parts.signal.reason : 'ended')
  }
  const detail = 'the backend stopped without reporting an end'
  return { ...result, ended: { type: 'ended', ok: false, why: 'crashed', detail } }
}
