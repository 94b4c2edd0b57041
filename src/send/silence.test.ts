// The word of silence, however it is dressed, stays out of the chat; what else was said does not.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withoutSilence } from './silence.ts'

test('the word alone is silence, in any markdown, punctuation and case', () => {
  const dressed = [
    'HEARTBEAT_OK',
    ' heartbeat_ok\n',
    '**HEARTBEAT_OK**',
    '`HEARTBEAT_OK`.',
    '```\nHEARTBEAT_OK\n```',
    '> HEARTBEAT_OK!',
    '- HEARTBEAT\\_OK',
    '“HEARTBEAT_OK”',
    '✅ HEARTBEAT_OK 🎉',
    'HEARTBEAT_OK\n\nHEARTBEAT_OK',
    '',
    ' \n',
  ]
  for (const text of dressed) expect(withoutSilence(text), JSON.stringify(text)).toBeNull()
})

test('what else was said is kept, without the word at its ends', () => {
  expect(withoutSilence('Your train is late.\n\nHEARTBEAT_OK')).toBe('Your train is late.')
  expect(withoutSilence('**HEARTBEAT_OK**: two mails, nothing urgent')).toBe('two mails, nothing urgent')
  expect(withoutSilence('I answer HEARTBEAT_OK when nothing is new.')).toBe(
    'I answer HEARTBEAT_OK when nothing is new.',
  )
  expect(withoutSilence('HEARTBEAT_OKAY')).toBe('HEARTBEAT_OKAY')
  expect(withoutSilence('Look: [plan](plan.md)')).toBe('Look: [plan](plan.md)')
})

test('a text without the word is left as it is, but for blanks around it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      fc.pre(/[\p{L}\p{N}]/u.test(text) && !/heartbeat/i.test(text))
      expect(withoutSilence(text)).toBe(text.trim())
    }),
    { numRuns: 200 },
  )
})

test('in linear time', () => {
  const began = performance.now()
  withoutSilence(`${'*'.repeat(200_000)}x${'`_'.repeat(100_000)}`)
  withoutSilence('HEARTBEAT_'.repeat(50_000))
  expect(performance.now() - began).toBeLessThan(5000)
})
