// The live draft keeps the platform's pace, shows the newest, and never outlives its turn.
import { expect, test } from 'vitest'
import type { ChatAdapter, Outgoing } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { Signal } from '../base/signal.ts'
import { createDrafts } from './draft.ts'

const place = { chat: 'chat', conversation: 'room' }
const event = (replyTo: NewEvent['replyTo'] = place) => ({
  key: 'k',
  lane: 'l',
  item: {
    key: 'k',
    lane: 'l',
    source: 'chat',
    replyTo,
    what: { kind: 'message', id: 'm', text: 'x', author: { id: 'a', name: 'a', owner: true } },
  } satisfies NewEvent,
})

/** Sleeps end when the test says so. */
function setup(post: (message: Outgoing) => Promise<void> = async () => undefined, editEveryMs: number | null = 100) {
  const shown: string[] = []
  const emitted: Signal[] = []
  let sleepers: (() => void)[] = []
  let typing = 0
  const show = async (message: Outgoing) => {
    await post(message)
    shown.push(message.action ? `${message.action.label} ${message.action.phase}` : `"${message.text}"`)
  }
  const chat: ChatAdapter = {
    name: 'chat',
    limits: { length: 2000, measure: text => text.length, editEveryMs },
    run: async () => undefined,
    async post(_, message) {
      await show(message)
      return { type: 'posted', ref: { place, id: '1' } }
    },
    edit: async (_, message) => show(message),
    async typing(_, signal) {
      typing++
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      typing--
    },
  }
  const clock = {
    now: () => 0,
    sleep: (_: number, signal: AbortSignal) =>
      new Promise<void>(resolve => {
        if (signal.aborted) return resolve()
        sleepers.push(resolve)
        signal.addEventListener('abort', () => resolve())
      }),
  }
  const open = createDrafts(
    new Map([['chat', chat]]),
    clock,
    signal => emitted.push(signal),
    lane => lane === 'quiet',
  )
  const settle = () => new Promise(resolve => setTimeout(resolve, 0))
  return {
    open,
    shown,
    emitted,
    typing: () => typing,
    settle,
    async tick() {
      await settle()
      const triggers = sleepers
      sleepers = []
      for (const wake of triggers) wake()
      await settle()
    },
  }
}

test('an empty draft comes first, then one edit per pause with everything new', async () => {
  const stage = setup()
  const live = stage.open(event())
  await stage.settle()
  live.text('one ')
  live.text('two ')
  live.action('Read: a.md', 'started')
  await stage.settle()
  expect(stage.shown).toEqual(['""'])
  await stage.tick()
  expect(stage.shown).toEqual(['""', 'Read: a.md started', '"one two "'])
  await stage.tick()
  live.text('three')
  await stage.tick()
  expect(stage.shown.at(-1)).toBe('"one two three"')
  await live.close()
})

test('a quiet conversation shows no actions, but that the agent waits for a person', async () => {
  const stage = setup()
  const live = stage.open({ ...event(), lane: 'quiet' })
  await stage.settle()
  live.action('Read: a.md', 'started')
  live.action('Waiting for permission', 'started', true)
  live.text('one')
  await stage.tick()
  expect(stage.shown).toEqual(['""', 'Waiting for permission started', '"one"'])
  await live.close()
})

test('after close nothing more is shown, and typing has ended', async () => {
  const stage = setup()
  const live = stage.open(event())
  await stage.settle()
  expect(stage.typing()).toBe(1)
  live.text('never seen')
  await live.close()
  const before = stage.shown.length
  live.text('too late')
  await stage.tick()
  expect(stage.shown).toHaveLength(before)
  expect(stage.typing()).toBe(0)
})

test('close waits for the running edit, so that it cannot arrive after the final', async () => {
  const gate = Promise.withResolvers<void>()
  const stage = setup(() => gate.promise)
  const live = stage.open(event())
  await stage.settle()
  let closed = false
  const closing = live.close().then(() => {
    closed = true
  })
  await stage.settle()
  expect(closed).toBe(false)
  gate.resolve()
  await closing
})

test('a draft that the platform refuses is reported and does no harm', async () => {
  const stage = setup(async () => {
    throw new Error('no permission')
  })
  const live = stage.open(event())
  await stage.settle()
  expect(stage.emitted).toEqual([{ type: 'draft-lost', place, why: 'no permission' }])
  live.text('x')
  await live.close()
})

test('on a platform without edits, or with nobody to show it to, nothing is shown', async () => {
  const noEdits = setup(undefined, null)
  const live = noEdits.open(event())
  live.text('x')
  await noEdits.tick()
  await live.close()
  expect(noEdits.shown).toEqual([])
  const nobody = setup()
  const silent = nobody.open(event(null))
  silent.text('x')
  await nobody.tick()
  await silent.close()
  expect(nobody.shown).toEqual([])
})

test('an empty delta does not freeze the draft', async () => {
  const stage = setup()
  const live = stage.open(event())
  await stage.tick()
  await stage.tick()
  live.text('')
  live.text('a')
  await stage.tick()
  live.text('b')
  await stage.tick()
  expect(stage.shown).toEqual(['""', '"a"', '"ab"'])
  await live.close()
})
