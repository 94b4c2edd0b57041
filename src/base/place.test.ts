// Places as people write them.
import { expect, test } from 'vitest'
import { readPlace } from './place.ts'

test('a place names its chat, or belongs to the first that is on', () => {
  const chats = ['discord', 'webchat'] as const
  expect(readPlace('discord:1234', chats)).toEqual({ chat: 'discord', conversation: '1234' })
  expect(readPlace(' webchat:kitchen ', chats)).toEqual({ chat: 'webchat', conversation: 'kitchen' })
  expect(readPlace('1234', chats)).toEqual({ chat: 'discord', conversation: '1234' })
  expect(readPlace('#1234', chats)).toEqual({ chat: 'discord', conversation: '1234' })
  expect(readPlace('', chats)).toBeNull()
  expect(readPlace(null, chats)).toBeNull()
})
