// What a platform says to a letter decides what becomes of it.
import { expect, test } from 'vitest'
import type { ChatAdapter, Letter, Posted } from '../base/chat.ts'
import type { Taken } from '../base/lanes.ts'
import type { Signal } from '../base/signal.ts'
import { openDelivery } from './deliver.ts'

const clock = { now: () => 1000, sleep: async () => undefined }
const never = new AbortController().signal

function setup(posted: Posted) {
  const keys: string[] = []
  const again: unknown[] = []
  const told: Signal[] = []
  const chat: ChatAdapter = {
    name: 'chat',
    limits: { length: 10, measure: text => text.length, editEveryMs: 1 },
    run: async () => undefined,
    edit: async () => undefined,
    typing: async () => undefined,
    post: async (_, message) => {
      keys.push(message.key)
      again.push(message.again)
      return posted
    },
  }
  return { deliver: openDelivery(new Map([['chat', chat]]), clock, signal => told.push(signal)), keys, again, told }
}

const letter = (retries = 0, chat = 'chat'): Taken<Letter> => ({
  id: 7,
  lane: 'l',
  key: 'the key',
  item: { place: { chat, conversation: 'room' }, kind: 'final', about: 'm', text: 'four', ok: true },
  at: 0,
  attempt: 1,
  retries,
  interrupted: false,
  earlier: [],
})

test('what was posted is done, under the key of the letter', async () => {
  const { deliver, keys, told } = setup({
    type: 'posted',
    ref: { place: { chat: 'chat', conversation: 'room' }, id: '1' },
  })
  expect(await deliver(letter(), never)).toEqual({ type: 'done' })
  expect(keys).toEqual(['the key'])
  expect(told).toEqual([{ type: 'letter-sent', id: 7, place: { chat: 'chat', conversation: 'room' }, length: 4 }])
})

test('nobody there: it sleeps until it is woken', async () => {
  expect(await setup({ type: 'absent' }).deliver(letter(), never)).toEqual({
    type: 'later',
    at: Number.POSITIVE_INFINITY,
  })
})

test('a platform that asks for patience gets it, with pauses that grow and never undercut what it asked for', async () => {
  const { deliver } = setup({ type: 'try-again', afterMs: 700, why: '429' })
  const pauses: number[] = []
  for (const retries of [0, 1, 2, 5, 50]) {
    const outcome = await deliver(letter(retries), never)
    if (outcome.type === 'later') pauses.push(outcome.at - 1000)
  }
  expect(pauses).toEqual([700, 1000, 2000, 16_000, 600_000])
  expect(await deliver(letter(100), never)).toMatchObject({ type: 'failed' })
})

test('a refusal is final and told with the place and the length, not with the text', async () => {
  const { deliver, told } = setup({ type: 'refused', why: 'forbidden' })
  expect(await deliver(letter(), never)).toEqual({ type: 'failed', why: 'forbidden' })
  expect(told).toEqual([
    { type: 'letter-refused', id: 7, place: { chat: 'chat', conversation: 'room' }, length: 4, why: 'forbidden' },
  ])
})

test('a letter to a chat that is not on is told, not lost in silence', async () => {
  const { deliver, told } = setup({ type: 'absent' })
  expect(await deliver(letter(0, 'elsewhere'), never)).toMatchObject({ type: 'failed' })
  expect(told[0]?.type).toBe('letter-refused')
})

test('a letter whose first try was cut off or failed is sent as one that may have arrived', async () => {
  const { deliver, again } = setup({ type: 'absent' })
  for (const one of [letter(), letter(1), { ...letter(), interrupted: true }]) await deliver(one, never)
  expect(again).toEqual([false, true, true])
})
