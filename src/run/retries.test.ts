// An attempt after a failed one: messages that the session has are not sent again. Also: what is shown of a turn besides its text.
import { expect, test } from 'vitest'
import type { AgentEvent } from '../base/agent.ts'
import { answer, createTestTurns, failure, messageOf, never, taken } from './turns.fixture.ts'

const kept: AgentEvent[] = [{ type: 'started', session: 's-1' }, { type: 'stored' }]

test('a message that the session has is not sent again on a retry, and the next message is sent', async () => {
  let busy = 2
  const { take, asked } = createTestTurns(() => (busy-- > 0 ? [...kept, failure('overloaded')] : answer('done')))
  for (const retries of [0, 1, 2]) await take(taken({ retries }), never)
  await take(taken({ id: 2, text: 'the next' }), never)
  expect(asked.map(({ prompt }) => prompt)).toEqual(['hello', 'HEARD', 'HEARD', 'the next'])
})

test('a message that the backend never stored is sent again', async () => {
  const { take, asked } = createTestTurns(() => [{ type: 'started', session: 's-1' }, failure('crashed')])
  await take(taken(), never)
  await take(taken({ retries: 1 }), never)
  expect(asked.map(({ prompt }) => prompt)).toEqual(['hello', 'hello'])
})

test('a message is not sent again after an interrupted turn either', async () => {
  const { take, asked } = createTestTurns(() => [...kept, failure('stopped')])
  await take(taken(), AbortSignal.abort('cut-off'))
  await take(taken({ attempt: 2, interrupted: true }), never)
  expect(asked.map(({ prompt }) => prompt)).toEqual(['hello', 'INTERRUPTED\nHEARD'])
})

test('newer messages are sent, and edited ones are sent with their current text', async () => {
  const { take, asked } = createTestTurns(() => [...kept, failure('overloaded')])
  await take(taken({ id: 5, text: 'one' }), never)
  const earlier = (text: string) => [{ id: 5, key: 'k5', item: messageOf(text) }]
  await take(taken({ id: 6, text: 'two', earlier: earlier('one') }), never)
  await take(taken({ id: 6, text: 'two', earlier: earlier('one, or rather not') }), never)
  expect(asked.map(({ prompt }) => prompt)).toEqual(['one', 'HEARD\ntwo', 'one, or rather not\ntwo'])
})

test('a lost session has received nothing', async () => {
  let runs = 0
  const { take, asked } = createTestTurns(() => {
    runs++
    if (runs === 1) return [...kept, failure('overloaded')]
    return runs === 2 ? [failure('session-lost')] : answer('done', 's-2')
  })
  await take(taken(), never)
  await take(taken({ retries: 1 }), never)
  expect(asked.map(({ prompt }) => prompt)).toEqual(['hello', 'HEARD', 'hello'])
})

test('thinking is shown once per stretch, and does not count as an action', async () => {
  const thinking: AgentEvent = { type: 'thinking', quietly: false }
  const { take, shown, signals } = createTestTurns(() => [
    { type: 'started', session: 's-1' },
    ...[thinking, thinking, { type: 'alive' } as const, thinking],
    { type: 'text', delta: 'so' },
    ...[thinking, thinking],
    failure('overloaded'),
  ])
  expect(await take(taken(), never)).toMatchObject({ type: 'later' })
  expect(shown).toEqual(['Thinking started', 'Thinking ended', 'so', 'Thinking started'])
  expect(signals.map(({ type }) => type)).not.toContain('turn-acted')
})

test('the pieces of a summary of thoughts are told, for the work of the event', async () => {
  const { take, signals } = createTestTurns(() => [
    { type: 'thinking', quietly: false, summary: 'First ' },
    { type: 'thinking', quietly: false },
    { type: 'thinking', quietly: false, summary: 'look.' },
    ...answer('done'),
  ])
  await take(taken(), never)
  expect(signals.flatMap(one => (one.type === 'turn-thought' ? [one.summary] : []))).toEqual(['First ', 'look.'])
})

test('problems during a run are reported', async () => {
  const { take, signals } = createTestTurns(() => [{ type: 'trouble', why: 'no tools' }, ...answer('done')])
  expect(await take(taken(), never)).toMatchObject({ type: 'done' })
  expect(signals).toContainEqual({
    type: 'turn-troubled',
    id: 1,
    lane: 'chat:room',
    backend: 'scripted',
    why: 'no tools',
  })
})
