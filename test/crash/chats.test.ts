// The crash campaigns on the remote chats, shortened: every message, also while the gateway is down or killed, is answered once or fails visibly.
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
