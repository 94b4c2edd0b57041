// Nothing is confirmed to Telegram that is not handled.
import { setTimeout as pause } from 'node:timers/promises'
import type { Update } from 'grammy/types'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTelegram } from '../../../test/fakes/telegram/index.ts'
import { ChatUnusable } from '../../base/chat.ts'
import type { Clock } from '../../base/time.ts'
import { createApi } from './api.ts'
import { createPolling } from './polling.ts'

const clock: Clock = {
  now: Date.now,
  sleep: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined),
}
let telegram: Awaited<ReturnType<typeof openTelegram>>
const stop = { now: new AbortController() }
beforeEach(async () => {
  telegram = await openTelegram()
  stop.now = new AbortController()
})
afterEach(async () => {
  stop.now.abort()
  await telegram.close()
})

function listen(handle: (update: Update, missed: boolean) => Promise<boolean>) {
  const api = createApi({ enabled: true, botToken: telegram.token, api: telegram.url, fileOver: 20_000 })
  const polling = createPolling({
    ...{ api, clock, emit: () => undefined, handle },
    identify: async () => undefined,
    connected: () => undefined,
  })
  return polling.run(stop.now.signal)
}
const say = (text: string) => telegram.say(telegram.ada, telegram.alone(telegram.ada), text)
const pending = () => telegram.pending().map(one => (one.message as { text: string }).text)

test('an update stays with Telegram until it is handled, and a slow one does not keep back the others', async () => {
  const handled: string[] = []
  const slow = Promise.withResolvers<boolean>()
  void listen(async ({ message }) => {
    handled.push(message?.text ?? '')
    return message?.text === 'slow' ? slow.promise : true
  })
  say('first')
  await telegram.until(() => pending().length === 0)
  say('slow')
  await telegram.until(() => handled.includes('slow'))
  say('later')
  await telegram.until(() => handled.includes('later'))
  const asked = telegram.requests('getUpdates').length
  await telegram.until(() => telegram.requests('getUpdates').length > asked + 1)
  expect(pending()).toEqual(['slow', 'later'])
  slow.resolve(true)
  await telegram.until(() => pending().length === 0)
  expect(handled).toEqual(['first', 'slow', 'later'])
})

test('one that is given back ends the asking, and comes again for whoever asks next', async () => {
  const life = listen(async ({ message }) => message?.text !== 'not now')
  say('one')
  say('not now')
  say('three')
  await life
  expect(pending()).toEqual(['not now', 'three'])
})

test('updates in the wrong order are handled in theirs, and those from before the start are marked as missed', async () => {
  const seen: string[] = []
  telegram.say(telegram.ada, telegram.alone(telegram.ada), 'old', { date: 1000 })
  say('new')
  const both = [...telegram.pending()]
  const [first, second] = both
  if (first && second) (telegram.pending() as object[]).splice(0, 2, second, first)
  void listen(async ({ message }, missed) => {
    seen.push(`${message?.text} ${missed}`)
    return true
  })
  await telegram.until(() => seen.length === 2)
  expect(seen).toEqual(['old true', 'new false'])
})

test('a token that is refused is said so', async () => {
  telegram.changeToken('1:AAanother-token')
  const api = createApi({ enabled: true, botToken: '1:AAthis-one-is-old', api: telegram.url, fileOver: 20_000 })
  const polling = createPolling({
    ...{ api, clock, emit: () => undefined, handle: async () => true },
    identify: async () => void (await api.getMe()),
    connected: () => undefined,
  })
  await expect(polling.run(stop.now.signal)).rejects.toBeInstanceOf(ChatUnusable)
})
