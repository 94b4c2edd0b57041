// Turns with a backend that is told what to do: what it is asked, what is remembered, and how each end comes out.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentEvent, Backend, Ended, Turn } from '../base/agent.ts'
import type { Said } from '../base/history.ts'
import type { Signal } from '../base/signal.ts'
import { answer, answered, failure, never, now, openTestTurns, type Script, taken } from './turns.fixture.ts'
import { cutOff } from './watch.ts'

describe('what the backend is asked', () => {
  // Feature: discord-claude-gateway, Property 6: Query arguments correctness
  test('any prompt, tools, mode and system prompt reach the backend as they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.array(fc.string()),
        fc.constantFrom('bypassPermissions', 'acceptEdits', 'plan', 'default'),
        async (text, allowedTools, permissionMode) => {
          const { take, asked } = openTestTurns(() => answer('x'), { settings: { allowedTools, permissionMode } })
          await take(taken({ text }), never)
          expect(asked).toHaveLength(1)
          expect(asked[0]).toMatchObject({
            prompt: text,
            allowedTools,
            permissionMode,
            systemPrompt: 'the system prompt',
            model: 'm',
            maxTurns: 25,
            workingDir: '/w',
          })
        },
      ),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 7: Session resume on existing binding
  test('a conversation with a stored session resumes exactly that one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), async (lane, session) => {
        const { take, asked, sessions } = openTestTurns(() => answer('x', null))
        await sessions.remember(lane, 'scripted', session, true)
        await take(taken({ lane }), never)
        expect(asked[0]?.session).toEqual({ id: session, resume: true })
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 8: New session creation and storage
  test('a new conversation stores the session that the backend tells, and finds it again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.uuid(), fc.boolean(), async (lane, session, takesSessionIds) => {
        const { take, asked, sessions } = openTestTurns(() => answer('x', session), { takesSessionIds })
        await take(taken({ lane }), never)
        expect(asked[0]?.session).toEqual(takesSessionIds ? { id: 'chosen-1', resume: false } : null)
        expect(await sessions.find(lane, 'scripted')).toMatchObject({ id: session, confirmed: true })
        await take(taken({ lane }), never)
        expect(asked[1]?.session).toEqual({ id: session, resume: true })
      }),
      { numRuns: 100 },
    )
  })

  // Feature: multi-cli-backend, Property 10: Session ID storage after backend execution
  test('what the backend tells of its session is kept; when it tells nothing, nothing changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1 }),
        fc.option(fc.uuid()),
        fc.option(fc.uuid()),
        fc.boolean(),
        async (lane, before, told, ok) => {
          const { take, sessions } = openTestTurns(
            () => [
              { type: 'started', session: told },
              ok ? { type: 'ended', ok: true, text: 'x' } : failure('refused'),
            ],
            { takesSessionIds: false },
          )
          if (before) await sessions.remember(lane, 'scripted', before, true)
          await take(taken({ lane }), never)
          expect((await sessions.find(lane, 'scripted'))?.id ?? null).toBe(told ?? before)
        },
      ),
      { numRuns: 100 },
    )
  })

  test('the chosen id of a new session is on disk before the backend begins', async () => {
    const { take, sessions } = openTestTurns(async turn => {
      expect(await sessions.find('chat:room', 'scripted')).toMatchObject({ id: turn.session?.id, confirmed: false })
      return answer('x', turn.session?.id)
    })
    await take(taken(), never)
  })

  test('a conversation that began anew meanwhile is not tied to the old session again', async () => {
    const { take, sessions } = openTestTurns(() => answer('x', 'old'), { cut: true })
    await take(taken(), never)
    expect(sessions.kept.size).toBe(0)
  })

  test('an id that the backend never took up is forgotten again', async () => {
    const { take, sessions } = openTestTurns(() => [failure('not-logged-in')])
    await take(taken(), never)
    expect(sessions.kept.size).toBe(0)
  })

  test('an interrupted event is told so and goes on in its session', async () => {
    const { take, asked, sessions } = openTestTurns(() => answer('x'))
    await sessions.remember('chat:room', 'scripted', 's-9', false)
    await take(taken({ interrupted: true, attempt: 2 }), never)
    expect(asked[0]).toMatchObject({ session: { id: 's-9', resume: true }, prompt: 'INTERRUPTED\nhello' })
  })
})

