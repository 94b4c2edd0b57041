// Places as people write them.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { placeName, readPlace } from './event.ts'

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
