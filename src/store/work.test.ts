// The work of events, on a real database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hookLane, type NewEvent } from '../base/event.ts'
import type { NewRequest } from '../base/requests.ts'
import type { Signal } from '../base/signal.ts'
import type { ToolUse } from '../base/tool-use.ts'
import { createConversationList } from './conversations.ts'
import { createOptionalWrites, type Database, openDatabase } from './database.ts'
import { createHistory } from './history.ts'
import { createQueueStore } from './queue-store.ts'
import { createRequestStore } from './requests.ts'
import { createWorkStore, type WorkStore, workKept } from './work.ts'

let dir: string
let db: Database
let work: WorkStore
let now = 1000
const clock = { now: () => now, sleep: async () => undefined }
const lane = 'webchat:home'
const show = (text: string) => text.replaceAll('hunter2', '***')

beforeEach(() => {
  now = 1000
  dir = mkdtempSync(join(tmpdir(), 'aetheel-work-'))
  db = openDatabase(join(dir, 'test.db'))
  work = createWorkStore(db, clock, createOptionalWrites(db), show)
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const command = (text: string): ToolUse => ({ tool: 'Bash', work: { kind: 'command', command: text } })
type Acted = Extract<Signal, { type: 'turn-acted' }>
const act = (id: number, action: string, phase: Acted['phase'], rest: Partial<Acted> = {}) =>
  work.listen({ type: 'turn-acted', id, lane, action, phase, label: action, ...rest })
const began = (id: number): Signal => ({
  ...{ type: 'turn-began', id, lane, backend: 'claude', attempt: 1, resumed: false, interrupted: false },
})
const ended = (id: number): Signal => ({
  ...{ type: 'turn-ended', id, lane, source: 'webchat', kind: 'message', person: null, backend: 'claude', model: null },
  ...{ ms: 1, firstWordMs: null, ok: true, why: null, detail: '', usage: null },
})
const thought = (id: number, summary: string) => work.listen({ type: 'turn-thought', id, lane, summary })

async function put(text: string): Promise<number> {
  const event: NewEvent = {
    key: `webchat:home:${text}`,
    lane,
    what: { kind: 'message', id: text, text, author: { id: 'owner', name: 'Ada', owner: true } },
    replyTo: { chat: 'webchat', conversation: 'home' },
    source: 'webchat',
  }
  const stored = await createQueueStore(db, clock).put('in', lane, event.key, JSON.stringify(event), 'start')
  return stored.type === 'stored' ? stored.row.id : 0
}

test('an action is kept with what it did, its output, its time and its end, and without secrets', () => {
  act(7, 'a', 'started', { use: command('login hunter2') })
  now += 250
  act(7, 'a', 'failed', { result: { output: 'hunter2 is wrong', exit: 3 } })
  expect(work.of(7)).toEqual({
    event: 7,
    items: [
      {
        ...{ kind: 'action', at: 1000, endedAt: 1250, ok: false, label: 'a', asked: null },
        use: command('login ***'),
        result: { output: '*** is wrong', exit: 3 },
      },
    ],
  })
})

test('an action that never ended has no end, and one whose start was not told is kept too', () => {
  act(7, 'a', 'started')
  act(7, 'b', 'ended', { use: command('ls') })
  work.listen(ended(7))
  expect(work.of(7).items).toMatchObject([
    { label: 'a', endedAt: null, ok: null, use: null },
    { label: 'b', endedAt: 1000, ok: true, use: command('ls') },
  ])
})

test('a second attempt that counts its actions from the start again adds to the first', () => {
  work.listen(began(7))
  act(7, '1', 'started', { label: 'first' })
  work.listen(began(7))
  act(7, '1', 'started', { label: 'second' })
  act(7, '1', 'ended', { label: 'second' })
  expect(work.of(7).items).toMatchObject([
    { label: 'first', ok: null },
    { label: 'second', ok: true },
  ])
})

test('the pieces of a thought are one thought, up to the next action; secrets in two pieces are hidden', () => {
  for (const piece of ['The word is hun', 'ter2. ', 'Look first.']) thought(7, piece)
  act(7, 'a', 'started')
  thought(7, 'Then write.')
  work.listen(ended(7))
  expect(work.of(7).items).toMatchObject([
    { kind: 'thought', text: 'The word is ***. Look first.' },
    { kind: 'action' },
    { kind: 'thought', text: 'Then write.' },
  ])
})

test('an agent that acts without end fills neither the list nor the disk', () => {
  const output = 'x'.repeat(16_000)
  for (let i = 0; i < workKept.items + 50; i++) {
    act(7, String(i), 'started', { use: command(`step ${i}`) })
    act(7, String(i), 'ended', { result: { output, exit: 0 } })
  }
  const { items } = work.of(7)
  expect(items.length).toBe(workKept.items + 1)
  expect(items.at(-1)).toMatchObject({ kind: 'cut' })
  expect(JSON.stringify(items).length).toBeLessThan(workKept.characters + 200 * workKept.items)
  expect(items[0]).toMatchObject({ result: { exit: 0 } })
  expect(items.at(-2)).toMatchObject({ label: '299', ok: true, use: null, result: null })
})

test('an action says who allowed it; each request counts for one action', async () => {
  const requests = createRequestStore(db, clock)
  const request: NewRequest = {
    ...{ lane, event: 7, key: 'k', person: null, owner: true, source: 'webchat', backend: 'claude', folder: '/' },
    ...{ ask: { kind: 'tool', use: command('make') }, place: null, replyTo: null, rule: null, lasting: false },
  }
  const { id } = await requests.add(request, 'digest')
  await requests.settle(id, { state: 'allowed', verdict: { allow: true }, by: 'Ada', always: null, used: true })
  for (const name of ['a', 'b']) act(7, name, 'ended', { use: command('make') })
  expect(work.of(7).items).toMatchObject([{ asked: { state: 'allowed', by: 'Ada' } }, { asked: null }])
})

test('work is found by the key of its event and as the last of its lane, and goes with the event', async () => {
  const first = await put('one')
  await put('two')
  act(first, 'a', 'ended')
  expect(work.ofKey('webchat:home:one')?.items).toHaveLength(1)
  expect(work.ofKey('webchat:home:none')).toBeNull()
  expect(work.lastOf(lane)?.event).toBe(first)
  const conversations = createConversationList(db, createHistory(db), 'webchat', createRequestStore(db, clock))
  expect(conversations.before('home', null, 10).work).toEqual({ one: 1 })
  expect(conversations.from('home', first + 1, 10).work).toEqual({})
  expect(work.lastOf('webchat:other')).toBeNull()
  db.prepare('DELETE FROM items WHERE id = ?').run(first)
  expect(work.of(first).items).toEqual([])
})

test('the work of a hook is not the work of the event', () => {
  work.listen({ type: 'turn-acted', id: 7, lane: hookLane('agent_stop', 7), action: 'a', phase: 'ended', label: 'a' })
  expect(work.of(7).items).toEqual([])
})