describe('a lost session', () => {
  const history: Said[] = [
    { id: '1', role: 'user', text: 'before', at: 1, ok: true, state: 'answered' },
    { id: '1', role: 'agent', text: 'said', at: 2, ok: true, state: 'answered' },
    { id: 'm1', role: 'user', text: 'hello', at: 3, ok: true, state: 'running' },
  ]

  test('is forgotten, begun afresh with the recent history, and said', async () => {
    const { take, asked, ends, sessions, signals } = openTestTurns(
      turn => (turn.session?.resume ? [failure('session-lost')] : answer('fresh', turn.session?.id)),
      { history },
    )
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    sessions.advance('chat:room', 'scripted', 1, null)
    expect((await take(taken(), never)).type).toBe('done')
    expect(asked.map(turn => turn.prompt)).toEqual(['hello', 'H:before\nH:said\nhello'])
    expect(ends).toEqual([answered('fresh', { sessionWasLost: true })])
    expect(signals.some(signal => signal.type === 'session-lost')).toBe(true)
    expect(await sessions.find('chat:room', 'scripted')).toMatchObject({ id: 'chosen-1', confirmed: true })
  })

  test('that never really began is nothing to speak of', async () => {
    const { take, ends, sessions } = openTestTurns(
      turn => (turn.session?.resume ? [failure('session-lost')] : answer('fresh')),
      { history },
    )
    await sessions.remember('chat:room', 'scripted', 'only asked for', false)
    await take(taken({ interrupted: true, attempt: 2 }), never)
    expect(ends).toEqual([answered('fresh')])
  })

  test('is not begun afresh once a tool ran', async () => {
    const { take, asked, sessions } = openTestTurns(() => [
      { type: 'action', id: 't', label: 'Write', phase: 'ended' },
      failure('session-lost'),
    ])
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    await take(taken(), never)
    expect(asked).toHaveLength(1)
  })

  test('twice in one turn is a failure, not a loop', async () => {
    const { take, asked, sessions } = openTestTurns(() => [failure('session-lost')])
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    expect(await take(taken(), never)).toMatchObject({ type: 'failed', why: 'session-lost' })
    expect(asked).toHaveLength(2)
  })
})

/** A backend that is told what to do, under another name. */
function standBy(name: string, script: Script): Backend & { readonly asked: Turn[] } {
  const asked: Turn[] = []
  return {
    name,
    asked,
    takesSessionIds: true,
    check: async () => ({ ok: true, detail: '' }),
    async *run(turn, signal) {
      asked.push(turn)
      yield* await script(turn, signal)
    },
    ignores: () => [],
    prepare: async () => undefined,
  }
}

