// Whose words a turn runs on.
import { expect, test } from 'vitest'
import { type NewEvent, principalOf } from './event.ts'

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
