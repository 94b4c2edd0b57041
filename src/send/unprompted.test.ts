// Messages in the middle of a turn: where they go, in which pieces, with which files, and only once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ChatAdapter, ChatLimits, Delivery } from '../base/chat.ts'
import { eventOfDelivery, eventOfInterim, interimKey } from '../base/event.ts'
import { createAttached } from './attached.ts'
import { createUnprompted } from './unprompted.ts'

const workspace = mkdtempSync(join(tmpdir(), 'aetheel-saying-'))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))
writeFileSync(join(workspace, 'plan.pdf'), 'x')
writeFileSync(join(workspace, 'config.json'), '{}')

function rig(more: Partial<ChatLimits> = {}) {
  const deliveries = new Map<string, Delivery & { lane: string }>()
  const limits = { length: 50, measure: (text: string) => text.length, editEveryMs: null, ...more }
  const saying = createUnprompted({
    chats: new Map([['discord', { limits } as ChatAdapter]]),
    attached: createAttached(workspace),
    outbox: {
      async put(lane, key, delivery) {
        if (deliveries.has(key)) return { type: 'duplicate', id: 1 }
        deliveries.set(key, { ...delivery, lane })
        return { type: 'accepted', id: 1, position: 0 }
      },
    },
  })
  return { ...saying, deliveries }
}

test('a place is an enabled chat and one of its conversations', () => {
  const { placeNamed } = rig()
  expect(placeNamed(' discord:123 ')).toEqual({ chat: 'discord', conversation: '123' })
  for (const bad of ['slack:1', 'discord:', 'discord', '123', 'discord:a b', '']) expect(placeNamed(bad)).toBe(null)
})

test('long texts are split, files go with the last piece, forbidden files are returned, and a repeat sends nothing', async () => {
  const { say, deliveries } = rig()
  const place = { chat: 'discord', conversation: '1' }
  const text = `${'one two three four five six seven '.repeat(3)}end`
  const files = ['plan.pdf', 'config.json', '../x', 'missing']
  for (let i = 0; i < 2; i++) expect(await say('e#said-1', place, text, files)).toEqual({ left: files.slice(1) })
  const all = [...deliveries.values()]
  expect(all.length).toBeGreaterThan(1)
  expect([...deliveries.keys()].slice(0, 2)).toEqual(['e#said-1#final', 'e#said-1#final-1'])
  expect(all.every(one => one.lane === 'discord:1' && one.kind === 'final' && one.about === null)).toBe(true)
  expect(all.map(one => one.files)).toEqual([...all.slice(1).map(() => undefined), ['plan.pdf']])
})

test('in a chat without files the text names them, unless it already does', async () => {
  const { say, deliveries } = rig({ namesFiles: true })
  const place = { chat: 'discord', conversation: '1' }
  await say('a', place, 'Here it is.', ['plan.pdf', 'missing'])
  await say('b', place, '', ['plan.pdf'])
  await say('c', place, 'See plan.pdf', ['plan.pdf'])
  expect([...deliveries.values()].map(one => one.text)).toEqual([
    'Here it is.\n\nIn the workspace: `plan.pdf`',
    'In the workspace: `plan.pdf`',
    'See plan.pdf',
  ])
})

test('the key of an interim message contains its event and is unique', () => {
  const key = `${interimKey('discord:1:m', 'ab-1')}#final`
  expect(eventOfDelivery(key)).toBe('discord:1:m#said-ab-1')
  expect(eventOfInterim(eventOfDelivery(key))).toBe('discord:1:m')
})
