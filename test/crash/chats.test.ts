// On every chat: whatever was said while the gateway was down, or died, is answered once or visibly failed.
import { expect, test } from 'vitest'
import { chatCampaigns } from './chats.ts'

test.each(Object.entries(chatCampaigns))(
  '8 kills: every message on %s has exactly one end',
  {
    timeout: 180_000,
  },
  async (_, run) => {
    const result = await run({ kills: 8, seed: Date.now() % 100_000 })
    expect(result.broken).toEqual([])
    expect(result.said).toBeGreaterThan(30)
    expect(result.answered).toBeGreaterThan(result.said / 2)
  },
)
