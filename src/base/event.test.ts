// Places as people write them, and whose words a turn runs on.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type NewEvent, placeName, principalOf, principalOfAll, readPlace } from './event.ts'

test('a place names its chat, or belongs to the first that is on', () => {
  const chats = ['discord', 'webchat'] as const
  expect(readPlace('discord:1234', chats)).toEqual({ chat: 'discord', conversation: '1234' })
  expect(readPlace(' webchat:kitchen ', chats)).toEqual({ chat: 'webchat', conversation: 'kitchen' })
  expect(readPlace('1234', chats)).toEqual({ chat: 'discord', conversation: '1234' })
  expect(readPlace('#1234', chats)).toEqual({ chat: 'discord', conversation: '1234' })
  expect(readPlace('', chats)).toBeNull()
  expect(readPlace(null, chats)).toBeNull()
})

test('a place written in full is read back unchanged', () => {
  const text = fc.stringMatching(/^[\w#][\w:. -]{0,20}[\w]$/)
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]+$/), text, (chat, conversation) => {
      expect(readPlace(placeName({ chat, conversation }), ['webchat'])).toEqual({ chat, conversation })
    }),
  )
})

const from = (chat: string): NewEvent => ({
  ...{ key: 'k', lane: `${chat}:7`, source: chat, replyTo: null },
  what: { kind: 'message', id: '1', text: 'hi', author: { id: '1234', name: 'Ada', owner: false } },
  sender: { chat, user: '1234', roles: [], channel: '7', guild: null, where: 'a direct message' },
})

test('people with the same id in two chats are two people', () => {
  expect(['discord', 'telegram'].map(chat => principalOf(from(chat)).person)).toEqual(['discord:1234', 'telegram:1234'])
})

test('the owner at the gateway itself needs no chat', () => {
  const { sender: _, ...event } = from('webchat')
  expect(principalOf(event).person).toBe('1234')
})

test('what several guests say together is said by none of them alone', () => {
  const by = (user: string): NewEvent => ({
    ...from('discord'),
    key: user,
    sender: { ...from('discord').sender!, user },
  })
  const [ada, bob] = [by('1'), by('2')]
  expect(principalOfAll([ada, bob])).toEqual({ owner: false, person: 'discord:1 and discord:2', origin: '2' })
  expect(principalOfAll([bob, ada]).person).toBe('discord:1 and discord:2')
  expect(principalOfAll([ada, ada]).person).toBe('discord:1')
  const { what } = ada
  const owner: NewEvent = { ...ada, what: { ...what, author: { id: '1', name: 'x', owner: true } } as NewEvent['what'] }
  expect(principalOfAll([bob, owner])).toMatchObject({ owner: false, person: 'discord:2' })
})
