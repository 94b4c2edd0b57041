// Which messages are for us, and what people typed.
import { expect, test } from 'vitest'
import {
  conversationOf,
  eventOf,
  isFromPerson,
  isMentioned,
  promptOf,
  senderOf,
  targetOf,
  threadOf,
} from './message.ts'

const self = { id: 'U1', bot: 'B1', name: 'aetheel', team: 'T1', teamName: 'Our Workspace' }
const message = { channel: 'C1', ts: '1700000000.000100', user: 'U2', text: 'hello' }
const names = { user: async (id: string) => `name of ${id}` }

test.each([
  [{}, true],
  [{ subtype: 'file_share' }, true],
  [{ subtype: 'thread_broadcast' }, true],
  [{ subtype: 'channel_join' }, false],
  [{ subtype: 'bot_message' }, false],
  [{ bot_id: 'B2' }, false],
  [{ user: 'U1' }, false],
  [{ user: 'USLACKBOT' }, false],
])('%j is from a person: %s', (more, expected) => {
  expect(isFromPerson({ ...message, ...more }, self)).toBe(expected)
})

test('a mention is the id, with or without a name', () => {
  expect(isMentioned({ ...message, text: 'hi <@U1>' }, self)).toBe(true)
  expect(isMentioned({ ...message, text: 'hi <@U1|aetheel>' }, self)).toBe(true)
  expect(isMentioned({ ...message, text: 'hi <@U12>' }, self)).toBe(false)
})

test.each([
  ['<@U1> hello', 'hello'],
  ['hello <@U1|aetheel>', 'hello'],
  ['ask <@U3>', 'ask @name of U3'],
  ['see <#C9|general> and <#C8>', 'see #general and #C8'],
  ['<!here> <!subteam^S1|@team>', '@here @team'],
  ['<https://a.example/x?y=1&amp;z=2>', 'https://a.example/x?y=1&z=2'],
  ['<https://a.example|there>', 'there (https://a.example)'],
  ['<mailto:a@b.example|a@b.example>', 'a@b.example'],
  ['1 &lt; 2 &amp;&amp; 3 &gt; 2; &amp;lt;', '1 < 2 && 3 > 2; &lt;'],
])('%s is %s', async (text, expected) => {
  expect(await promptOf(text, self, names)).toBe(expected)
})

test('a thread is a conversation of its own, and its root is not in it', () => {
  expect(threadOf({ ts: '1.000001', thread_ts: '1.000001' })).toBeNull()
  expect(threadOf({ ts: '2.000001', thread_ts: '1.000001' })).toBe('1.000001')
  for (const [conversation, target] of [
    ['C1', { channel: 'C1', thread: null }],
    ['C1:1.000001', { channel: 'C1', thread: '1.000001' }],
  ] as const) {
    expect(targetOf(conversation)).toEqual(target)
    expect(conversationOf(target.channel, target.thread)).toBe(conversation)
  }
})

test('an event has a key of its own, the time it was written, and who and where', () => {
  const spot = { channel: 'C1', name: 'general', thread: null }
  const sender = senderOf('U2', 'T1', spot, self)
  expect(sender).toMatchObject({ chat: 'slack', user: 'U2', guild: 'T1', where: '#general of Our Workspace' })
  expect(senderOf('U2', 'T1', { ...spot, name: null }, self)).toMatchObject({ guild: null, where: 'a direct message' })
  const words = { id: 'C1:1700000000.000100', text: 'x', author: { id: 'U2', name: 'ada' }, sender, attachments: [] }
  const event = eventOf({ ...words, conversation: 'C1', ts: message.ts, missed: true })
  expect(event).toMatchObject({ key: 'slack:C1:1700000000.000100', lane: 'slack:C1', missed: true })
  expect(event.sender?.at).toBe(1_700_000_000_000)
})
