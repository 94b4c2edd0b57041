// The history of a conversation for an agent, read back from the queues.
import { expect, test } from 'vitest'
import type { Delivery } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import { openDatabase } from './database.ts'
import { createHistory } from './history.ts'
import { createQueueStore } from './queue-store.ts'

const place = { chat: 'webchat', conversation: 'a' }
const author = { id: 'owner', name: 'owner', owner: true }
const asks = (id: string, text: string): NewEvent => ({
  ...{ key: `webchat:a:${id}`, lane: 'webchat:a', replyTo: place, source: 'webchat' },
  what: { kind: 'message', id, text, author },
})
const says = (about: string | null, text: string): Delivery => ({ place, kind: 'final', about, text, ok: true })

function open() {
  const db = openDatabase(':memory:')
  const queueStore = createQueueStore(db, { now: () => 1, sleep: async () => undefined })
  const file = (queue: 'in' | 'out', lane: string, key: string, item: unknown) =>
    queueStore.file(queue, lane, key, JSON.stringify(item), [])
  return { history: createHistory(db), queueStore, file, close: db.close }
}

test('unasked messages are given to a session that does not know them, and not to the one that sent them', async () => {
  const { history, file, close } = open()
  await file('in', 'webchat:a', 'webchat:a:1', asks('1', 'hello')) // item 1
  await file('out', 'webchat:a', 'webchat:a:1#final', says('1', 'hi')) // 2
  await file('in', 'cron:brief', 'cron:brief@1', {
    ...asks('', ''),
    what: { kind: 'cron', name: 'b', instruction: 'i' },
  })
  await file('out', 'webchat:a', 'cron:brief@1#final', says(null, 'your briefing'))
  await file('in', 'webchat:a', 'agent:1#report', { ...asks('', ''), what: { kind: 'report', text: 'r' } }) // 5
  await file('out', 'webchat:a', 'agent:1#report#final', says(null, 'the helper is done'))
  const told = (after: number) => history.answered('webchat:a', after, 20).map(one => one.text)

  expect(told(0)).toEqual(['hello', 'hi', 'your briefing', 'the helper is done'])
  // An interim message of a turn is new only to other sessions.
  await file('out', 'webchat:a', 'webchat:a:1#said-ab#final', says(null, 'on it')) // 7
  expect(told(0)).toContain('on it')
  expect(told(1)).not.toContain('on it')
  // The session has answered the first message, and then the report.
  expect(told(1)).toEqual(['your briefing', 'the helper is done'])
  expect(told(5)).toEqual([])
  // The page identifies it by its event, both draft and final.
  expect(history.before('webchat:a', null, 20).messages.map(one => one.id)).toEqual([
    ...['1', '1', 'cron:brief@1', 'agent:1#report', 'webchat:a:1#said-ab'],
  ])
  await close()
})

test('a command and its answer are not passed to the agent, but the page shows them', async () => {
  const { history, file, close } = open()
  const { what, ...rest } = asks('1', '/status')
  await file('in', 'webchat:a', 'webchat:a:1', { ...rest, what: { ...what, kind: 'command' } })
  await file('out', 'webchat:a', 'webchat:a:1#final', says('1', 'Up for 2 h.'))
  expect(history.answered('webchat:a', 0, 20)).toEqual([])
  expect(history.before('webchat:a', null, 20).messages.map(({ text }) => text)).toEqual(['/status', 'Up for 2 h.'])
  await close()
})

test('an answer that the platform refused counts as not sent, for the page and for other agents', async () => {
  const { history, queueStore, file, close } = open()
  await file('in', 'webchat:a', 'webchat:a:1', asks('1', 'hello'))
  const put = await queueStore.put('out', 'webchat:a', 'webchat:a:1#final', JSON.stringify(says('1', 'hi')), 'start')
  const states = () => history.answered('webchat:a', 0, 20).map(({ text, state }) => [text, state])
  expect(states().at(-1)).toEqual(['hi', 'answered'])
  if (put.type === 'stored') await queueStore.settle([put.row.id], { type: 'failed', why: 'forbidden' })
  expect(states()).toEqual([
    ['hello', 'answered'],
    ['hi', 'failed'],
  ])
  await close()
})
