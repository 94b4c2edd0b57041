// Turns with a backend that is told what to do: what it is asked, what is remembered, and how each end comes out.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentEvent, Backend, Ended, Live, Turn, TurnEnd } from '../base/agent.ts'
import type { NewEvent } from '../base/event.ts'
import type { Said } from '../base/history.ts'
import type { Taken } from '../base/lanes.ts'
import type { Sessions } from '../base/sessions.ts'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { cutOff, openTurns, type TurnParts } from './turn.ts'

const now = 1_000_000
const clock: Clock = {
  now: () => now,
  sleep: (_, signal) => new Promise(resolve => signal.addEventListener('abort', () => resolve())),
}

function memorySessions(): Sessions & {
  readonly kept: Map<string, { backend: string; id: string; confirmed: boolean }>
} {
  const kept = new Map<string, { backend: string; id: string; confirmed: boolean }>()
  return {
    kept,
    find: async (lane, backend) => {
      const one = kept.get(lane)
      return one?.backend === backend ? one : null
    },
    remember: async (lane, backend, id, confirmed) => void kept.set(lane, { backend, id, confirmed }),
    forget: async lane => void kept.delete(lane),
  }
}

type Script = (turn: Turn, signal: AbortSignal) => readonly AgentEvent[] | Promise<readonly AgentEvent[]>

const answer = (text: string, session: string | null = 's-1'): AgentEvent[] => [
  { type: 'started', session },
  { type: 'text', delta: text },
  { type: 'ended', ok: true, text },
]
const failure = (why: Extract<Ended, { ok: false }>['why'], extra: { until?: number } = {}): Ended => ({
  type: 'ended',
  ok: false,
  why,
  detail: `because ${why}`,
  ...extra,
})

function setup(
  script: Script,
  given: { takesSessionIds?: boolean; history?: readonly Said[]; settings?: Partial<TurnParts['settings']> } = {},
) {
  const asked: Turn[] = []
  const ends: TurnEnd[] = []
  const signals: Signal[] = []
  const shown: string[] = []
  const sessions = memorySessions()
  const backend: Backend = {
    name: 'scripted',
    takesSessionIds: given.takesSessionIds ?? true,
    check: async () => ({ ok: true, detail: '' }),
    async *run(turn, signal) {
      asked.push(turn)
      yield* await script(turn, signal)
    },
    ignores: () => [],
    prepare: async () => undefined,
    close: async () => undefined,
  }
  let ids = 0
  const take = openTurns({
    backend,
    sessions,
    clock,
    chance: () => 0.5,
    tell: signal => signals.push(signal),
    newSessionId: () => `chosen-${++ids}`,
    settings: {
      model: 'm',
      maxTurns: 25,
      allowedTools: ['Read'],
      permissionMode: 'plan',
      mcpServers: [],
      workingDir: '/w',
      silenceMs: 1000,
      ceilingMs: 5000,
      ...given.settings,
    },
    systemPrompt: async () => 'the system prompt',
    compose: ({ text, history, interrupted, collected }) =>
      [...history.map(said => `H:${said.text}`), ...(interrupted ? ['INTERRUPTED'] : []), ...collected, text].join(
        '\n',
      ),
    history: () => given.history ?? [],
    openLive: (): Live => ({
      text: delta => shown.push(delta),
      action: (label, phase) => shown.push(`${label} ${phase}`),
      close: async () => undefined,
    }),
    letters: (_, end) => {
      ends.push(end)
      return [{ box: 'out', lane: 'l', key: 'k', item: end }]
    },
    withScratch: use => use('/scratch'),
  })
  return { take, asked, ends, signals, shown, sessions }
}

const taken = (given: Partial<Taken<NewEvent>> & { text?: string } = {}): Taken<NewEvent> => ({
  id: 1,
  lane: 'chat:room',
  key: 'k1',
  item: event(given.text ?? 'hello'),
  at: now,
  attempt: 1,
  retries: 0,
  interrupted: false,
  earlier: [],
  ...given,
})
const event = (text: string): NewEvent => ({
  key: 'k1',
  lane: 'chat:room',
  what: { kind: 'message', id: 'm1', text, author: { id: 'a', name: 'a', owner: true } },
  replyTo: { chat: 'chat', conversation: 'room' },
  source: 'chat',
})
const never = new AbortController().signal

