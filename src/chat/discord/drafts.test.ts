// Drafts keep Discord's pace, show the latest, and never come after the final.
import { expect, test } from 'vitest'
import type { Outgoing } from '../../base/chat.ts'
import { createDrafts } from './drafts.ts'

const place = { chat: 'discord', conversation: '1' }
const never = new AbortController().signal
const message = (text: string, label?: string): Outgoing => ({
  ...{ key: 'k', kind: 'draft', about: 'm', text, ok: true },
  action: label === undefined ? null : { label, phase: 'started' },
})

/** Pauses and writes end when the test says so. */
function setup() {
  const written: string[] = []
  const lost: string[] = []
  const slept: number[] = []
  const pauses: (() => void)[] = []
  const writes: PromiseWithResolvers<void>[] = []
  let holding = false
  const drafts = createDrafts({
    clock: {
      now: () => 0,
      sleep: ms => {
        slept.push(ms)
        return new Promise(resolve => pauses.push(resolve))
      },
    },
    write(_, __, ___, content) {
      written.push(content)
      const write = Promise.withResolvers<void>()
      writes.push(write)
      return write.promise
    },
    held: () => holding,
    lost: (_, why) => void lost.push(why),
  })
  const settle = () => new Promise(resolve => setImmediate(resolve))
  const hold = (on: boolean) => {
    holding = on
  }
  return { drafts, written, lost, slept, pauses, writes, settle, hold }
}

test('one edit at a time, a pause after each, and news in between is shown together', async () => {
  const { drafts, written, slept, pauses, writes, settle } = setup()
  drafts.show(place, message(''), never)
  expect(written).toEqual([])
  drafts.show(place, message('a'), never)
  drafts.show(place, message('a b'), never)
  drafts.show(place, message('a b', 'Read'), never)
  expect(written).toEqual(['a'])
  writes[0]?.resolve()
  await settle()
  expect([written.length, slept]).toEqual([1, [1200]])
  pauses[0]?.()
  await settle()
  expect(written).toEqual(['a', 'a b\n-# ⚙ Read'])
  writes[1]?.resolve()
  await settle()
  pauses[1]?.()
  await settle()
  expect(written).toHaveLength(2)
  drafts.show(place, message('a b c'), never)
  expect(written).toHaveLength(3)
})

test('the final waits for the edit in flight, and no edit follows it', async () => {
  const { drafts, written, pauses, writes, settle } = setup()
  drafts.show(place, message('a'), never)
  drafts.show(place, message('a b'), never)
  let finished = false
  void drafts.finish('m').then(() => {
    finished = true
  })
  await settle()
  expect(finished).toBe(false)
  writes[0]?.resolve()
  await settle()
  expect(finished).toBe(true)
  pauses[0]?.()
  await settle()
  expect(written).toEqual(['a'])
})

test('a failed edit is reported and retried', async () => {
  const { drafts, written, lost, pauses, writes, settle } = setup()
  drafts.show(place, message('a'), never)
  writes[0]?.reject(new Error('down'))
  await settle()
  expect(lost).toHaveLength(1)
  pauses[0]?.()
  await settle()
  expect(written).toEqual(['a', 'a'])
})

test('a draft is held back while an earlier answer is being posted, and then shows the latest text', async () => {
  const { drafts, written, pauses, settle, hold } = setup()
  hold(true)
  drafts.show(place, message('a'), never)
  drafts.show(place, message('a b'), never)
  await settle()
  pauses[0]?.()
  await settle()
  expect([written, pauses.length]).toEqual([[], 2])
  hold(false)
  pauses[1]?.()
  await settle()
  expect(written).toEqual(['a b'])
})
