// When all chats are connected.
import { expect, test } from 'vitest'
import { whenReady } from './chats.ts'

const ready = (chat: string) =>
  ({ type: 'chat-ready', chat, bot: 'aetheel', guilds: 1, shard: null, resumed: false }) as const

const isSettled = (promise: Promise<void>) =>
  Promise.race([promise.then(() => true), new Promise<boolean>(resolve => setImmediate(resolve, false))])

test('the chats are connected when the last one is, however often one of them reports it', async () => {
  const { connected, listen } = whenReady(['discord', 'tavern'])
  listen(ready('discord'))
  listen({ type: 'chat-lost', chat: 'discord', why: 'closed' })
  listen(ready('discord'))
  expect(await isSettled(connected)).toBe(false)
  listen(ready('tavern'))
  expect(await isSettled(connected)).toBe(true)
})

test('without remote chats there is nothing to wait for', async () => {
  expect(await isSettled(whenReady([]).connected)).toBe(true)
})
