// Which trouble passes, which does not, and in what words.
import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest'
import { expect, test } from 'vitest'
import { closedForGood, postedOf, troubleOf } from './trouble.ts'

const refusal = (status: number, code: number) =>
  new DiscordAPIError({ code, message: 'said' }, code, status, 'POST', '/x', { body: undefined, files: undefined })

test('too many requests and outages pass; their pauses are those that Discord asks for', () => {
  const limited = new RateLimitError({
    ...{ timeToReset: 100, limit: 5, method: 'POST', hash: '', url: '', route: '', majorParameter: '' },
    ...{ global: false, retryAfter: 2500, sublimitTimeout: 0, scope: 'user' },
  })
  expect(postedOf(troubleOf(limited))).toEqual({ type: 'try-again', afterMs: 2500, why: 'too many requests' })
  const down = new HTTPError(502, 'Bad Gateway', 'POST', '/x', { body: undefined, files: undefined })
  expect(postedOf(troubleOf(down))).toMatchObject({ type: 'try-again', afterMs: 0 })
  expect(postedOf(troubleOf(new Error('ECONNRESET')))).toMatchObject({ type: 'try-again', afterMs: 0 })
})

test('what is forbidden or gone is refused in plain words', () => {
  for (const [status, code, words] of [
    [404, 10_003, /channel is gone/],
    [413, 0, /larger than Discord takes/],
    [403, 50_001, /View Channel/],
    [403, 50_013, /Send Messages/],
    [403, 50_007, /direct messages/],
    [400, 50_035, /Discord refused it \(50035: said\)/],
  ] as const)
    expect(postedOf(troubleOf(refusal(status, code)))).toEqual({ type: 'refused', why: expect.stringMatching(words) })
})

test('a token that is refused keeps the letter for later, and nobody asks again soon', () => {
  const posted = postedOf(troubleOf(refusal(401, 0)))
  expect(posted).toMatchObject({ type: 'try-again' })
  expect(posted.type === 'try-again' && posted.afterMs).toBeGreaterThan(600_000)
  // The token of a command that has expired is another matter.
  expect(troubleOf(refusal(401, 50_027)).type).toBe('refused')
})

test('every close for good says what to do', () => {
  for (const words of closedForGood.values()) expect(words).toMatch(/\.$/)
  expect(closedForGood.get(4014)).toMatch(/Message Content Intent.*DISCORD_MESSAGE_CONTENT=false/)
})
