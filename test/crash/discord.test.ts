// On Discord, too: whatever was said while the gateway was down, or died, is answered once or visibly failed.
import { expect, test } from 'vitest'
import { runDiscordCampaign } from './discord.ts'

test('8 kills: every message on Discord has exactly one end', { timeout: 180_000 }, async () => {
  const result = await runDiscordCampaign({ kills: 8, seed: Date.now() % 100_000 })
  expect(result.broken).toEqual([])
  expect(result.said).toBeGreaterThan(30)
  expect(result.answered).toBeGreaterThan(result.said / 2)
})
