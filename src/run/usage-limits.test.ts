// The messages in which the CLIs say when a limit ends.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limitEnd } from './usage-limits.ts'

// A Sunday, 21:00 in Berlin.
const now = Date.UTC(2026, 10, 15, 20, 0)
const minute = 60_000
const hour = 60 * minute

test.each([
  ['Claude AI usage limit reached|1794790800', 1_794_790_800_000],
  ["You've hit your limit · resets 11pm", Date.UTC(2026, 10, 15, 22, 0)],
  ["You've hit your session limit · resets 3am (Europe/Berlin)", Date.UTC(2026, 10, 16, 2, 0)],
  ['5-hour limit reached ∙ resets 3:30pm (UTC)', Date.UTC(2026, 10, 16, 15, 30)],
  ["You've hit your weekly limit · resets Nov 20, 3pm (UTC)", Date.UTC(2026, 10, 20, 15, 0)],
  ['weekly limit, resets Nov 20 at 5am', Date.UTC(2026, 10, 20, 4, 0)],
  ['Usage limit: try again at 22:15.', Date.UTC(2026, 10, 15, 21, 15)],
  [
    "You've hit your usage limit. Upgrade to Pro or try again at Nov 18th, 2026 3:04 PM.",
    Date.UTC(2026, 10, 18, 14, 4),
  ],
  ["You've hit your usage limit. Try again in 3 days 2 hours 5 minutes.", now + 74 * hour + 5 * minute],
  ["You've hit your usage limit. Try again in 12 minutes.", now + 12 * minute],
  [
    'You have exhausted your capacity on this model. Your quota will reset after 18h31m10s.',
    now + 18 * hour + 31 * minute + 10_000,
  ],
  ['Quota exceeded. Please retry in 35.5s.', now + 35_500],
  ['{"error":{"code":429,"details":[{"retryDelay":"40s"}]}}', now + 40_000],
  ['429 Too Many Requests, retry-after: 30', now + 30_000],
  ['Rate limit reached. Please try again in 850ms.', now + 850],
  ['limited; resets at 2026-11-15T22:30:00Z', Date.UTC(2026, 10, 15, 22, 30)],
])('%s', (said, end) => {
  expect(limitEnd(said, now, 'Europe/Berlin')).toBe(end)
})

test.each([
  'Rate limit reached.',
  'API Error: 429 rate limited',
  'Try again later.',
  'resets 25:99',
  'limit reached|1000000000',
  'try again in 4000 days',
  'You may try again at any time, 3 people said so',
])('%s contains no time', said => {
  expect(limitEnd(said, now, 'Europe/Berlin')).toBeNull()
})

test('for any text, the result is a time in the future or none', () => {
  const words = fc.constantFrom(
    'try again',
    'in',
    'at',
    'resets',
    '3pm',
    '12:30',
    'Nov 30',
    '5 hours',
    '35s',
    '|1794790800',
    '(UTC)',
    '(x)',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(fc.oneof(words, fc.string())).map(list => list.join(' ')),
      ),
      said => {
        const end = limitEnd(said, now, 'Europe/Berlin')
        if (end !== null) expect(end).toBeGreaterThan(now)
      },
    ),
    { numRuns: 500 },
  )
})
