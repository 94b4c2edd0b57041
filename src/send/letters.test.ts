// An answer becomes letters that its chat can take.
import { expect, test } from 'vitest'
import type { ChatAdapter, ChatLimits, Letter } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import { openLetters } from './letters.ts'

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

const lettersOf = (text: string, limits: Partial<ChatLimits> = {}, kind: 'message' | 'command' = 'message') => {
  const letters = openLetters(new Map([['chat', chat(limits)]]), piece => piece.match(/\b\w+\.txt\b/g) ?? [])
  const wording = { kind: 'final', ok: true, text } as const
  return letters({ key: 'k', item: event(kind), earlier: [] }, wording).map(({ item }) => item as Letter)
}

test('a text that is too long comes in pieces, unless it is so long that its chat takes it as a file', () => {
  expect(lettersOf('one two three four five six').length).toBeGreaterThan(1)
  expect(lettersOf('one two three four five six', { fileOver: 26 })).toMatchObject([
    { text: expect.stringMatching(/six$/) },
  ])
  expect(lettersOf('one two three four five six', { fileOver: 27 }).length).toBeGreaterThan(1)
})

test('files go with the piece that links to them; a command sends none', () => {
  const pieces = lettersOf('here is first.txt and there is other.txt')
  expect(pieces.flatMap(({ files = [] }) => files)).toEqual(['first.txt', 'other.txt'])
  expect(pieces.filter(({ files }) => files !== undefined)).toHaveLength(2)
  expect(lettersOf('see a.txt', {}, 'command')[0]).not.toHaveProperty('files')
})

test('of what was answered together, each message has its end and nothing else is spoken of', () => {
  const letters = openLetters(new Map([['chat', chat({ length: 200 })]]))
  const others = [
    { kind: 'report', agent: 'a', name: 'scout', text: 'x', ok: true },
    { kind: 'webhook', name: 'git', instruction: 'x', payload: '' },
  ] as const
  const earlier = [event('message').what, ...others].map((what, id) => ({
    ...{ id, key: `e${id}`, item: { ...event('message'), what } },
  }))
  const all = letters({ key: 'k', item: event('message'), earlier }, { kind: 'final', ok: true, text: 'Done.' })
  expect(all.map(({ key, item }) => [key, (item as Letter).text])).toEqual([
    ['e0#final', 'Answered together with your next message.'],
    ['k#final', 'Done.'],
  ])
})
