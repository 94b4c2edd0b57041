// Turns that nobody asked for: jobs, hooks and webhooks, and the hooks around every turn.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Happening, NewEvent } from '../base/event.ts'
import { answer, failure, messageOf, never, openTestTurns, taken } from './turns.fixture.ts'

const job = (what: Happening): NewEvent => ({ key: 'k', lane: 'cron:x', what, replyTo: null, source: 'cron' })
const said = [{ id: 'm', role: 'user', text: 'earlier', at: 0, ok: true, state: 'answered' }] as const

// Feature: discord-claude-gateway, Property 18: Non-message events use instruction as prompt
test('a heartbeat or a cron job is run with its instruction as the prompt, and the same system prompt', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('heartbeat', 'cron'), fc.string(), async (kind, instruction) => {
      const { take, asked } = openTestTurns(() => answer('x'), { history: said })
      await take(taken({ lane: 'cron:x', item: job({ kind, name: 'x', instruction }) }), never)
      expect(asked).toMatchObject([{ prompt: instruction, systemPrompt: 'the system prompt' }])
    }),
    { numRuns: 100 },
  )
})

test('a job begins each run in a new session, and goes on in it after it was cut off', async () => {
  const { take, asked } = openTestTurns(turn => answer('x', turn.session?.id ?? 's'))
  const run = (given = {}) =>
    take(taken({ lane: 'cron:x', item: job({ kind: 'cron', name: 'x', instruction: 'do it' }), ...given }), never)
  await run()
  await run()
  await run({ attempt: 2, interrupted: true })
  await run({ retries: 1 })
  expect(asked.map(turn => turn.session)).toEqual([
    { id: 'chosen-1', resume: false },
    { id: 'chosen-2', resume: false },
    { id: 'chosen-2', resume: true },
    { id: 'chosen-2', resume: true },
  ])
})

// Feature: discord-claude-gateway, Property 26: Lifecycle hooks fire for every event
test('agent_begin runs before and agent_stop after every event but a hook, whatever becomes of it', async () => {
  const kinds: readonly Happening[] = [
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
      const { take, asked, ends, keys } = openTestTurns(
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
      // Neither speaks in the conversation's session.
      const sessions = asked.map(turn => turn.session?.id)
      expect(new Set(sessions).size).toBe(sessions.length)
      expect(new Set(keys).size).toBe(keys.length)
    }),
    { numRuns: 100 },
  )
})

test('a hook that breaks changes nothing about the turn, and is told', async () => {
  const { take, ends, signals } = openTestTurns(
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

test('an event that is put off is not over, so that agent_stop waits for its end', async () => {
  const { take } = openTestTurns(({ prompt }) => (prompt === 'hello' ? [failure('overloaded')] : answer('done')), {
    hooks: { agent_stop: 'after' },
  })
  const outcome = await take(taken(), never)
  expect(outcome.type).toBe('later')
  expect('afterwards' in outcome).toBe(false)
})
