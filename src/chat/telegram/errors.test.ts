// What answers of the Bot API mean.
import { GrammyError } from 'grammy'
import { expect, test } from 'vitest'
import { postedOf } from '../trouble.ts'
import { troubleOf } from './errors.ts'

const answered = (body: object) => troubleOf(new GrammyError('failed', body as never, 'sendMessage', {}))

test('an answer without the fields that Telegram always sends is a refusal, in words', () => {
  expect(answered({ ok: false })).toEqual({
    ...{ type: 'refused', description: '', why: 'Telegram refused it' },
  })
  expect(postedOf(answered({ ok: false, message: 'not supported' }))).toMatchObject({ type: 'refused' })
})

test('too many requests, a moved group, a second program and an outage are told apart', () => {
  expect(answered({ error_code: 429, description: 'x', parameters: { retry_after: 7 } })).toMatchObject({
    ...{ type: 'passing', afterMs: 7000 },
  })
  expect(answered({ error_code: 400, parameters: { migrate_to_chat_id: -100 } })).toMatchObject({
    type: 'moved',
    to: -100,
  })
  expect(answered({ error_code: 409 })).toMatchObject({ type: 'conflict' })
  expect(answered({ error_code: 502 })).toMatchObject({ type: 'passing', afterMs: 0 })
  expect(answered({ error_code: 401 })).toMatchObject({ type: 'token' })
})

test('a request that failed does not show its address, which contains the token', () => {
  const { why } = troubleOf(new Error('request to https://api.telegram.org/bot123:SECRET/getMe failed'))
  expect(why).toMatch(/could not be reached/)
  expect(why).not.toContain('SECRET')
})
