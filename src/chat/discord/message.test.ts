// Which messages are meant for the bot, and their prompts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isForUs, type MessageSeen, type Person, promptOf, wordsOf } from './message.ts'

const us = { id: '900', roles: ['901'] }
const bot: Person = { id: us.id, username: 'aetheel', bot: true }
const ada: Person = { id: '1', username: 'ada', global_name: 'Ada' }

const message = (given: Partial<MessageSeen> = {}): MessageSeen => ({
  id: '5',
  channel_id: '7',
  guild_id: '8',
  type: 0,
  content: '',
  author: ada,
  mentions: [],
  mention_roles: [],
  ...given,
})

/** Text without mentions. */
const plain = fc.string({ unit: 'grapheme' }).filter(text => !text.includes('<@') && !/@$/.test(text))
const called = fc.constantFrom('<@900>', '<@!900>', '<@&901>')

// Feature: discord-claude-gateway, Property 3: Mention prompt extraction
test('the prompt is the text without the mention, trimmed', () => {
  fc.assert(
    fc.property(plain, called, plain, (before, mention, after) => {
      expect(promptOf({ content: before + mention + after, mentions: [bot] }, us)).toBe((before + after).trim())
    }),
    { numRuns: 300 },
  )
})

// Feature: discord-claude-gateway, Property 3: Mention prompt extraction
test('every mention of the bot is removed', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(plain, called), { minLength: 1 }), plain, (parts, end) => {
      const content = parts.map(([text, mention]) => text + mention).join('') + end
      const left = parts.map(([text]) => text).join('') + end
      expect(promptOf({ content, mentions: [bot] }, us)).toBe(left.trim())
    }),
    { numRuns: 200 },
  )
})

// Feature: discord-claude-gateway, Property 5: Bot message filtering
test('a message from a bot is never a prompt; one from a person to us always is', () => {
  const author = fc.record({ id: fc.stringMatching(/^[1-8]\d{16,18}$/), username: fc.string(), bot: fc.boolean() })
  const how = fc.constantFrom<Partial<MessageSeen>>(
    { mentions: [bot] },
    { mention_roles: ['901'] },
    { mentions: [ada, bot], type: 19 },
  )
  fc.assert(
    fc.property(author, how, fc.string(), fc.boolean(), fc.boolean(), (one, mention, content, direct, inThread) => {
      const received = message({ author: one, content, ...mention })
      expect(isForUs(received, us, direct, inThread)).toBe(!one.bot)
    }),
    { numRuns: 300 },
  )
})

test('mentions of other people become names; other role mentions stay', () => {
  const received = { content: '<@900> ask <@1> or <@2> or <@&77>', mentions: [bot, ada] }
  expect(promptOf(received, us)).toBe('ask @Ada or <@2> or <@&77>')
})

test('a reply to us, a direct message and a thread we are in need no mention; anything else does', () => {
  expect(isForUs(message(), us, false, false)).toBe(false)
  expect(isForUs(message({ mentions: [ada] }), us, false, false)).toBe(false)
  expect(isForUs(message({ mention_roles: ['902'] }), us, false, false)).toBe(false)
  expect(isForUs(message(), us, true, false)).toBe(true)
  expect(isForUs(message(), us, false, true)).toBe(true)
  expect(isForUs(message({ type: 19, referenced_message: { author: bot, content: '' } }), us, false, false)).toBe(true)
  expect(isForUs(message({ type: 19, referenced_message: { author: ada, content: '' } }), us, false, false)).toBe(false)
})

test('webhooks, our own messages and system messages are ignored', () => {
  for (const given of [
    { webhook_id: '3' },
    { author: { ...bot, bot: false } },
    { type: 7 },
    { author: { ...ada, system: true } },
  ])
    expect(isForUs(message({ mentions: [bot], ...given }), us, true, true)).toBe(false)
})

test('a replied-to or forwarded message is included', () => {
  const reply = message({
    content: '<@900> is that so?',
    mentions: [bot],
    referenced_message: { author: { id: '2', username: 'bob' }, content: 'The sky\nis green.' },
  })
  expect(wordsOf(reply, us)).toBe('[In reply to bob]\n> The sky\n> is green.\n\nis that so?')
  expect(wordsOf({ ...reply, referenced_message: { author: bot, content: 'mine' } }, us)).toBe('is that so?')
  const forwarded = message({ content: '', message_snapshots: [{ message: { content: 'look' } }] })
  expect(wordsOf(forwarded, us)).toBe('[Forwarded message]\n> look')
})
