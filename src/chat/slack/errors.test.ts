// Slack's errors: what passes, what does not, and what people are told.
import { expect, test } from 'vitest'
import { postedOf } from '../trouble.ts'
import { isAboutFormat, SlackError, troubleOf } from './errors.ts'
import { isSlacks } from './hosts.ts'

test.each([
  [new SlackError('ratelimited', 429, { retryAfterMs: 3000 }), { type: 'passing', afterMs: 3000, certain: true }],
  [new SlackError('unavailable', 503), { type: 'passing', certain: false }],
  [new SlackError('internal_error', 200), { type: 'passing', certain: false }],
  [new Error('socket hang up'), { type: 'passing', certain: false }],
  [new SlackError('token_revoked', 200), { type: 'token' }],
  [new SlackError('not_in_channel', 200), { type: 'refused', why: expect.stringContaining('/invite') }],
  [new SlackError('is_archived', 200), { type: 'refused', why: 'the channel is archived' }],
  [new SlackError('missing_scope', 200, { needed: 'files:write' }), { why: expect.stringContaining('files:write') }],
])('%s', (error, expected) => {
  expect(troubleOf(error)).toMatchObject(expected)
})

test('a wrong token is tried again after an hour, a refusal never', () => {
  expect(postedOf(troubleOf(new SlackError('invalid_auth', 200)))).toMatchObject({
    type: 'try-again',
    afterMs: 3_600_000,
  })
  expect(postedOf(troubleOf(new SlackError('is_archived', 200)))).toMatchObject({ type: 'refused' })
})

test('plain text is tried for bad blocks only', () => {
  expect(isAboutFormat(new SlackError('invalid_blocks', 200))).toBe(true)
  expect(isAboutFormat(new SlackError('is_archived', 200))).toBe(false)
  expect(isAboutFormat(new Error('invalid_blocks'))).toBe(false)
})

test.each([
  ['https://files.slack.com/x', 'https://slack.com/api', true],
  ['https://hooks.slack.com/commands/1', 'https://slack.com/api', true],
  ['http://files.slack.com/x', 'https://slack.com/api', false],
  ['https://files.slack.com:8443/x', 'https://slack.com/api', false],
  ['https://slack.com.evil.example/x', 'https://slack.com/api', false],
  ['https://evilslack.com/x', 'https://slack.com/api', false],
  ['http://169.254.169.254/latest', 'https://slack.com/api', false],
  ['http://127.0.0.1:9/x', 'http://127.0.0.1:8/api', true],
  ['https://files.slack.com/x', 'http://127.0.0.1:8/api', false],
  ['nonsense', 'https://slack.com/api', false],
])('%s is reached with our token from %s: %s', (url, api, expected) => {
  expect(isSlacks(url, api)).toBe(expected)
})
