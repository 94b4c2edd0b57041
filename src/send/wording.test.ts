// What people are told of a turn: an answer, silence, or what went wrong.
import { expect, test } from 'vitest'
import type { TurnEnd } from '../base/agent.ts'
import type { Happening } from '../base/event.ts'
import { wordingFor } from './wording.ts'

const voice = { scrub: (text: string) => text, formatTime: () => '18:00' }
const background: readonly Happening['kind'][] = ['heartbeat', 'cron', 'hook', 'webhook']

const answered = (text: string): TurnEnd => ({ ...{ type: 'answered', text, backend: 'codex' }, ...troubled })
const troubled = { sessionWasLost: true, instead: [{ backend: 'claude', why: 'rate-limited' }] } as const

test('silence stays silence also when somebody else answered or the session was lost', () => {
  for (const kind of background) {
    expect(wordingFor(kind, answered('HEARTBEAT_OK'), voice), kind).toBeNull()
    expect(wordingFor(kind, answered(' **HEARTBEAT_OK**\n'), voice), kind).toBeNull()
  }
})

test('what a job has to say comes without the word, and with what people should know about it', () => {
  for (const kind of background)
    expect(wordingFor(kind, answered('HEARTBEAT_OK\n\nTwo mails.'), voice)?.text, kind).toMatch(
      /^Two mails\.\n\n\*\(The earlier session was lost[\s\S]*This answer is from codex\.\)\*$/,
    )
})

test('a person who says the word of silence is answered with it', () => {
  expect(wordingFor('message', answered('HEARTBEAT_OK'), voice)?.text).toMatch(/^HEARTBEAT_OK\n/)
})

test('a heartbeat that failed is tried again soon and disturbs nobody; any other job tells it', () => {
  const failed: TurnEnd = { type: 'failed', why: 'crashed', detail: 'x', backend: 'codex' }
  expect(background.map(kind => wordingFor(kind, failed, voice)?.ok)).toEqual([undefined, false, false, false])
})

test('nobody is told that a job is late, and whoever waits is', () => {
  const late: TurnEnd = { type: 'put-off', why: 'rate-limited', backend: 'codex', until: 1 }
  for (const kind of background) expect(wordingFor(kind, late, voice), kind).toBeNull()
  expect(wordingFor('message', late, voice)).toMatchObject({ kind: 'notice' })
})
