// One real turn, with backends that end in every possible way.
import { expect, test } from 'vitest'
import type { AgentEvent, Backend, Ended, Turn } from '../../base/agent.ts'
import { scrubber } from '../../base/scrub.ts'
import { askOnce } from './live-turn.ts'

const turn: Turn = {
  prompt: 'Reply with the word ready.',
  systemPrompt: '',
  session: null,
  model: null,
  maxTurns: 1,
  allowedTools: [],
  askTools: [],
  permissionMode: 'default',
  mcpServers: [],
  workingDir: '/',
}

const backend = (run: (signal: AbortSignal) => AsyncGenerator<AgentEvent>): Backend => ({
  name: 'someone',
  takesSessionIds: false,
  check: async () => ({ ok: true, detail: '' }),
  run: (_, signal) => run(signal),
  ignores: () => [],
  prepare: async () => undefined,
})

const saying = (...events: AgentEvent[]) =>
  backend(async function* () {
    yield* events
  })
const failing = (why: Extract<Ended, { ok: false }>['why'], detail: string) =>
  saying({ type: 'ended', ok: false, why, detail })

/** Ends as soon as it is aborted, like every backend. */
const waiting = backend(async function* (signal) {
  await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  yield { type: 'ended', ok: false, why: 'stopped', detail: 'the run was stopped' }
})

function ask(whom: Backend, { timeoutMs = 5000, signal = new AbortController().signal } = {}) {
  let time = 0
  const now = () => (time += 700)
  return askOnce(whom, turn, { now, timeoutMs, scrub: scrubber(['s3cret-key']), fix: 'Log in.' }, signal)
}

test('an answer is reported with its timing and its first words', async () => {
  const text = `ready\n${'and so on '.repeat(20)}`
  const check = await ask(saying({ type: 'text', delta: 'ready' }, { type: 'ended', ok: true, text }))
  expect(check).toMatchObject({ name: 'live', status: 'ok' })
  expect(check?.detail).toMatch(/^someone answered in 1\.4 s, the first word after 700 ms: ready and so on .*…$/)
  expect(check?.detail.split(': ')[1]).toHaveLength(60)
})

test('an empty answer is a warning', async () => {
  expect(await ask(saying({ type: 'ended', ok: true, text: ' \n' }))).toMatchObject({
    status: 'warn',
    detail: 'someone answered in 700 ms, but the answer was empty',
  })
})

test('a failure is reported as in a chat, with the program’s own message, without secrets', async () => {
  expect(await ask(failing('not-logged-in', 'Invalid API key s3cret-key'))).toEqual({
    name: 'live',
    status: 'fail',
    detail: expect.stringMatching(/^no answer after 700 ms\. Not logged in: someone .* It said: Invalid API key …$/),
    fix: 'Log in.',
  })
  const crashed = await ask(failing('crashed', 'exit code 3'))
  expect(crashed?.detail.match(/It said/g)).toHaveLength(1)
  expect(crashed).not.toHaveProperty('fix')
})

test('a run that ends without an end is a failure', async () => {
  expect(await ask(saying({ type: 'started', session: null }))).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('Crashed: someone ended unexpectedly'),
  })
})

test('a turn that takes too long is stopped and reported as timed out', async () => {
  expect(await ask(waiting, { timeoutMs: 20 })).toMatchObject({
    status: 'fail',
    detail: expect.stringContaining('Timed out: someone took too long'),
  })
})

test('a turn stopped by the user reports nothing', async () => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 10)
  expect(await ask(waiting, { signal: stop.signal })).toBe(null)
})