describe('what the backend is asked', () => {
  // Feature: discord-claude-gateway, Property 6: Query arguments correctness
  test('any prompt, tools, mode and system prompt reach the backend as they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.array(fc.string()),
        fc.constantFrom('bypassPermissions', 'acceptEdits', 'plan', 'default'),
        async (text, allowedTools, permissionMode) => {
          const { take, asked } = setup(() => answer('x'), { settings: { allowedTools, permissionMode } })
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
            scratchDir: '/scratch',
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
        const { take, asked, sessions } = setup(() => answer('x', null))
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
        const { take, asked, sessions } = setup(() => answer('x', session), { takesSessionIds })
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
          const { take, sessions } = setup(
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
    const { take, sessions } = setup(async turn => {
      expect(await sessions.find('chat:room', 'scripted')).toEqual({
        backend: 'scripted',
        id: turn.session?.id,
        confirmed: false,
      })
      return answer('x', turn.session?.id)
    })
    await take(taken(), never)
  })

  test('an id that the backend never took up is forgotten again', async () => {
    const { take, sessions } = setup(() => [failure('not-logged-in')])
    await take(taken(), never)
    expect(sessions.kept.size).toBe(0)
  })

  test('an interrupted event is told so and goes on in its session', async () => {
    const { take, asked, sessions } = setup(() => answer('x'))
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
    const { take, asked, ends, sessions, signals } = setup(
      turn => (turn.session?.resume ? [failure('session-lost')] : answer('fresh', turn.session?.id)),
      { history },
    )
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    expect((await take(taken(), never)).type).toBe('done')
    expect(asked.map(turn => turn.prompt)).toEqual(['hello', 'H:before\nH:said\nhello'])
    expect(ends).toEqual([{ type: 'answered', text: 'fresh', sessionWasLost: true }])
    expect(signals.some(signal => signal.type === 'session-lost')).toBe(true)
    expect(await sessions.find('chat:room', 'scripted')).toMatchObject({ id: 'chosen-1', confirmed: true })
  })

  test('that never really began is nothing to speak of', async () => {
    const { take, ends, sessions } = setup(
      turn => (turn.session?.resume ? [failure('session-lost')] : answer('fresh')),
      { history },
    )
    await sessions.remember('chat:room', 'scripted', 'only asked for', false)
    await take(taken({ interrupted: true, attempt: 2 }), never)
    expect(ends).toEqual([{ type: 'answered', text: 'fresh', sessionWasLost: false }])
  })

  test('twice in one turn is a failure, not a loop', async () => {
    const { take, asked, sessions } = setup(() => [failure('session-lost')])
    await sessions.remember('chat:room', 'scripted', 'gone', true)
    expect(await take(taken(), never)).toMatchObject({ type: 'failed', why: 'session-lost' })
    expect(asked).toHaveLength(2)
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
        const { take, ends } = setup(() => [{ type: 'started', session: null }, ended])
        const outcome = await take(taken(), never)
        expect(outcome.type).toBe(ok ? 'done' : 'failed')
        expect(ends).toEqual([
          ok ? { type: 'answered', text, sessionWasLost: false } : { type: 'failed', why: 'refused', detail: text },
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
        const { take } = setup(() => [failure(why)])
        expect(await take(taken({ retries }), never)).toMatchObject({
          type: 'later',
          retry: true,
          at: now + seconds * 1000,
        })
      }
      const { take } = setup(() => [failure(why)])
      expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'failed', why })
    },
  )

  test('nothing is tried again once a tool ran, and a crash not once it spoke', async () => {
    const acted = setup(() => [{ type: 'action', id: 't', label: 'Write', phase: 'started' }, failure('overloaded')])
    expect(await acted.take(taken(), never)).toMatchObject({ type: 'failed' })
    const spoke = setup(() => [{ type: 'text', delta: 'I' }, failure('crashed')])
    expect(await spoke.take(taken(), never)).toMatchObject({ type: 'failed' })
  })

  test.each(['not-installed', 'not-logged-in', 'refused', 'max-turns', 'unreadable', 'timed-out'] as const)(
    '%s is told at once',
    async why => {
      const { take } = setup(() => [failure(why)])
      expect(await take(taken(), never)).toMatchObject({ type: 'failed', why })
    },
  )

  test('a limit that tells its end is waited for, without costing a retry', async () => {
    const { take, ends } = setup(() => [failure('rate-limited', { until: now + 60_000 })])
    expect(await take(taken({ retries: 3 }), never)).toMatchObject({ type: 'later', retry: false, at: now + 60_000 })
    expect(ends).toEqual([{ type: 'put-off', why: 'rate-limited', until: now + 60_000 }])
  })

  test('stopped by the person: an end with what was said so far; cut off by the gateway: taken up again', async () => {
    const script: Script = () => [{ type: 'text', delta: 'half' }, failure('stopped')]
    const person = setup(script)
    expect(await person.take(taken(), AbortSignal.abort('stopped'))).toMatchObject({ type: 'done' })
    expect(person.ends).toEqual([{ type: 'stopped', text: 'half' }])
    const gateway = setup(script)
    expect(await gateway.take(taken(), AbortSignal.abort(cutOff))).toEqual({ type: 'cut' })
  })

  test('a backend that falls silent without an end is a failure', async () => {
    const { take } = setup(() => [{ type: 'text', delta: 'so' }])
    expect(await take(taken(), never)).toMatchObject({ type: 'failed', why: 'crashed' })
  })
})
