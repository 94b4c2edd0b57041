// Turns with a scripted backend: what it is asked, what is stored, and how each turn ends.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AgentEvent, type Backend, type Ended, permissionModes, type Turn } from '../base/agent.ts'
import type { PastMessage } from '../base/history.ts'
import type { Signal } from '../base/signal.ts'
import { cutOff } from './events.ts'
import {
  answer,
  answered,
  createTestTurns,
  failure,
  messageOf,
  never,
  now,
  type Script,
  taken,
} from './turns.fixture.ts'

describe('the request to the backend', () => {
  // Feature: discord-claude-gateway, Property 6: Query arguments correctness
  test('any prompt, tools, mode and system prompt reach the backend unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.array(fc.string()),
        fc.constantFrom(...permissionModes),
        fc.string(),
        async (text, allowedTools, permissionMode, systemPrompt) => {
          const settings = { allowedTools, permissionMode }
          const { take, asked } = createTestTurns(() => answer('x'), {
            settings,
            systemPrompt: async () => systemPrompt,
          })
          await take(taken({ text }), never)
          expect(asked).toHaveLength(1)
          expect(asked[0]).toMatchObject({
            prompt: text,
            allowedTools,
            permissionMode,
            systemPrompt,
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
        const { take, asked, sessions } = createTestTurns(() => answer('x', null))
        await sessions.remember(lane, 'scripted', session, true)
        await take(taken({ lane }), never)
        expect(asked[0]?.session).toEqual({ id: session, resume: true })
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 8: New session creation and storage
  test('a new conversation stores the session that the backend reports, and finds it again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), fc.uuid(), fc.boolean(), async (lane, session, takesSessionIds) => {
        const { take, asked, sessions } = createTestTurns(() => answer('x', session), { takesSessionIds })
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
  test('the session that the backend reports is stored; without a report nothing changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1 }),
        fc.option(fc.uuid()),
        fc.option(fc.uuid()),
        fc.boolean(),
        async (lane, before, told, ok) => {
          const { take, sessions } = createTestTurns(
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

  test('the chosen id of a new session is on disk before the backend starts', async () => {
    const { take, sessions } = createTestTurns(async turn => {
      expect(await sessions.find('chat:room', 'scripted')).toMatchObject({ id: turn.session?.id, confirmed: false })
      return answer('x', turn.session?.id)
    })
    await take(taken(), never)
  })

  test('a conversation that was reset in the meantime does not get the old session back', async () => {
    const { take, sessions } = createTestTurns(() => answer('x', 'old'), { reset: true })
    await take(taken(), never)
    expect(sessions.kept.size).toBe(0)
  })

  test('an id that the backend never used is forgotten', async () => {
    const { take, sessions } = createTestTurns(() => [failure('not-logged-in')])
    await take(taken(), never)
    expect(sessions.kept.size).toBe(0)
  })

  test('an interrupted event is marked as such and continues in its session', async () => {
    const { take, asked, sessions } = createTestTurns(() => answer('x'))
    await sessions.remember('chat:room', 'scripted', 's-9', false)
    await take(taken({ interrupted: true, attempt: 2 }), never)
    expect(asked[0]).toMatchObject({ session: { id: 's-9', resume: true }, prompt: 'INTERRUPTED\nhello' })
  })
})

describe('a lost session', () => {
  const history: PastMessage[] = [
    { id: '1', role: 'user', text: 'before', at: 1, ok: true, state: 'answered' },
    { id: '1', role: 'agent', text: 'said', at: 2, ok: true, state: 'answered' },
    { id: 'm1', role: 'user', text: 'hello', at: 3, ok: true, state: 'running' },
  ]

  test('is forgotten, replaced by a new one with the recent history, and reported', async () => {
    const { take, asked, ends, sessions, signals } = createTestTurns(
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

  test('that never really started is not reported', async () => {
    const { take, ends, sessions } = createTestTurns(
      turn => (turn.session?.resume ? [failure('session-lost')] : answer('fresh')),
      { history },
    )
    await sessions.remember('chat:room', 'scripted', 'only asked for', false)
    await take(taken({ interrupted: true, attempt: 2 }), never)
    expect(ends).toEqual([answered('fresh')])
  })

  test('is not replaced once a tool ran', async () => {
    const { take, asked, sessions } = createTestTurns(() => [
      { type: 'action', id: 't', label: 'Write', phase: 'ended' },
      failure('session-lost'),
    ])
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    await take(taken(), never)
    expect(asked).toHaveLength(1)
  })

  test('twice in one turn is a failure, not a loop', async () => {
    const { take, asked, sessions } = createTestTurns(() => [failure('session-lost')])
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    expect(await take(taken(), never)).toMatchObject({ type: 'failed', why: 'session-lost' })
    expect(asked).toHaveLength(2)
  })
})

/** A scripted backend under another name. */
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
  const history: PastMessage[] = [
    { id: '1', role: 'user', text: 'before', at: 1, ok: true, state: 'answered' },
    { id: '1', role: 'agent', text: 'said', at: 2, ok: true, state: 'answered' },
  ]

  test.each(['rate-limited', 'not-logged-in', 'not-installed'] as const)(
    'after %s another backend takes over with the history, and the person is notified',
    async why => {
      const other = standBy('other', () => answer('from the other', 'o-1'))
      const { take, ends, sessions, signals } = createTestTurns(() => [failure(why, { until: now + 60_000 })], {
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

  test('a backend at its limit is not asked again before the limit ends', async () => {
    const other = standBy('other', () => answer('from the other'))
    const { take, asked } = createTestTurns(() => [failure('rate-limited', { until: now + 60_000 })], {
      standBys: [other],
    })
    await take(taken(), never)
    await take(taken(), never)
    expect(asked).toHaveLength(1)
    expect(other.asked).toHaveLength(2)
  })

  test.each(['not-logged-in', 'not-installed', 'overloaded', 'rate-limited'] as const)(
    'a backend that could not answer (%s) has a cooldown, longer each time, until it has answered again',
    async why => {
      let well = false
      const other = standBy('other', () => answer('from the other'))
      const { take, asked, cooldowns, wait, signals } = createTestTurns(() => (well ? answer('x') : [failure(why)]), {
        standBys: [other],
      })
      const say = () => take(taken({ retries: 3 }), never)
      await say()
      await say()
      expect([asked.length, other.asked.length]).toEqual([1, 2])
      expect(cooldowns.list()).toEqual([{ backend: 'scripted', why, until: now + 60_000 }])
      wait(60_000)
      expect(cooldowns.list()).toEqual([])
      // It is tried once, immediately, and then has a longer cooldown.
      await take(taken(), never)
      await say()
      expect([asked.length, other.asked.length]).toEqual([2, 4])
      expect(cooldowns.list()).toEqual([{ backend: 'scripted', why, until: now + 180_000 }])
      expect(signals.filter(signal => signal.type === 'backend-cooldown')).toHaveLength(2)
      for (let i = 0; i < 12; i++) {
        wait(1_800_000)
        await take(taken(), never)
      }
      expect((cooldowns.list()[0]?.until ?? 0) - (now + 60_000 + 12 * 1_800_000)).toBe(1_800_000)
      // Somebody asks for it by name.
      cooldowns.end('scripted')
      well = true
      const before = asked.length
      await take(taken(), never)
      await take(taken(), never)
      expect(asked.length).toBe(before + 2)
      expect(cooldowns.list()).toEqual([])
    },
  )

  test('if all are in cooldown they are asked in order, and a single backend has no cooldown', async () => {
    const other = standBy('other', () => [failure('not-logged-in')])
    const both = createTestTurns(() => [failure('not-logged-in')], { standBys: [other] })
    for (let i = 0; i < 2; i++) await both.take(taken(), never)
    expect([both.asked.length, other.asked.length]).toEqual([2, 2])
    expect(both.cooldowns.list().map(({ backend }) => backend)).toEqual(['scripted', 'other'])
    const alone = createTestTurns(() => [failure('not-logged-in')])
    await alone.take(taken(), never)
    expect(alone.cooldowns.list()).toEqual([])
  })

  test('overloaded is retried first, and moves on if that did not help', async () => {
    const other = standBy('other', () => answer('from the other'))
    const { take } = createTestTurns(() => [failure('overloaded')], { standBys: [other] })
    expect(await take(taken({ retries: 2 }), never)).toMatchObject({ type: 'later', retry: true })
    expect(other.asked).toHaveLength(0)
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'done' })
  })

  test("nothing moves once a tool ran, nor for what is the message's own fault", async () => {
    const other = standBy('other', () => answer('x'))
    const acted = createTestTurns(
      () => [{ type: 'action', id: 't', label: 'W', phase: 'ended' }, failure('rate-limited')],
      {
        standBys: [other],
      },
    )
    expect(await acted.take(taken(), never)).toMatchObject({ type: 'failed' })
    const refused = createTestTurns(() => [failure('refused')], { standBys: [other] })
    expect(await refused.take(taken(), never)).toMatchObject({ type: 'failed', why: 'refused' })
    expect(other.asked).toHaveLength(0)
  })

  test('if all are at their limits, the turn waits for the first limit to end', async () => {
    const other = standBy('other', () => [failure('rate-limited', { until: now + 30_000 })])
    const { take, ends } = createTestTurns(() => [failure('rate-limited', { until: now + 60_000 })], {
      standBys: [other],
    })
    expect(await take(taken(), never)).toMatchObject({ type: 'later', at: now + 30_000, retry: true })
    expect(ends).toEqual([{ type: 'put-off', why: 'rate-limited', backend: 'other', until: now + 30_000 }])
  })

  test('a limit given as text is waited for too', async () => {
    const { take } = createTestTurns(() => [
      { type: 'ended', ok: false, why: 'rate-limited', detail: "You've hit your limit. Try again in 5 minutes." },
    ])
    expect(await take(taken(), never)).toMatchObject({ type: 'later', at: now + 300_000 })
  })
})

describe('usage', () => {
  const usage = (inputTokens: number, costUsd: number | null): AgentEvent => ({
    type: 'usage',
    usage: { inputTokens, outputTokens: 1, costUsd },
    of: 'session',
    model: 'm-1',
  })
  const used = (signals: readonly Signal[]) =>
    signals.flatMap(signal => (signal.type === 'turn-ended' ? [signal.usage] : []))

  test('session totals become usage of the turn, and a session whose count was reset adds nothing', async () => {
    const totals = [usage(100, 1), usage(250, 1.5), usage(40, 0.2)]
    const { take, signals } = createTestTurns(() => [
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

  test('a stopped turn counts the usage reported so far, and the totals of the next turn do not count it again', async () => {
    const told: readonly (readonly AgentEvent[])[] = [
      [usage(100, 1), { type: 'ended', ok: true, text: 'x' }],
      [{ ...usage(120, null), of: 'turn' } as AgentEvent, failure('stopped')],
      [usage(340, 3), { type: 'ended', ok: true, text: 'x' }],
    ]
    const runs = told.values()
    const { take, signals } = createTestTurns(() => [{ type: 'started', session: 's' }, ...(runs.next().value ?? [])])
    for (let i = 0; i < 3; i++) await take(taken(), never)
    // It did not report its cost: that is included in the next turn.
    expect(used(signals).map(one => [one?.inputTokens, one?.costUsd])).toEqual([
      [100, 1],
      [120, null],
      [120, 2],
    ])
  })

  test('for a session with unknown past usage, nothing is counted', async () => {
    const { take, signals, sessions } = createTestTurns(() => [usage(5000, 9), { type: 'ended', ok: true, text: 'x' }])
    await sessions.remember('chat:room', 'scripted', 'old', true)
    await take(taken(), never)
    expect(used(signals)).toEqual([{ inputTokens: 0, outputTokens: 0, costUsd: null }])
  })
})

describe('the outcome', () => {
  const place = fc.record({ chat: fc.stringMatching(/^[a-z]+$/), conversation: fc.string({ minLength: 1 }) })

  // Feature: multi-cli-backend, Property 9: EventResult mapping preserves semantics
  test('an answer becomes an answer, a failure a failure, and both go to where the event came from', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.string(), fc.uuid(), place, async (ok, text, session, replyTo) => {
        const ended: Ended = ok
          ? { type: 'ended', ok: true, text }
          : { type: 'ended', ok: false, why: 'refused', detail: text }
        const { take, ends, sessions } = createTestTurns(() => [{ type: 'started', session }, ended])
        const lane = `${replyTo.chat}:${replyTo.conversation}`
        const outcome = await take(taken({ lane, item: { ...messageOf('hello'), lane, replyTo } }), never)
        expect(outcome.type).toBe(ok ? 'done' : 'failed')
        expect(await sessions.find(lane, 'scripted')).toMatchObject({ id: session })
        expect(ends).toEqual([
          ok ? answered(text) : { type: 'failed', why: 'refused', detail: text, backend: 'scripted' },
        ])
        const delivery = { queue: 'out', lane: JSON.stringify(replyTo), item: ends[0] }
        expect(outcome).toHaveProperty('followUps', [expect.objectContaining(delivery)])
      }),
      { numRuns: 100 },
    )
  })

  test.each(['overloaded', 'rate-limited', 'crashed'] as const)(
    '%s is temporary: retried three times, with growing pauses',
    async why => {
      for (const [retries, seconds] of [
        [0, 5],
        [1, 10],
        [2, 20],
      ] as const) {
        const { take } = createTestTurns(() => [failure(why)])
        expect(await take(taken({ retries }), never)).toMatchObject({
          type: 'later',
          retry: true,
          at: now + seconds * 1000,
        })
      }
      const { take } = createTestTurns(() => [failure(why)])
      expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'failed', why })
    },
  )

  test('nothing is retried once a tool ran, and a crash is not retried after the first text', async () => {
    const acted = createTestTurns(() => [
      { type: 'action', id: 't', label: 'Write', phase: 'started' },
      failure('overloaded'),
    ])
    expect(await acted.take(taken(), never)).toMatchObject({ type: 'failed' })
    const spoke = createTestTurns(() => [{ type: 'text', delta: 'I' }, failure('crashed')])
    expect(await spoke.take(taken(), never)).toMatchObject({ type: 'failed' })
  })

  test.each(['not-installed', 'not-logged-in', 'refused', 'max-turns', 'unreadable', 'timed-out'] as const)(
    '%s is reported immediately',
    async why => {
      const { take } = createTestTurns(() => [failure(why)])
      expect(await take(taken(), never)).toMatchObject({ type: 'failed', why })
    },
  )

  test('a limit with a known end is waited for without using up a retry', async () => {
    const until = now + 3_600_000
    const { take, ends } = createTestTurns(() => [failure('rate-limited', { until })])
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'later', retry: false, at: until })
    expect(ends).toEqual([{ type: 'put-off', why: 'rate-limited', backend: 'scripted', until }])
  })

  test('a limit of seconds that keeps coming back is not waited for forever', async () => {
    const { take } = createTestTurns(() => [failure('rate-limited', { until: now + 5000 })])
    expect(await take(taken({ retries: 2 }), never)).toMatchObject({ type: 'later', retry: true, at: now + 5000 })
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'failed', why: 'rate-limited' })
  })

  test('a turn stopped by the user ends with the text so far; one interrupted by the gateway is resumed', async () => {
    const script: Script = () => [{ type: 'text', delta: 'half' }, failure('stopped')]
    const person = createTestTurns(script)
    expect(await person.take(taken(), AbortSignal.abort('stopped'))).toMatchObject({ type: 'done' })
    expect(person.ends).toEqual([{ type: 'stopped', text: 'half' }])
    const gateway = createTestTurns(script)
    expect(await gateway.take(taken(), AbortSignal.abort(cutOff))).toEqual({ type: 'cut' })
  })

  test('a backend that stops without reporting an end is a failure', async () => {
    const { take } = createTestTurns(() => [{ type: 'text', delta: 'so' }])
    expect(await take(taken(), never)).toMatchObject({ type: 'failed', why: 'crashed' })
  })
})