describe('when another backend can take over', () => {
  const history: Said[] = [
    { id: '1', role: 'user', text: 'before', at: 1, ok: true, state: 'answered' },
    { id: '1', role: 'agent', text: 'said', at: 2, ok: true, state: 'answered' },
  ]

  test.each(['rate-limited', 'not-logged-in', 'not-installed'] as const)(
    '%s moves the turn on, with the history handed over, and the person is told',
    async why => {
      const other = standBy('other', () => answer('from the other', 'o-1'))
      const { take, ends, sessions, signals } = openTestTurns(() => [failure(why, { until: now + 60_000 })], {
        standBys: [other],
        history,
      })
      expect(await take(taken({ id: 7 }), never)).toMatchObject({ type: 'done' })
      expect(ends).toEqual([answered('from the other', { backend: 'other', instead: [{ backend: 'scripted', why }] })])
      expect(other.asked[0]?.prompt).toBe('H:before\nH:said\nhello')
      expect(await sessions.find('chat:room', 'other')).toMatchObject({ id: 'o-1', confirmed: true, through: 7 })
      expect(signals.map(signal => signal.type)).toContain('turn-moved')
    },
  )

  test('whoever is at its limit is not asked again before that ends', async () => {
    const other = standBy('other', () => answer('from the other'))
    const { take, asked } = openTestTurns(() => [failure('rate-limited', { until: now + 60_000 })], {
      standBys: [other],
    })
    await take(taken(), never)
    await take(taken(), never)
    expect(asked).toHaveLength(1)
    expect(other.asked).toHaveLength(2)
  })

  test('overloaded is tried again first, and moves on when that did not help', async () => {
    const other = standBy('other', () => answer('from the other'))
    const { take } = openTestTurns(() => [failure('overloaded')], { standBys: [other] })
    expect(await take(taken({ retries: 2 }), never)).toMatchObject({ type: 'later', retry: true })
    expect(other.asked).toHaveLength(0)
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'done' })
  })

  test("nothing moves once a tool ran, nor for what is the message's own fault", async () => {
    const other = standBy('other', () => answer('x'))
    const acted = openTestTurns(
      () => [{ type: 'action', id: 't', label: 'W', phase: 'ended' }, failure('rate-limited')],
      {
        standBys: [other],
      },
    )
    expect(await acted.take(taken(), never)).toMatchObject({ type: 'failed' })
    const refused = openTestTurns(() => [failure('refused')], { standBys: [other] })
    expect(await refused.take(taken(), never)).toMatchObject({ type: 'failed', why: 'refused' })
    expect(other.asked).toHaveLength(0)
  })

  test('all at their limits: it waits for the first that ends', async () => {
    const other = standBy('other', () => [failure('rate-limited', { until: now + 30_000 })])
    const { take, ends } = openTestTurns(() => [failure('rate-limited', { until: now + 60_000 })], {
      standBys: [other],
    })
    expect(await take(taken(), never)).toMatchObject({ type: 'later', at: now + 30_000, retry: true })
    expect(ends).toEqual([{ type: 'put-off', why: 'rate-limited', backend: 'other', until: now + 30_000 }])
  })

  test('a limit told in words is waited for too', async () => {
    const { take } = openTestTurns(() => [
      { type: 'ended', ok: false, why: 'rate-limited', detail: "You've hit your limit. Try again in 5 minutes." },
    ])
    expect(await take(taken(), never)).toMatchObject({ type: 'later', at: now + 300_000 })
  })
})

describe('what it used', () => {
  const usage = (inputTokens: number, costUsd: number | null): AgentEvent => ({
    type: 'usage',
    usage: { inputTokens, outputTokens: 1, costUsd },
    of: 'session',
    model: 'm-1',
  })
  const used = (signals: readonly Signal[]) =>
    signals.flatMap(signal => (signal.type === 'turn-ended' ? [signal.usage] : []))

  test('totals of a session become those of the turn, and a session that has lost count adds nothing', async () => {
    const totals = [usage(100, 1), usage(250, 1.5), usage(40, 0.2)]
    const { take, signals } = openTestTurns(() => [
      { type: 'started', session: 's' },
      totals.shift() ?? usage(0, 0),
      { type: 'ended', ok: true, text: 'x' },
    ])
    for (let i = 0; i < 3; i++) await take(taken(), never)
    expect(used(signals).map(one => [one?.inputTokens, one?.costUsd])).toEqual([
      [100, 1],
      [150, 0.5],
      [0, 0],
    ])
    expect(signals.findLast(signal => signal.type === 'turn-ended')).toMatchObject({
      model: 'm-1',
      person: 'a',
      source: 'chat',
      kind: 'message',
    })
  })

  test('of a session whose past is not known, nothing is claimed', async () => {
    const { take, signals, sessions } = openTestTurns(() => [usage(5000, 9), { type: 'ended', ok: true, text: 'x' }])
    await sessions.remember('chat:room', 'scripted', 'old', true)
    await take(taken(), never)
    expect(used(signals)).toEqual([{ inputTokens: 0, outputTokens: 0, costUsd: null }])
  })
})

