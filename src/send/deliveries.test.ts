// An answer becomes deliveries that its chat can take.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import type { TurnEnd } from '../base/agent.ts'
import type { ChatAdapter, ChatLimits, Delivery, Posted } from '../base/chat.ts'
import type { EventPayload, NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { Signal } from '../base/signal.ts'
import { createDeliver, createDeliveries, withoutSilence, wordingFor } from './deliveries.ts'

const chat = (limits: Partial<ChatLimits>): ChatAdapter => ({
  name: 'chat',
  limits: { length: 20, measure: text => text.length, editEveryMs: 1, ...limits },
  run: async () => undefined,
  post: async () => ({ type: 'absent' }),
  edit: async () => undefined,
  typing: async () => undefined,
})

const event = (kind: 'message' | 'command'): NewEvent => ({
  ...{ key: 'k', lane: 'l', source: 'chat', replyTo: { chat: 'chat', conversation: 'c' } },
  what: { kind, id: '1', text: 'x', author: { id: '2', name: 'Ada', owner: true } },
})

const deliveriesOf = (text: string, limits: Partial<ChatLimits> = {}, kind: 'message' | 'command' = 'message') => {
  const deliveries = createDeliveries(new Map([['chat', chat(limits)]]), {
    find: path => path,
    scopeOf: () => undefined,
  })
  const wording = { kind: 'final', ok: true, text } as const
  return deliveries({ key: 'k', item: event(kind), earlier: [] }, wording).map(({ item }) => item as Delivery)
}

test('a long text is split into pieces, unless it is long enough to be sent as a file', () => {
  expect(deliveriesOf('one two three four five six').length).toBeGreaterThan(1)
  expect(deliveriesOf('one two three four five six', { fileOver: 26 })).toMatchObject([
    { text: expect.stringMatching(/six$/) },
  ])
  expect(deliveriesOf('one two three four five six', { fileOver: 27 }).length).toBeGreaterThan(1)
})

test('a document goes as a file where the chat takes files, and follows the text elsewhere', () => {
  const document = { name: 'work.md', text: 'all of it' }
  const sent = (limits: Partial<ChatLimits>) =>
    createDeliveries(new Map([['chat', chat({ length: 200, ...limits })]]))(
      { key: 'k', item: event('command'), earlier: [] },
      { kind: 'final', ok: true, text: 'Work:', document },
    ).map(({ item }) => item)
  expect(sent({ fileOver: 100 })).toMatchObject([{ text: 'Work:', document }])
  const [inline] = sent({})
  expect(inline).toMatchObject({ text: 'Work:\n\nall of it' })
  expect(inline).not.toHaveProperty('document')
})

test('an agent without an answer still ends visibly', () => {
  for (const nothing of ['', ' \n\t', '\n'.repeat(50)])
    expect(deliveriesOf(nothing)).toMatchObject([{ text: '(The agent finished without an answer.)' }])
})

test('files are sent with the piece that links to them; the answer to a command sends none', () => {
  const pieces = deliveriesOf('it is [a](first.txt) and [b](other.txt)')
  expect(pieces.flatMap(({ files = [] }) => files)).toEqual(['first.txt', 'other.txt'])
  expect(pieces.filter(({ files }) => files !== undefined)).toHaveLength(2)
  expect(deliveriesOf('see [a](a.txt)', {}, 'command')[0]).not.toHaveProperty('files')
})

test('in a batch, each earlier message gets a final, and reports and webhooks do not', () => {
  const deliveries = createDeliveries(new Map([['chat', chat({ length: 200 })]]))
  const others = [
    { kind: 'report', agent: 'a', name: 'scout', text: 'x', ok: true },
    { kind: 'webhook', name: 'git', instruction: 'x', payload: '' },
  ] as const
  const earlier = [event('message').what, ...others].map((what, id) => ({
    ...{ id, key: `e${id}`, item: { ...event('message'), what } },
  }))
  const all = deliveries({ key: 'k', item: event('message'), earlier }, { kind: 'final', ok: true, text: 'Done.' })
  expect(all.map(({ key, item }) => [key, (item as Delivery).text])).toEqual([
    ['e0#final', 'Answered together with your next message.'],
    ['k#final', 'Done.'],
  ])
})

const clock = { now: () => 1000, sleep: async () => undefined }
const never = new AbortController().signal

function setup(posted: Posted) {
  const keys: string[] = []
  const emitted: Signal[] = []
  const chat: ChatAdapter = {
    name: 'chat',
    limits: { length: 10, measure: text => text.length, editEveryMs: 1 },
    run: async () => undefined,
    edit: async () => undefined,
    typing: async () => undefined,
    post: async (_, message) => {
      keys.push(message.key)
      return posted
    },
  }
  return { deliver: createDeliver(new Map([['chat', chat]]), clock, signal => emitted.push(signal)), keys, emitted }
}

const delivery = (retries = 0, chat = 'chat'): Taken<Delivery> => ({
  id: 7,
  lane: 'l',
  key: 'the key',
  item: { place: { chat, conversation: 'room' }, kind: 'final', about: 'm', text: 'four', ok: true },
  at: 0,
  attempt: 1,
  retries,
  interrupted: false,
  putOff: false,
  earlier: [],
})

test('a posted delivery is done, and was posted under its key', async () => {
  const { deliver, keys, emitted } = setup({
    type: 'posted',
    ref: { place: { chat: 'chat', conversation: 'room' }, id: '1' },
  })
  expect(await deliver(delivery(), never)).toEqual({ type: 'done' })
  expect(keys).toEqual(['the key'])
  expect(emitted).toEqual([{ type: 'delivery-sent', id: 7, place: { chat: 'chat', conversation: 'room' }, length: 4 }])
})

test('with nobody connected, it waits until it is woken', async () => {
  expect(await setup({ type: 'absent' }).deliver(delivery(), never)).toEqual({
    type: 'later',
    at: Number.POSITIVE_INFINITY,
  })
})

test('retries back off with growing pauses, never shorter than the platform asked for', async () => {
  const { deliver } = setup({ type: 'try-again', afterMs: 700, why: '429' })
  const pauses: number[] = []
  for (const retries of [0, 1, 2, 5, 50]) {
    const outcome = await deliver(delivery(retries), never)
    if (outcome.type === 'later') pauses.push(outcome.at - 1000)
  }
  expect(pauses).toEqual([700, 1000, 2000, 16_000, 600_000])
})

test('a delivery is given up after many retries over many hours, not after many retries alone', async () => {
  const { deliver, emitted } = setup({ type: 'try-again', afterMs: 0, why: 'Discord answered 503' })
  expect(await deliver(delivery(100), never)).toMatchObject({ type: 'later' })
  const old = { ...delivery(100), at: clock.now() - 12 * 3_600_000 }
  expect(await deliver(old, never)).toMatchObject({ type: 'failed' })
  expect(emitted.at(-1)).toMatchObject({
    type: 'delivery-refused',
    why: 'gave up after 100 tries: Discord answered 503',
  })
})

test('a refusal is final, and its signal has the place and the length but not the text', async () => {
  const { deliver, emitted } = setup({ type: 'refused', why: 'forbidden' })
  expect(await deliver(delivery(), never)).toEqual({ type: 'failed', why: 'forbidden' })
  expect(emitted).toEqual([
    { type: 'delivery-refused', id: 7, place: { chat: 'chat', conversation: 'room' }, length: 4, why: 'forbidden' },
  ])
})

test('a delivery to a chat that is not enabled is reported, not lost silently', async () => {
  const { deliver, emitted } = setup({ type: 'absent' })
  expect(await deliver(delivery(0, 'elsewhere'), never)).toMatchObject({ type: 'failed' })
  expect(emitted[0]?.type).toBe('delivery-refused')
})

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
