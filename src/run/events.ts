// The events of one turn: the queue between writer and reader, the answer, the ends, the usage and the timeouts.
import type { AgentEvent, Ended, FailureReason, Usage } from '../base/agent.ts'
import type { Clock } from '../base/time.ts'

export interface Events {
  /** Events after the end are ignored. */
  push(events: readonly AgentEvent[]): void
  over(): boolean
  /** All events until the end. */
  all(): AsyncGenerator<AgentEvent>
}

export function createEvents(): Events {
  let ready: AgentEvent[] = []
  let wake: (() => void) | null = null
  let over = false
  return {
    push(events) {
      if (over) return
      ready.push(...events)
      over = events.some(event => event.type === 'ended')
      wake?.()
    },
    over: () => over,
    async *all() {
      for (;;) {
        const batch = ready
        ready = []
        yield* batch
        if (ready.length > 0) continue
        if (over) return
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

/** Any output of a CLI is a sign of life, even if it has no other meaning for the gateway. */
export const orAlive = (events: readonly AgentEvent[]): readonly AgentEvent[] => (events.length === 0 ? alive : events)

const alive: readonly AgentEvent[] = [{ type: 'alive' }]

// The answer of a turn: all text that the agent wrote before, between and after its tools, one paragraph each.

export interface Answer {
  /** Adds a complete part. */
  add(text: string): void
  any(): boolean
  /** `last`: the last part, if the CLI reports it at the end; added if it is missing. */
  end(last?: string): Extract<Ended, { ok: true }>
}

export function openAnswer(): Answer {
  const parts: string[] = []
  const add = (text: string) => {
    if (text.trim() !== '') parts.push(text)
  }
  return {
    add,
    any: () => parts.length > 0,
    end(last = '') {
      if (!parts.at(-1)?.trim().endsWith(last.trim())) add(last)
      return answered(parts)
    },
  }
}

export const answered = (parts: readonly string[]): Extract<Ended, { ok: true }> => ({
  ...{ type: 'ended', ok: true, text: parts.join('\n\n') },
  ...(parts.length > 1 ? { last: parts.at(-1) ?? '' } : {}),
})

// Ends of a run that are the same for all backends.

export const failed = (why: FailureReason, detail: string): Ended => ({ type: 'ended', ok: false, why, detail })

export const stopped = failed('stopped', 'the run was stopped')

/** The result of `work`, or `instead` if `signal` aborts first. Removes its listener, because the signal may live as long as the gateway. */
export async function unlessStopped<T, Instead>(
  work: Promise<T>,
  signal: AbortSignal,
  instead: Instead,
): Promise<T | Instead> {
  const { promise: over, resolve } = Promise.withResolvers<Instead>()
  const stop = () => resolve(instead)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work, over])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** A process that can still report an error has not crashed, and it may hold all other sessions. */
export const notCrashed = (ended: Ended): Ended =>
  ended.ok || ended.why !== 'crashed' ? ended : { ...ended, why: 'refused' }

/** The end of a turn that the gateway did not start. */
export const unasked: AgentEvent = {
  type: 'trouble',
  why: 'it sent an answer to a turn that the gateway did not start; the answer is dropped',
}

// Usage of a single turn, for backends that report totals of the whole session.

export type UsageReport = Extract<AgentEvent, { type: 'usage' }>

/** `before`: what the session had used before this turn; null: unknown; `nothing`: the session is new. */
export function usageOfTurn(
  report: UsageReport,
  before: Usage | null,
): { readonly turn: Usage; readonly totals: Usage | null } {
  // The totals that a session reports at its end include interrupted turns, so these are added up too.
  if (report.of === 'turn') return { turn: report.usage, totals: before && sum(before, report.usage) }
  return { turn: difference(report.usage, before), totals: report.usage }
}

export const nothing: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }

function difference(total: Usage, before: Usage | null): Usage {
  const spent = (now: number, then: number | undefined) => (then === undefined ? 0 : Math.max(0, now - then))
  return {
    inputTokens: spent(total.inputTokens, before?.inputTokens),
    outputTokens: spent(total.outputTokens, before?.outputTokens),
    costUsd: total.costUsd === null || before === null ? null : spent(total.costUsd, before.costUsd ?? 0),
  }
}

const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costUsd: a.costUsd === null ? null : a.costUsd + (b.costUsd ?? 0),
})

// Watches a run and ends it when it is silent for too long, or takes too long altogether.

export interface Patience {
  /** Without any event, while no tool is running and the model is not thinking quietly. */
  readonly silenceMs: number
  readonly ceilingMs: number
}

/** The reason an abort carries when it is the gateway that stops, not the person. */
export const cutOff = 'cut-off'

