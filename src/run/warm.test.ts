// After which ends a host stays up, with a fake host and a fake pool.
import { expect, test } from 'vitest'
import type { AgentEvent, FailureReason } from '../base/agent.ts'
import type { Pool } from './pool.ts'
import { turnWith } from './turn.fixture.ts'
import { type Host, runWarm } from './warm.ts'

/** What happens to the lease after a turn with these events, and who answered. */
async function after(events: readonly AgentEvent[], serves: 'one-session' | 'all-sessions' = 'one-session') {
  let fate = 'kept'
  const gone = Promise.withResolvers<void>()
  const host: Host = {
    ...{ pid: 1, close: async () => undefined, kill: gone.resolve, gone: gone.promise },
    async *run() {
      yield* events
    },
  }
  const pool: Pool = {
    lease: async () => ({
      host,
      rename: () => undefined,
      release: () => {
        fate = 'released'
      },
      discard: () => {
        fate = 'discarded'
        gone.resolve()
      },
    }),
    size: () => ({ hosts: 1, memoryBytes: 0 }),
    close: async () => undefined,
  }
  const { run } = runWarm({
    ...{ name: 'x', pool, open: async () => host },
    warm: { serves, fixed: () => '', open: async () => host },
    async *cold() {
      yield { type: 'ended', ok: true, text: 'cold' }
    },
  })
  const all: AgentEvent[] = []
  for await (const event of run(turnWith({})(), new AbortController().signal)) all.push(event)
  return { fate, last: all.at(-1) }
}

const failed = (why: FailureReason): AgentEvent => ({ type: 'ended', ok: false, why, detail: '' })

test('a host stays up after an answer, and after a failure that is not its own', async () => {
  for (const end of [{ type: 'ended', ok: true, text: 'x' } as const, failed('refused'), failed('rate-limited')])
    expect(await after([end])).toEqual({ fate: 'released', last: end })
})

test('a host that is not logged in is discarded, because it would not notice a login; the failure is reported', async () => {
  for (const serves of ['one-session', 'all-sessions'] as const)
    expect(await after([failed('not-logged-in')], serves)).toEqual({
      fate: 'discarded',
      last: failed('not-logged-in'),
    })
})

test('a host that fails before its first event is discarded, and a cold process answers', async () => {
  expect(await after([failed('crashed')])).toEqual({
    fate: 'discarded',
    last: { type: 'ended', ok: true, text: 'cold' },
  })
})

test('a host that fails after its first event is discarded, and the failure is reported', async () => {
  expect(await after([{ type: 'text', delta: 'half' }, failed('crashed')])).toEqual({
    fate: 'discarded',
    last: failed('crashed'),
  })
})
