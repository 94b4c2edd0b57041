// Turns that nobody asked for: jobs, hooks and webhooks, and the hooks around every turn.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventPayload, NewEvent } from '../base/event.ts'
import { answer, createTestTurns, failure, messageOf, never, taken } from './turns.fixture.ts'

const job = (what: EventPayload): NewEvent => ({ key: 'k', lane: 'cron:x', what, replyTo: null, source: 'cron' })

test('a job gets no history', async () => {
  const history = [{ id: 'm', role: 'user', text: 'earlier', at: 0, ok: true, state: 'answered' }] as const
  const { take, asked } = createTestTurns(() => answer('x'), { history })
  await take(taken({ lane: 'cron:x', item: job({ kind: 'cron', name: 'x', instruction: 'do it' }) }), never)
  expect(asked).toMatchObject([{ prompt: 'do it' }])
})

test('a job starts each run in a new session, and continues in it after an interruption', async () => {
  const { take, asked } = createTestTurns(turn => answer('x', turn.session?.id ?? 's'))
  const run = (given = {}) =>
    take(taken({ lane: 'cron:x', item: job({ kind: 'cron', name: 'x', instruction: 'do it' }), ...given }), never)
  await run()
  await run()
  await run({ attempt: 2, interrupted: true })
  // An orderly stop does not count the attempt.
  await run({ attempt: 1, interrupted: true })
  await run({ retries: 1, putOff: true })
  // Deferred until a usage limit ends, which is not a retry.
  await run({ putOff: true })
  expect(asked.map(turn => turn.session)).toEqual([
    { id: 'chosen-1', resume: false },
    { id: 'chosen-2', resume: false },
    { id: 'chosen-2', resume: true },
    { id: 'chosen-2', resume: true },
    { id: 'chosen-2', resume: true },
    { id: 'chosen-2', resume: true },
  ])
})

// Feature: discord-claude-gateway, Property 26: Lifecycle hooks fire for every event
test('agent_begin runs before and agent_stop after every event except a hook, for every outcome', async () => {
  const kinds: readonly EventPayload[] = [
    messageOf('hello').what,
    { kind: 'heartbeat', name: 'x', instruction: 'main' },
    { kind: 'cron', name: 'x', instruction: 'main' },
    { kind: 'webhook', name: 'x', instruction: 'main', payload: '' },
    { kind: 'assignment', agent: 'a', name: 'x', instruction: 'main', depth: 1, reportTo: { lane: 'l', place: null } },
    { kind: 'report', agent: 'a', name: 'x', text: 'main', ok: true },
    { kind: 'hook', name: 'startup', instruction: 'main' },
  ]
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...kinds), fc.boolean(), fc.boolean(), async (what, ok, hookFails) => {
      const happened: string[] = []
      const { take, asked, ends, keys } = createTestTurns(
        ({ prompt }) => {
          happened.push(prompt)
          const isHook = prompt === 'before' || prompt === 'after'
          return (isHook ? hookFails : !ok) ? [failure('refused')] : answer('done')
        },
        { hooks: { agent_begin: 'before', agent_stop: 'after' }, happened: word => happened.push(word) },
      )
      const outcome = await take(taken({ item: { ...job(what), lane: 'chat:room' } }), never)
      const main = 'text' in what ? what.text : what.instruction
      const withHook = (hook: string) => (what.kind === 'hook' ? [] : ['attended', hook, 'left'])
      const before = ['attended', ...withHook('before'), main, 'left']
      expect(happened).toEqual(before)
      if (outcome.type === 'done' || outcome.type === 'failed') await outcome.afterwards?.()
      expect(happened).toEqual([...before, ...withHook('after')])
      expect(ends).toMatchObject([{ type: ok ? 'answered' : 'failed' }])
      // Neither uses the conversation's session.
      const sessions = asked.map(turn => turn.session?.id)
      expect(new Set(sessions).size).toBe(sessions.length)
      expect(new Set(keys).size).toBe(keys.length)
    }),
    { numRuns: 100 },
  )
})

test('a failing hook does not change the turn, and is reported', async () => {
  const { take, ends, signals } = createTestTurns(
    ({ prompt }) => {
      if (prompt !== 'hello') throw new Error('no such thing')
      return answer('done')
    },
    { hooks: { agent_begin: 'before', agent_stop: 'after' } },
  )
  const outcome = await take(taken(), never)
  if (outcome.type === 'done') await outcome.afterwards?.()
  expect(ends).toMatchObject([{ type: 'answered', text: 'done' }])
  expect(signals.filter(({ type }) => type === 'workspace-trouble')).toHaveLength(2)
})

test('a deferred event is not over, so agent_stop waits for its end', async () => {
  const { take } = createTestTurns(({ prompt }) => (prompt === 'hello' ? [failure('overloaded')] : answer('done')), {
    hooks: { agent_stop: 'after' },
  })
  const outcome = await take(taken(), never)
  expect(outcome.type).toBe('later')
  expect('afterwards' in outcome).toBe(false)
})

test('agent_begin runs once per event: not again for a retry, nor after an interruption', async () => {
  for (const given of [{ putOff: true }, { retries: 2, putOff: true }, { interrupted: true, attempt: 2 }]) {
    const { take, asked } = createTestTurns(() => answer('done'), {
      hooks: { agent_begin: 'before', agent_stop: 'after' },
    })
    const outcome = await take(taken(given), never)
    if (outcome.type === 'done') await outcome.afterwards?.()
    expect(asked.map(({ prompt }) => prompt.split('\n').at(-1))).toEqual(['hello', 'after'])
  }
})
