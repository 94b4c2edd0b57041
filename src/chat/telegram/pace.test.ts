// Never faster than Telegram allows, and never slower than needed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPace } from './pace.ts'

test('whoever waits as told keeps every limit', () => {
  const chats = fc.array(fc.constantFrom(1, 2, -3, -1_000_000_000_004), { minLength: 1, maxLength: 150 })
  fc.assert(
    fc.property(chats, all => {
      let now = 1_000_000
      const pace = createPace({ now: () => now })
      const sent: { chat: number; at: number }[] = []
      for (const chat of all) {
        now += pace.wait(chat)
        expect(pace.wait(chat)).toBe(0)
        pace.sent(chat)
        sent.push({ chat, at: now })
      }
      for (const { chat, at } of sent) {
        const within = (ms: number, same: boolean) =>
          sent.filter(one => (!same || one.chat === chat) && one.at > at - ms && one.at <= at).length
        expect(within(1000, false)).toBeLessThanOrEqual(30)
        expect(within(3000, true)).toBeLessThanOrEqual(3)
        if (chat < 0) expect(within(60_000, true)).toBeLessThanOrEqual(20)
      }
    }),
    { numRuns: 100 },
  )
})

test('the first messages need not wait, and a clock that is set back does not silence anybody', () => {
  let now = 1_000_000
  const pace = createPace({ now: () => now })
  for (let i = 0; i < 3; i++) {
    expect(pace.wait(1)).toBe(0)
    pace.sent(1)
  }
  expect(pace.wait(1)).toBe(3000)
  now -= 500_000
  expect(pace.wait(1)).toBe(0)
})
