// Timelines of events, on a real database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Delivery } from '../base/chat.ts'
import { hookLane, type NewEvent } from '../base/event.ts'
import type { Signal } from '../base/signal.ts'
import { type Database, openDatabase } from './database.ts'
import { createQueueStore } from './queue-store.ts'
import { createTimeline, promptsKept } from './timeline.ts'
import { createUsage } from './usage.ts'

let dir: string
let db: Database
let now = 1000
const clock = { now: () => now, sleep: async () => undefined }
const lane = 'webchat:home'
const place = { chat: 'webchat', conversation: 'home' }

beforeEach(() => {
  now = 1000
  dir = mkdtempSync(join(tmpdir(), 'aetheel-timeline-'))
  db = openDatabase(join(dir, 'test.db'))
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const said = (text: string): NewEvent => ({
  key: `webchat:home:${text}`,
  lane,
  what: { kind: 'message', id: text, text, author: { id: 'owner', name: 'Ada', owner: true } },
  replyTo: place,
  source: 'webchat',
})
const delivery = (text: string, kind: Delivery['kind'] = 'final'): Delivery => ({
  place,
  kind,
  about: '1',
  text,
  ok: true,
})
const asked = (id: number, prompt: string): Signal => ({
  ...{ type: 'turn-asked', id, lane, backend: 'claude', model: 'opus', prompt, system: 'You are Aetheel.' },
})
const ended = (id: number): Signal => ({
  ...{ type: 'turn-ended', id, lane, source: 'webchat', kind: 'message', person: 'owner' },
  ...{ backend: 'claude', model: 'opus', ms: 2100, firstWordMs: 5, ok: true, why: null, detail: '' },
  usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.25 },
})

async function put(text: string) {
  const queueStore = createQueueStore(db, clock)
  const event = said(text)
  const stored = await queueStore.put('in', lane, event.key, JSON.stringify(event), 'start')
  return { queueStore, key: event.key, id: stored.type === 'stored' ? stored.row.id : 0 }
}

test('an event has its steps, its deliveries, the exact prompt and its usage', async () => {
  const timeline = createTimeline(db, clock)
  const usage = createUsage(db, clock)
  const { queueStore, key, id } = await put('hello')
  const emit = (signal: Signal) => {
    now += 10
    timeline.listen(signal)
    usage.listen(signal)
  }
  expect(timeline.running()).toMatchObject([{ id, lane, item: { source: 'webchat' } }])
  emit({ type: 'turn-began', id, lane, backend: 'claude', attempt: 1, resumed: false, interrupted: false })
  emit(asked(id, 'hello'))
  emit({ type: 'turn-spoke', id, lane, afterMs: 420 })
  emit({ type: 'turn-acted', action: 'use-1', id, lane, label: 'Read memory.md', phase: 'started' })
  emit({ type: 'turn-acted', action: 'use-1', id, lane, label: 'Read memory.md', phase: 'failed' })
  expect(timeline.view(id)).toMatchObject({ state: 'running', answer: null, usage: null, endedAt: null })
  emit(ended(id))
  now += 10
  const items = [delivery('the first half'), delivery('the second half'), delivery('by the way', 'notice')]
  const keys = [`${key}#final`, `${key}#final-2`, `${key}#notice-x`]
  const followUps = items.map((item, i) => ({ queue: 'out' as const, lane, key: keys[i] ?? '', item }))
  // Another event whose key has this one as a prefix.
  followUps.push({ queue: 'out', lane, key: `${key}-2#final`, item: delivery('not mine') })
  await queueStore.settle([id], { type: 'done', followUps })
  now += 10
  for (const row of await queueStore.recover('out')) {
    expect(timeline.eventOf(row.id)).toBe(row.key.includes('-2#final') ? null : id)
    await queueStore.take([row.id], 'durably')
    await queueStore.settle([row.id], { type: 'done' })
  }
  expect(timeline.view(id)).toEqual({
    ...{
      id,
      lane,
      actions: 0,
      kind: 'message',
      source: 'webchat',
      state: 'answered',
      at: 1000,
      endedAt: 1070,
      attempts: 1,
    },
    ...{ asked: 'hello', answer: 'the first half\nthe second half', person: 'Ada' },
    steps: [
      { at: 1000, what: 'queued', detail: 'webchat' },
      { at: 1010, what: 'began', detail: 'claude, a new session' },
      { at: 1020, what: 'prompt', detail: '5 characters, and 16 of system prompt' },
      { at: 1030, what: 'first word', detail: 'after 420 ms' },
      { at: 1040, what: 'tool', detail: 'Read memory.md' },
      { at: 1050, what: 'tool failed', detail: 'Read memory.md' },
      { at: 1060, what: 'ended', detail: 'claude, 2.1 s' },
      { at: 1080, what: 'sent', detail: '14 characters to webchat:home' },
      { at: 1080, what: 'sent', detail: '15 characters to webchat:home' },
      { at: 1080, what: 'sent', detail: 'notice, 10 characters to webchat:home' },
    ],
    prompt: { backend: 'claude', model: 'opus', text: 'hello', system: 'You are Aetheel.' },
    usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.25 },
  })
  expect(timeline.running()).toEqual([])
  expect(timeline.view(id + 1)).toBeNull() // a letter is no event
  expect(timeline.view(999)).toBeNull()
})

