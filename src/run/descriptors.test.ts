// Turns on a machine without free file descriptors.
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import { answer, createTestTurns, failure, never, now, taken } from './turns.fixture.ts'

test('without free descriptors a turn is deferred as often as necessary, and uses up no attempt', async () => {
  let room = false
  const { take, asked, ends, signals } = createTestTurns(() => answer('hello'), { hasRoom: () => room })
  for (const attempt of [1, 2, 3]) {
    const outcome = await take(taken({ attempt }), never)
    expect(outcome).toMatchObject({ type: 'later', at: now + 5000 })
    expect(outcome).not.toHaveProperty('retry')
  }
  expect(asked).toEqual([])
  expect(ends.map(end => end.type)).toEqual(['put-off', 'put-off', 'put-off'])
  expect(signals).toContainEqual(expect.objectContaining({ type: 'turn-put-off', why: 'no-room' }))
  room = true
  expect(await take(taken(), never)).toMatchObject({ type: 'done' })
})

test('an event deferred before anything was done still runs agent_begin, and a job still starts a new session', async () => {
  let room = true
  const { take, asked } = createTestTurns(turn => answer('x', turn.session?.id ?? 's'), {
    hooks: { agent_begin: 'before' },
    hasRoom: () => room,
  })
  const what = { kind: 'cron', name: 'x', instruction: 'do it' } as const
  const item: NewEvent = { key: 'k', lane: 'cron:x', what, replyTo: null, source: 'cron' }
  const run = (given = {}) => take(taken({ lane: 'cron:x', item, ...given }), never)
  await run({ id: 1 })
  room = false
  await run({ id: 2 })
  await run({ id: 2, putOff: true })
  room = true
  await run({ id: 2, putOff: true })
  await run({ id: 2, putOff: true, retries: 1 })
  expect(asked.map(({ prompt }) => prompt)).toEqual(['before', 'do it', 'before', 'do it', 'do it'])
  const [first, second, retry] = asked.filter(({ prompt }) => prompt === 'do it').map(({ session }) => session)
  expect([first?.resume, second?.resume, retry]).toEqual([false, false, { id: second?.id, resume: true }])
})

test('a backend that could not be started for lack of room is tried again without using up a retry, and no other is asked', async () => {
  const { take, sessions } = createTestTurns(() => [failure('no-room')])
  for (const retries of [0, 3, 30]) {
    const outcome = await take(taken({ retries }), never)
    expect(outcome).toMatchObject({ type: 'later', at: now + 5000 })
    expect(outcome).not.toHaveProperty('retry')
  }
  // Nothing has started that could be resumed.
  expect(sessions.kept.size).toBe(0)
})

test('if the persona cannot be read for lack of descriptors, the turn waits instead of running without it', async () => {
  const trouble = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
  const prompts = [Promise.reject(trouble), Promise.resolve('the persona')]
  const systemPrompt = () => prompts.shift() ?? Promise.reject(trouble)
  const { take, asked } = createTestTurns(() => answer('hello'), { systemPrompt })
  expect(await take(taken(), never)).toMatchObject({ type: 'later', at: now + 5000 })
  expect(asked).toEqual([])
  expect(await take(taken(), never)).toMatchObject({ type: 'done' })
  expect(asked).toMatchObject([{ systemPrompt: 'the persona' }])
})