/** The abort reason of a run that took too long: its process can no longer be trusted. */
export class TimedOut extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'TimedOut'
  }
}

/** An explicit abort reason avoids creating an error with its stack for each event. */
const signOfLife = 'sign of life'

export async function* watchRun(
  start: (signal: AbortSignal) => AsyncIterable<AgentEvent>,
  patience: Patience,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const over = new AbortController()
  const done = new AbortController()
  const working = new Set<string>()
  const asking = new Set<string>()
  let late: string | null = null
  let silence = new AbortController()
  let ceiling = new AbortController()
  let ceilingLeft = patience.ceilingMs
  let ceilingFrom = clock.now()

  const expire = (why: string) => {
    late ??= why
    over.abort(new TimedOut(why))
  }
  const wait = (ms: number, until: AbortSignal, why: string) =>
    void awake(clock, ms, until).then(() => {
      if (!until.aborted) expire(why)
    })
  const restartSilence = (quiet = false) => {
    silence.abort(signOfLife)
    silence = new AbortController()
    // Tools and thinking may be quiet for a long time; the ceiling still limits both.
    if (working.size === 0 && asking.size === 0 && !quiet)
      wait(patience.silenceMs, silence.signal, `no sign of life for ${seconds(patience.silenceMs)}`)
  }

  const startCeiling = () => {
    ceiling = new AbortController()
    ceilingFrom = clock.now()
    const until = AbortSignal.any([ceiling.signal, done.signal])
    wait(ceilingLeft, until, `longer than ${seconds(patience.ceilingMs)}`)
  }
  /** While the agent waits for a person's answer, neither silence nor the ceiling end its turn. */
  const watchAnswer = (event: Extract<AgentEvent, { type: 'asks' }>): AgentEvent => {
    const { id } = event.ask
    if (asking.size === 0) {
      ceiling.abort(signOfLife)
      ceilingLeft = Math.max(1, ceilingLeft - (clock.now() - ceilingFrom))
    }
    asking.add(id)
    return {
      ...event,
      answer(verdict) {
        answered(id)
        event.answer(verdict)
      },
    }
  }
  const answered = (id: string) => {
    if (!asking.delete(id) || asking.size > 0 || done.signal.aborted) return
    startCeiling()
    restartSilence()
  }

  startCeiling()
  restartSilence()
  try {
    for await (const event of start(AbortSignal.any([signal, over.signal]))) {
      if (event.type === 'action' && event.phase === 'started') working.add(event.id)
      if (event.type === 'action' && event.phase !== 'started') working.delete(event.id)
      if (event.type === 'withdrawn') answered(event.id)
      const shown = event.type === 'asks' ? watchAnswer(event) : event
      restartSilence(event.type === 'thinking' && event.quietly)
      const timedOut = event.type === 'ended' && !event.ok && late !== null && !signal.aborted
      yield timedOut ? { type: 'ended', ok: false, why: 'timed-out', detail: late ?? '' } : shown
    }
  } finally {
    silence.abort(signOfLife)
    done.abort(signOfLife)
  }
}

/**
 * Sleeps in pieces. A piece that took much longer does not count: the gateway itself was suspended, by a signal or a closed lid.
 * Output of the run from that time waits in its pipe and is read during the next piece.
 */
async function awake(clock: Clock, ms: number, until: AbortSignal): Promise<void> {
  const piece = Math.ceil(ms / 8)
  for (let left = ms; left > 0 && !until.aborted; ) {
    const due = clock.now() + Math.min(left, piece)
    await clock.sleep(Math.min(left, piece), until)
    if (clock.now() - due <= lateMs) left -= piece
  }
}

/** A busy machine is late too, but not this late. */
const lateMs = 1000

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`

// What comes back to a running turn from people: answers to what it asks, and words. The first answer counts, and nothing reaches a turn
// that was stopped or is over.

export interface Gate {
  pass(event: AgentEvent): AgentEvent
  /** The turn is over. */
  close(): void
}

export function openGate(signal: AbortSignal): Gate {
  const over = Promise.withResolvers<false>()
  let open = true
  const isOpen = () => open && !signal.aborted
  const close = () => {
    open = false
    over.resolve(false)
  }
  return {
    pass(event) {
      switch (event.type) {
        case 'asks': {
          let answered = false
          const answer: typeof event.answer = verdict => {
            if (answered || !isOpen()) return
            answered = true
            event.answer(verdict)
          }
          return { ...event, answer }
        }
        case 'steerable':
          return {
            ...event,
            steer: async words => (isOpen() ? Promise.race([event.steer(words), over.promise]) : false),
          }
        case 'ended':
          close()
          return event
        default:
          return event
      }
    },
    close,
  }
}