test('hooks of an event have separate steps; prompt, attempts and usage are those of the event alone', async () => {
  const timeline = createTimeline(db, clock)
  const usage = createUsage(db, clock)
  const { id } = await put('hello')
  const run = (lane: string, prompt: string) => {
    const signals: Signal[] = [
      { type: 'turn-began', id, lane, backend: 'claude', attempt: 1, resumed: false, interrupted: false },
      { ...asked(id, prompt), lane } as Signal,
      { type: 'turn-acted', action: 'use-1', id, lane, label: 'Read', phase: 'started' },
      { ...ended(id), lane } as Signal,
    ]
    for (const signal of signals) for (const listener of [timeline, usage]) listener.listen(signal)
  }
  run(hookLane('agent_begin', id), 'look around')
  run(lane, 'hello')
  run(hookLane('agent_stop', id), 'tidy up')
  await db.write(() => undefined)
  const view = timeline.view(id)
  expect(view).toMatchObject({ attempts: 1, prompt: { text: 'hello' }, usage: { inputTokens: 10, outputTokens: 2 } })
  expect(view?.steps.map(({ what }) => what)).toEqual([
    'queued',
    ...['agent_begin began', 'agent_begin prompt', 'agent_begin tool', 'agent_begin ended'],
    ...['began', 'prompt', 'tool', 'ended'],
    ...['agent_stop began', 'agent_stop prompt', 'agent_stop tool', 'agent_stop ended'],
  ])
})

test('steps and prompts survive a restart and are deleted with their event', async () => {
  const { queueStore, id } = await put('hello')
  const timeline = createTimeline(db, clock)
  timeline.listen(asked(id, 'hello'))
  await new Promise(done => setImmediate(done))
  expect(createTimeline(db, clock).view(id)?.prompt?.text).toBe('hello')
  await queueStore.settle([id], { type: 'done' })
  expect(await queueStore.forgetBefore(now + 1, new AbortController().signal)).toBe(1)
  expect(db.prepare('SELECT (SELECT count(*) FROM steps) + (SELECT count(*) FROM prompts) AS n').get()).toEqual({
    n: 0,
  })
})

test('only the newest 500 prompts are kept', async () => {
  const { id } = await put('hello')
  const timeline = createTimeline(db, clock)
  timeline.listen(asked(id, 'the first'))
  for (let i = 0; i < promptsKept; i++) timeline.listen(asked(id + 1, `${i}`))
  expect(timeline.view(id)?.prompt).toBeNull()
  expect(db.prepare('SELECT count(*) AS n, min(prompt) AS oldest FROM prompts').get()).toEqual({ n: 500, oldest: '0' })
})

test('an unchanged system prompt is stored once, and is deleted with the last prompt that uses it', async () => {
  const { id } = await put('hello')
  const timeline = createTimeline(db, clock)
  const told = (system: string, backend = 'claude') =>
    timeline.listen({ type: 'turn-asked', id, lane, backend, model: null, prompt: 'p', system })
  const kept = () => {
    const shown = timeline.view(id)?.prompt?.system
    return [
      shown,
      ...db
        .prepare('SELECT text FROM system_prompts ORDER BY id')
        .all()
        .map(row => row.text),
    ]
  }
  for (let i = 0; i < 3; i++) {
    told('of claude')
    told('of codex', 'codex')
  }
  expect(kept()).toEqual(['of codex', 'of claude', 'of codex'])
  for (let i = 0; i < promptsKept; i++) told('another')
  told('yet another')
  expect(kept()).toEqual(['yet another', 'another', 'yet another'])
  told('of codex', 'codex')
  expect(kept()).toEqual(['of codex', 'another', 'yet another', 'of codex'])
})

test('an agent that uses tools without end does not fill the disk', async () => {
  const { id } = await put('hello')
  const timeline = createTimeline(db, clock)
  for (let i = 0; i < 5000; i++)
    timeline.listen({ type: 'turn-acted', action: 'use-1', id, lane, label: 'x'.repeat(1000), phase: 'started' })
  const steps = timeline.view(id)?.steps ?? []
  expect(steps).toHaveLength(1001)
  expect(steps.at(-1)?.detail).toHaveLength(300)
})
