// Accepted means on disk: the gateway is killed 12 times while 20 people write, and nothing is lost, doubled or mixed up.
import { expect, test } from 'vitest'
import { runCampaign } from './campaign.ts'

test('12 kills: every accepted message is answered once or visibly failed, in order', {
  timeout: 150_000,
}, async () => {
  const result = await runCampaign({ kills: 12, seed: Date.now() % 100_000 })
  expect(result.broken).toEqual([])
  expect(result.accepted).toBeGreaterThan(30)
  expect(result.answered + result.failed).toBe(result.accepted)
  expect(result.answered).toBeGreaterThan(result.accepted / 2)
})
