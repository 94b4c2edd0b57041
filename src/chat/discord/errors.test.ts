// Which errors are temporary, which are permanent, and how they are explained.
import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest'
import { expect, test } from 'vitest'
import { postedOf } from '../trouble.ts'
import { closedForGood, troubleOf } from './errors.ts'

const refusal = (status: number, code: number) =>
  new DiscordAPIError({ code, message: 'said' }, code, status, 'POST', '/x', { body: undefined, files: undefined })

test('rate limits and outages are temporary, with the pause that Discord asks for', () => {
  const limited = new RateLimitError({
    ...{ timeToReset: 100, limit: 5, method: 'POST', hash: '', url: '', route: '', majorParameter: '' },
    ...{ global: false, retryAfter: 2500, sublimitTimeout: 0, scope: 'user' },
  })
  expect(postedOf(troubleOf(limited))).toEqual({ type: 'try-again', afterMs: 2500, why: 'too many requests' })
  const down = new HTTPError(502, 'Bad Gateway', 'POST', '/x', { body: undefined, files: undefined })
  expect(postedOf(troubleOf(down))).toMatchObject({ type: 'try-again', afterMs: 0 })
  expect(postedOf(troubleOf(new Error('ECONNRESET')))).toMatchObject({ type: 'try-again', afterMs: 0 })
})

test('forbidden and deleted things are refused with an explanation', () => {
  for (const [status, code, words] of [
    [404, 10_003, /channel was deleted/],
    [413, 0, /larger than Discord allows/],
    [403, 50_001, /View Channel/],
    [403, 50_013, /Send Messages/],
    [403, 50_007, /direct messages/],
    [400, 50_035, /Discord refused it \(50035: said\)/],
  ] as const)
    expect(postedOf(troubleOf(refusal(status, code)))).toEqual({ type: 'refused', why: expect.stringMatching(words) })
})

test('an invalid token keeps the delivery for later, with a long pause', () => {
  const posted = postedOf(troubleOf(refusal(401, 0)))
  expect(posted).toMatchObject({ type: 'try-again' })
  expect(posted.type === 'try-again' && posted.afterMs).toBeGreaterThan(600_000)
  // The expired token of a command is a different case.
  expect(troubleOf(refusal(401, 50_027)).type).toBe('refused')
})

test('every permanent close code has an explanation', () => {
  for (const words of closedForGood.values()) expect(words).toMatch(/\.$/)
  expect(closedForGood.get(4014)).toMatch(/Message Content Intent.*DISCORD_MESSAGE_CONTENT=false/)
})
