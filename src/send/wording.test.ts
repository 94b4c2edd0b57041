// What people are told about a turn: an answer, nothing, or what went wrong.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import type { TurnEnd } from '../base/agent.ts'
import type { EventPayload } from '../base/event.ts'
import { withoutSilence, wordingFor } from './wording.ts'

const voice = { scrub: (text: string) => text, formatTime: () => '18:00', loginWith: () => 'claude' }
const background: readonly EventPayload['kind'][] = ['heartbeat', 'cron', 'hook', 'webhook']

const answered = (text: string): TurnEnd => ({ ...{ type: 'answered', text, backend: 'codex' }, ...troubled })
const troubled = { sessionWasLost: true, instead: [{ backend: 'claude', why: 'rate-limited' }] } as const

test('the silence word stays silent even if a fallback answered or the session was lost', () => {
  for (const kind of background) {
    expect(wordingFor(kind, answered('HEARTBEAT_OK'), voice), kind).toBeNull()
    expect(wordingFor(kind, answered(' **HEARTBEAT_OK**\n'), voice), kind).toBeNull()
  }
})

test('a job that talks while it works but ends with the silence word sends nothing', () => {
  for (const kind of background) {
    const looked = { ...answered('Let me look at the mail.\n\nHEARTBEAT_OK'), last: 'HEARTBEAT_OK' }
    expect(wordingFor(kind, looked, voice), kind).toBeNull()
    const found = { ...answered('Let me look.\n\nTwo mails.'), last: 'Two mails.' }
    expect(wordingFor(kind, found, voice)?.text, kind).toMatch(/^Let me look\.\n\nTwo mails\./)
  }
})

test('the answer of a job comes without the silence word and with the notes', () => {
  for (const kind of background)
    expect(wordingFor(kind, answered('HEARTBEAT_OK\n\nTwo mails.'), voice)?.text, kind).toMatch(
      /^Two mails\.\n\n\*\(The earlier session was lost[\s\S]*This answer is from codex\.\)\*$/,
    )
})

test('the answer to a person may contain the silence word', () => {
  expect(wordingFor('message', answered('HEARTBEAT_OK'), voice)?.text).toMatch(/^HEARTBEAT_OK\n/)
})

test('a failed heartbeat sends nothing; any other failed job does', () => {
  const failed: TurnEnd = { type: 'failed', why: 'crashed', detail: 'x', backend: 'codex' }
  expect(background.map(kind => wordingFor(kind, failed, voice)?.ok)).toEqual([undefined, false, false, false])
})

test('a missing login names the program to run', () => {
  const failed: TurnEnd = { type: 'failed', why: 'not-logged-in', detail: 'x', backend: 'claude-sdk' }
  expect(wordingFor('message', failed, voice)?.text).toContain('Run `claude` once in a terminal')
})

test('a delayed job sends nothing; a delayed message sends a notice', () => {
  const late: TurnEnd = { type: 'put-off', why: 'rate-limited', backend: 'codex', until: 1 }
  for (const kind of background) expect(wordingFor(kind, late, voice), kind).toBeNull()
  expect(wordingFor('message', late, voice)).toMatchObject({ kind: 'notice' })
})

test('a lack of room is reported once, however many retries follow', () => {
  const late = (until: number) => wordingFor('message', { type: 'put-off', why: 'no-room', backend: '', until }, voice)
  expect(late(1)).toMatchObject({
    kind: 'notice',
    text: expect.stringMatching(/too many files and processes open.*as soon as there is room/),
  })
  expect(late(2)).toEqual(late(1))
})

test('the silence word alone is silent, in any markdown, punctuation and case', () => {
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

test('other text is kept, without the silence word at its ends', () => {
  expect(withoutSilence('Your train is late.\n\nHEARTBEAT_OK')).toBe('Your train is late.')
  expect(withoutSilence('**HEARTBEAT_OK**: two mails, nothing urgent')).toBe('two mails, nothing urgent')
  expect(withoutSilence('I answer HEARTBEAT_OK when nothing is new.')).toBe(
    'I answer HEARTBEAT_OK when nothing is new.',
  )
  expect(withoutSilence('HEARTBEAT_OKAY')).toBe('HEARTBEAT_OKAY')
  expect(withoutSilence('Look: [plan](plan.md)')).toBe('Look: [plan](plan.md)')
})

test('a text without the silence word is only trimmed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      fc.pre(/[\p{L}\p{N}]/u.test(text) && !/heartbeat/i.test(text))
      expect(withoutSilence(text)).toBe(text.trim())
    }),
    { numRuns: 200 },
  )
})

test('in linear time', async () => {
  const look = (size: number) => {
    withoutSilence(`${'*'.repeat(size / 2)}x${'`_'.repeat(size / 4)}`)
    withoutSilence('HEARTBEAT_'.repeat(size / 10))
  }
  expect(await worseThanLinear(look, 400_000)).toBeNull()
})