describe('how it ends', () => {
  // Feature: multi-cli-backend, Property 9: EventResult mapping preserves semantics
  test('an answer becomes an answer, a failure a failure, and both go to where the event came from', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.string(), async (ok, text) => {
        const ended: Ended = ok
          ? { type: 'ended', ok: true, text }
          : { type: 'ended', ok: false, why: 'refused', detail: text }
        const { take, ends } = openTestTurns(() => [{ type: 'started', session: null }, ended])
        const outcome = await take(taken(), never)
        expect(outcome.type).toBe(ok ? 'done' : 'failed')
        expect(ends).toEqual([
          ok ? answered(text) : { type: 'failed', why: 'refused', detail: text, backend: 'scripted' },
        ])
        expect(outcome).toHaveProperty('followUps', [expect.objectContaining({ box: 'out', lane: 'l', item: ends[0] })])
      }),
      { numRuns: 100 },
    )
  })

  test.each(['overloaded', 'rate-limited', 'crashed'] as const)(
    '%s passes by itself: put off with growing pauses, three times',
    async why => {
      for (const [retries, seconds] of [
        [0, 5],
        [1, 10],
        [2, 20],
      ] as const) {
        const { take } = openTestTurns(() => [failure(why)])
        expect(await take(taken({ retries }), never)).toMatchObject({
          type: 'later',
          retry: true,
          at: now + seconds * 1000,
        })
      }
      const { take } = openTestTurns(() => [failure(why)])
      expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'failed', why })
    },
  )

  test('nothing is tried again once a tool ran, and a crash not once it spoke', async () => {
    const acted = openTestTurns(() => [
      { type: 'action', id: 't', label: 'Write', phase: 'started' },
      failure('overloaded'),
    ])
    expect(await acted.take(taken(), never)).toMatchObject({ type: 'failed' })
    const spoke = openTestTurns(() => [{ type: 'text', delta: 'I' }, failure('crashed')])
    expect(await spoke.take(taken(), never)).toMatchObject({ type: 'failed' })
  })

  test.each(['not-installed', 'not-logged-in', 'refused', 'max-turns', 'unreadable', 'timed-out'] as const)(
    '%s is told at once',
    async why => {
      const { take } = openTestTurns(() => [failure(why)])
      expect(await take(taken(), never)).toMatchObject({ type: 'failed', why })
    },
  )

  test('a limit that tells its end is waited for, without costing a retry', async () => {
    const until = now + 3_600_000
    const { take, ends } = openTestTurns(() => [failure('rate-limited', { until })])
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'later', retry: false, at: until })
    expect(ends).toEqual([{ type: 'put-off', why: 'rate-limited', backend: 'scripted', until }])
  })

  test('a limit of seconds that comes again and again is not waited for for ever', async () => {
    const { take } = openTestTurns(() => [failure('rate-limited', { until: now + 5000 })])
    expect(await take(taken({ retries: 2 }), never)).toMatchObject({ type: 'later', retry: true, at: now + 5000 })
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'failed', why: 'rate-limited' })
  })

  test('stopped by the person: an end with what was said so far; cut off by the gateway: taken up again', async () => {
    const script: Script = () => [{ type: 'text', delta: 'half' }, failure('stopped')]
    const person = openTestTurns(script)
    expect(await person.take(taken(), AbortSignal.abort('stopped'))).toMatchObject({ type: 'done' })
    expect(person.ends).toEqual([{ type: 'stopped', text: 'half' }])
    const gateway = openTestTurns(script)
    expect(await gateway.take(taken(), AbortSignal.abort(cutOff))).toEqual({ type: 'cut' })
  })

  test('a backend that falls silent without an end is a failure', async () => {
    const { take } = openTestTurns(() => [{ type: 'text', delta: 'so' }])
    expect(await take(taken(), never)).toMatchObject({ type: 'failed', why: 'crashed' })
  })
})
