// Watches a run and ends it when it is silent for too long, or takes too long altogether.
import type { AgentEvent } from '../base/agent.ts'
import type { Clock } from '../base/time.ts'

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
  let late: string | null = null
  let silence = new AbortController()

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
    if (working.size === 0 && !quiet)
      wait(patience.silenceMs, silence.signal, `no sign of life for ${seconds(patience.silenceMs)}`)
  }

  wait(patience.ceilingMs, done.signal, `longer than ${seconds(patience.ceilingMs)}`)
  restartSilence()
  try {
    for await (const event of start(AbortSignal.any([signal, over.signal]))) {
      if (event.type === 'action' && event.phase === 'started') working.add(event.id)
      if (event.type === 'action' && event.phase !== 'started') working.delete(event.id)
      restartSilence(event.type === 'thinking' && event.quietly)
      const timedOut = event.type === 'ended' && !event.ok && late !== null && !signal.aborted
      yield timedOut ? { type: 'ended', ok: false, why: 'timed-out', detail: late ?? '' } : event
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
