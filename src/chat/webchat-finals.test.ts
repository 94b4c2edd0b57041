// What WebChat reports to the outbox about a final it is sending.
import { expect, test } from 'vitest'
import type { Socket } from '../base/socket.ts'
import { createWebchat } from './webchat.ts'

function open() {
  const sent: string[] = []
  const chat = createWebchat({
    attach: async () => null,
    refuse: async (_, why) => ({ type: 'refused', why, reason: why }),
    change: async () => ({ changed: false, reason: 'too late' }),
    stop: () => false,
    steer: async () => null,
    deliverWaiting: async () => undefined,
    sent: key => sent.push(key),
    broke: error => {
      throw error
    },
    waiting: async () => [],
    positions: () => [],
    history: () => ({ messages: [], older: null }),
    final: () => null,
    onFinal: () => undefined,
    fetched: async () => true,
    wasCancelled: () => false,
  })
  const arrive = (leaves: boolean, reached: () => Promise<boolean>) =>
    chat.connect(
      {
        send: () => leaves,
        reached,
        onText: () => undefined,
        onClose: () => undefined,
        close: () => undefined,
      } as Socket,
      'home',
      { drafts: 'whole' },
    )
  const post = () =>
    chat.post(
      { chat: 'webchat', conversation: 'home' },
      { kind: 'final', key: 'webchat:home:1#0', text: 'done', ok: true, about: '1', action: null },
      new AbortController().signal,
    )
  return { arrive, post, sent }
}

test('a final is marked as sent once it has left, before the client confirms it, so that a kill does not repeat it', async () => {
  const { arrive, post, sent } = open()
  const { promise: reached, resolve } = Promise.withResolvers<boolean>()
  arrive(true, () => reached)
  const posted = post()
  await new Promise(done => setImmediate(done))
  expect(sent).toEqual(['webchat:home:1#0'])
  resolve(true)
  expect(await posted).toMatchObject({ type: 'posted' })
})

test('a final that has not left is not marked as sent and stays in the outbox', async () => {
  const { arrive, post, sent } = open()
  arrive(false, async () => false)
  expect(await post()).toEqual({ type: 'absent' })
  expect(sent).toEqual([])
})
