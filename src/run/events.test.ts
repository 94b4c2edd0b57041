// The silence timeout and the ceiling, with a manual clock.
import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '../base/agent.ts'
import type { Clock } from '../base/time.ts'
import { watchRun } from './events.ts'

/** Emits each event at its time, and ends when it is aborted. */
async function watched(
  script: readonly (readonly [at: number, event: AgentEvent])[],
  seen: (event: AgentEvent) => void = () => undefined,
): Promise<AgentEvent | undefined> {
  let now = 0
  const sleeping = new Set<{ readonly at: number; wake(): void }>()
  const clock: Clock = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise(resolve => {
        const entry = { at: now + ms, wake: resolve }
        sleeping.add(entry)
        signal.addEventListener('abort', () => {
          sleeping.delete(entry)
          resolve()
        })
      }),
  }
  const goTo = async (at: number, signal: AbortSignal) => {
    for (;;) {
      const next = [...sleeping].filter(one => one.at <= at).sort((a, b) => a.at - b.at)[0]
      if (!next || signal.aborted) break
      sleeping.delete(next)
      now = next.at
      next.wake()
      await new Promise(setImmediate)
    }
    now = at
  }
  async function* run(signal: AbortSignal): AsyncGenerator<AgentEvent> {
    for (const [at, event] of script) {
      await goTo(at, signal)
      if (signal.aborted) break
      yield event
    }
    if (signal.aborted) yield { type: 'ended', ok: false, why: 'stopped', detail: '' }
  }
  let last: AgentEvent | undefined
  for await (const event of watchRun(run, { silenceMs: 100, ceilingMs: 1000 }, clock, new AbortController().signal)) {
    seen(event)
    last = event
  }
  return last
}

const done: AgentEvent = { type: 'ended', ok: true, text: 'done' }
const quiet: AgentEvent = { type: 'thinking', quietly: true }
const every = (ms: number, until: number, event: AgentEvent) =>
  Array.from({ length: Math.floor(until / ms) }, (_, i) => [(i + 1) * ms, event] as const)

test('any sign of life restarts the silence timeout', async () => {
  expect(await watched([...every(80, 800, { type: 'alive' }), [850, done]])).toBe(done)
  expect(await watched([...every(80, 800, { type: 'thinking', quietly: false }), [850, done]])).toBe(done)
})

test('a run without a sign of life is ended', async () => {
  expect(
    await watched([
      [50, { type: 'alive' }],
      [900, done],
    ]),
  ).toMatchObject({ ok: false, why: 'timed-out' })
  expect(
    await watched([
      [50, { type: 'thinking', quietly: false }],
      [900, done],
    ]),
  ).toMatchObject({ why: 'timed-out' })
})

test('quiet thinking may be silent, until the next other event', async () => {
  expect(
    await watched([
      [50, quiet],
      [900, done],
    ]),
  ).toBe(done)
  expect(
    await watched([
      [50, quiet],
      [300, { type: 'alive' }],
      [900, done],
    ]),
  ).toMatchObject({ why: 'timed-out' })
})

test('the ceiling always applies', async () => {
  expect(
    await watched([
      [50, quiet],
      [1500, done],
    ]),
  ).toMatchObject({ why: 'timed-out', detail: expect.stringMatching(/^longer than/) })
  expect(await watched([...every(80, 1500, { type: 'alive' }), [1600, done]])).toMatchObject({ why: 'timed-out' })
})

describe('an agent that waits for an answer', () => {
  const asks = (id: string): AgentEvent => ({
    type: 'asks',
    ask: { id, kind: 'plan', plan: 'the plan' },
    answer: () => undefined,
  })
  const sign: AgentEvent = { type: 'alive' }

  /** Answers what was asked as soon as something else arrives. */
  const answering = () => {
    const open: Extract<AgentEvent, { type: 'asks' }>[] = []
    return (event: AgentEvent) => {
      if (event.type === 'asks') open.push(event)
      else for (const one of open.splice(0)) one.answer({ allow: true })
    }
  }

  test('is not ended for silence or length, however long it waits', async () => {
    expect(
      await watched(
        [
          [50, asks('1')],
          [90_000, sign],
          [90_050, done],
        ],
        answering(),
      ),
    ).toBe(done)
  })

  test('has the time that was left of the ceiling when it was asked, and a new silence timeout', async () => {
    const [before, after] = [
      every(80, 800, sign),
      every(80, 240, sign).map(([at, event]) => [90_000 + at, event] as const),
    ]
    expect(await watched([...before, [810, asks('1')], [90_000, sign], ...after], answering())).toMatchObject({
      why: 'timed-out',
      detail: 'longer than 1 s',
    })
    expect(
      await watched(
        [
          [50, asks('1')],
          [90_000, sign],
          [90_200, done],
        ],
        answering(),
      ),
    ).toMatchObject({
      why: 'timed-out',
      detail: 'no sign of life for 0 s',
    })
  })

  test('still waits if only one of two requests was answered or withdrawn', async () => {
    const script = [
      [50, asks('1')],
      [60, asks('2')],
      [70, { type: 'withdrawn', id: '2' }],
    ] as const
    expect(await watched([...script, [90_000, done]])).toBe(done)
    expect(await watched([...script, [80, { type: 'withdrawn', id: '1' }], [90_000, done]])).toMatchObject({
      why: 'timed-out',
    })
  })
})
