// What agents ask, in WebChat: every client of the conversation sees it, and its answer.
import { expect, test } from 'vitest'
import { allowed, someRequest } from '../../test/fakes/requests.ts'
import type { Request } from '../base/requests.ts'
import type { ServerFrame } from './frames.ts'
import { createWebchat } from './webchat.ts'

/** A chat whose clients are joined by their conversation. */
function openChat(requests: readonly Request[] = []) {
  const chat = createWebchat({
    attach: async () => null,
    refuse: async (_, why) => ({ type: 'refused', why, reason: why }),
    change: async () => ({ changed: true }),
    stop: () => false,
    steer: async () => null,
    deliverWaiting: async () => undefined,
    sent: () => undefined,
    broke: error => {
      throw error
    },
    waiting: async () => [],
    positions: () => [],
    history: () => ({ messages: [], older: null, requests }),
    final: () => null,
    onFinal: () => undefined,
    fetched: async () => true,
    wasCancelled: () => false,
  })
  const enter = (conversation: string): ServerFrame[] => {
    const frames: ServerFrame[] = []
    const socket = {
      send: (text: string) => frames.push(JSON.parse(text)) > 0,
      reached: async () => true,
      onText: () => undefined,
      onClose: () => undefined,
      close: () => undefined,
    }
    chat.connect(socket, conversation, { drafts: 'whole' })
    return frames
  }
  return { chat, enter }
}

const requestsIn = (frames: readonly ServerFrame[]) =>
  frames.flatMap(frame => (frame.type === 'request' ? [`${frame.request.id} ${frame.request.state}`] : []))

test('a request and its answer reach every client of the conversation, and nobody else', () => {
  const { chat, enter } = openChat()
  const [one, other, elsewhere] = [enter('home'), enter('home'), enter('work')]
  chat.request(someRequest())
  chat.request(allowed(someRequest()))
  for (const frames of [one, other]) expect(requestsIn(frames)).toEqual(['1 open', '1 allowed'])
  expect(requestsIn(elsewhere)).toEqual([])
})

test('a request of a job is shown in the conversation where the owner is asked, and one of another chat is not shown', () => {
  const { chat, enter } = openChat()
  const frames = enter('home')
  chat.request(someRequest({ id: 2, lane: 'cron:report', key: 'cron:report@5', owner: false }))
  chat.request(someRequest({ id: 3, lane: 'discord:5', place: { chat: 'discord', conversation: '5' } }))
  chat.request(someRequest({ id: 4, lane: 'hook:push', place: null }))
  expect(requestsIn(frames)).toEqual(['2 open'])
})

test('a request that is asked for in another chat is also shown with its own conversation, once', () => {
  const { chat, enter } = openChat()
  const frames = enter('home')
  chat.request(someRequest({ place: { chat: 'discord', conversation: '5' } }))
  expect(requestsIn(frames)).toEqual(['1 open'])
})

test('a client that connects gets the requests with the history', async () => {
  const { enter } = openChat([allowed(someRequest()), someRequest({ id: 2 })])
  const frames = enter('home')
  await expect
    .poll(() => frames.find(({ type }) => type === 'history'))
    .toMatchObject({
      requests: [
        { id: 1, state: 'allowed' },
        { id: 2, state: 'open', rule: 'Bash(npm test:*)' },
      ],
    })
})
