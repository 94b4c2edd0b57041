// What is said in the middle of a turn: where it goes, in which pieces, with which files, and once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  type ChatAdapter,
  type ChatLimits,
  eventOfLetter,
  eventOfSaying,
  type Letter,
  sayingKey,
} from '../base/chat.ts'
import { openAttached } from './attached.ts'
import { openSaying } from './saying.ts'

const workspace = mkdtempSync(join(tmpdir(), 'aetheel-saying-'))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))
writeFileSync(join(workspace, 'plan.pdf'), 'x')
writeFileSync(join(workspace, 'config.json'), '{}')

function rig(more: Partial<ChatLimits> = {}) {
  const letters = new Map<string, Letter & { lane: string }>()
  const limits = { length: 50, measure: (text: string) => text.length, editEveryMs: null, ...more }
  const saying = openSaying({
    chats: new Map([['discord', { limits } as ChatAdapter]]),
    attached: openAttached(workspace),
    outbox: {
      async put(lane, key, letter) {
        if (letters.has(key)) return { type: 'duplicate', id: 1 }
        letters.set(key, { ...letter, lane })
        return { type: 'accepted', id: 1, position: 0 }
      },
    },
  })
  return { ...saying, letters }
}

test('a place is a chat that is on and a conversation of it', () => {
  const { placeNamed } = rig()
  expect(placeNamed(' discord:123 ')).toEqual({ chat: 'discord', conversation: '123' })
  for (const bad of ['slack:1', 'discord:', 'discord', '123', 'discord:a b', '']) expect(placeNamed(bad)).toBe(null)
})

test('long texts go in pieces, files with the last; what may not leave is told; a repeat says nothing again', async () => {
  const { say, letters } = rig()
  const place = { chat: 'discord', conversation: '1' }
  const text = `${'one two three four five six seven '.repeat(3)}end`
  const files = ['plan.pdf', 'config.json', '../x', 'missing']
  for (let i = 0; i < 2; i++) expect(await say('e#said-1', place, text, files)).toEqual({ left: files.slice(1) })
  const all = [...letters.values()]
  expect(all.length).toBeGreaterThan(1)
  expect([...letters.keys()].slice(0, 2)).toEqual(['e#said-1#final', 'e#said-1#final-1'])
  expect(all.every(one => one.lane === 'discord:1' && one.kind === 'final' && one.about === null)).toBe(true)
  expect(all.map(one => one.files)).toEqual([...all.slice(1).map(() => undefined), ['plan.pdf']])
})

test('a chat that takes no files is told their names, and a text that names them already stays as it is', async () => {
  const { say, letters } = rig({ namesFiles: true })
  const place = { chat: 'discord', conversation: '1' }
  await say('a', place, 'Here it is.', ['plan.pdf', 'missing'])
  await say('b', place, '', ['plan.pdf'])
  await say('c', place, 'See plan.pdf', ['plan.pdf'])
  expect([...letters.values()].map(one => one.text)).toEqual([
    'Here it is.\n\nIn the workspace: `plan.pdf`',
    'In the workspace: `plan.pdf`',
    'See plan.pdf',
  ])
})

test('the key of a saying tells the event it belongs to, and each saying from the next', () => {
  const key = `${sayingKey('discord:1:m', 'ab-1')}#final`
  expect(eventOfLetter(key)).toBe('discord:1:m#said-ab-1')
  expect(eventOfSaying(eventOfLetter(key))).toBe('discord:1:m')
})
