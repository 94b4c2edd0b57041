// The crash campaign on Discord, shortened: every message, also while the gateway is down or killed, is answered once or fails visibly.
import { expect, test } from 'vitest'
import { runDiscordCampaign } from './discord.ts'

test('8 kills: every message on Discord has exactly one end', { timeout: 180_000 }, async () => {
  const result = await runDiscordCampaign({ kills: 8, seed: Date.now() % 100_000 })
  expect(result.broken).toEqual([])
  expect(result.said).toBeGreaterThan(30)
  expect(result.answered).toBeGreaterThan(result.said / 2)
})
