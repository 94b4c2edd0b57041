// The status of the gateway.
import { expect, test } from 'vitest'
import { createStatus } from './status.ts'

test('a chat counts as unreachable until it is connected, and again after it is lost', () => {
  const counts = { received: 0, answered: 0, waiting: 0, running: 0, refused: 0, failed: 0 }
  const report = createStatus({
    ...{ version: '1', backend: 'echo', startedAt: 0, chats: ['discord'], now: () => 5, ready: () => true },
    counts: () => counts,
    delayed: () => 0,
    budget: () => null,
    openRequests: () => 0,
    database: { trouble: () => null },
    notes: [],
    walls: () => [],
    resting: () => [],
  })
  expect(report.status()).toMatchObject({ uptimeMs: 5, unreached: ['discord'] })
  const ready = { type: 'chat-ready', chat: 'discord', bot: 'b', guilds: 1, resumed: false, shard: null } as const
  report.listen(ready)
  expect(report.status().unreached).toEqual([])
  report.listen({ type: 'chat-lost', chat: 'discord', why: 'closed with 1006' })
  expect(report.status().unreached).toEqual(['discord'])
  expect(report.metrics()).toContain('aetheel_chat_connected{chat="discord"} 0')
  report.listen({ ...ready, resumed: true })
  expect(report.status().unreached).toEqual([])
})
