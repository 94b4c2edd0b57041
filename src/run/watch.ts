// Watches over a run: too long in silence, or too long altogether, and it is ended.
import type { AgentEvent } from '../base/agent.ts'
import type { Clock } from '../base/time.ts'

export interface Patience {
  /** Without any event, while no tool is at work. */
  readonly silenceMs: number
  readonly ceilingMs: number
}

/** The reason an abort carries when it is the gateway that stops, not the person. */
export const cutOff = 'cut-off'

/** Why a run was aborted that took too long: what runs is not to be trusted any more. */
export class TimedOut extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'TimedOut'
  }
}

/** A reason spares an error with its stack, which would be made for each event. */
const heardOf = 'heard of'

export async function* watchRun(
  start: (signal: AbortSignal) => AsyncIterable<AgentEvent>,
  patience: Patience,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const over = new AbortController()
  const done = new AbortController()
  const working = new Set<string>()
  let late: string | null = null
  let silence = new AbortController()

  const expire = (why: string) => {
    late ??= why
    over.abort(new TimedOut(why))
  }
  const wait = (ms: number, until: AbortSignal, why: string) =>
    void clock.sleep(ms, until).then(() => {
      if (!until.aborted) expire(why)
    })
  const heard = () => {
    silence.abort(heardOf)
    silence = new AbortController()
    // A tool may be quiet for long; the ceiling stands behind it.
    if (working.size === 0)
      wait(patience.silenceMs, silence.signal, `no sign of life for ${seconds(patience.silenceMs)}`)
  }

  wait(patience.ceilingMs, done.signal, `longer than ${seconds(patience.ceilingMs)}`)
  heard()
  try {
    for await (const event of start(AbortSignal.any([signal, over.signal]))) {
      if (event.type === 'action' && event.phase === 'started') working.add(event.id)
      if (event.type === 'action' && event.phase !== 'started') working.delete(event.id)
      heard()
      const timedOut = event.type === 'ended' && !event.ok && late !== null && !signal.aborted
      yield timedOut ? { type: 'ended', ok: false, why: 'timed-out', detail: late ?? '' } : event
    }
  } finally {
    silence.abort(heardOf)
    done.abort(heardOf)
  }
}

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
