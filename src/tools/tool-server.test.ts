// The tool server: who may call what, and when.
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import type { Caller, Tool } from '../base/tools.ts'
import { createToolServer } from './tool-server.ts'
import { eventBy, taken } from './turns.fixture.ts'

const never = new AbortController().signal

function toolServer(more: readonly Tool[] = []) {
  const calls: { tool: string; caller: Caller }[] = []
  const broken: string[] = []
  const noting = (name: string, rest: Partial<Tool> = {}): Tool => ({
    ...{ name, about: 'notes that it was called', takes: {}, ...rest },
    async call(_, caller) {
      calls.push({ tool: name, caller })
      return { ok: true, text: `${name} done` }
    },
  })
  let n = 0
  const toolServer = createToolServer({
    tools: [noting('look', { readOnly: true }), noting('change', { ownerOnly: true }), ...more],
    newKey: () => `key-${++n}`,
    broke: tool => void broken.push(tool),
  })
  return { ...toolServer, calls, broken }
}

test('a key is valid only while a turn of its lane runs', async () => {
  const { enter, call, calls } = toolServer()
  const visit = enter(taken(eventBy(true)))
  expect(await call(visit.key, 'look', {}, never)).toEqual({ ok: true, text: 'look done' })
  visit.leave()
  expect(await call(visit.key, 'look', {}, never)).toEqual({
    ok: false,
    text: expect.stringMatching(/turn .* is over/),
  })
  expect(await call('made-up', 'look', {}, never)).toEqual({ ok: false, text: expect.stringMatching(/does not know/) })
  expect(calls).toHaveLength(1)
})

test('the next turn of the same lane and principal has the same key, so that a warm process can continue', async () => {
  const { enter, call, calls } = toolServer()
  const first = enter(taken(eventBy(true)))
  first.leave()
  const event = eventBy(true)
  const second = enter(taken(event))
  expect(second.key).toBe(first.key)
  await call(second.key, 'look', {}, never)
  expect(calls.map(({ caller }) => caller.key)).toEqual([event.key])
  expect(enter(taken(eventBy(true, 'discord:2'))).key).not.toBe(first.key)
})

test('a process left by a guest’s turn cannot act during the owner’s turn, nor the other way round', async () => {
  const { enter, call, calls } = toolServer()
  const guest = enter(taken(eventBy(false)))
  guest.leave()
  const owner = enter(taken(eventBy(true)))
  expect(owner.key).not.toBe(guest.key)
  expect((await call(guest.key, 'change', {}, never)).ok).toBe(false)
  expect((await call(guest.key, 'look', {}, never)).ok).toBe(false)
  owner.leave()
  enter(taken(eventBy(false)))
  expect((await call(owner.key, 'change', {}, never)).ok).toBe(false)
  expect(calls).toEqual([])
})

test('an answer up to the limit is complete; a longer one is cut and says so', async () => {
  const answering = (length: number): Tool => ({
    ...{ name: `say-${length}`, about: '', takes: {} },
    call: async () => ({ ok: true, text: 'x'.repeat(length) }),
  })
  const { enter, call } = toolServer([answering(60_000), answering(60_001)])
  const { key } = enter(taken(eventBy(true)))
  expect((await call(key, 'say-60000', {}, never)).text).toBe('x'.repeat(60_000))
  expect((await call(key, 'say-60001', {}, never)).text).toBe(
    `${'x'.repeat(60_000)}\n… (cut: it was 60001 characters long)`,
  )
})

test('a guest is neither offered nor allowed tools for the owner only', async () => {
  const { enter, call, list, calls } = toolServer()
  const guest = enter(taken(eventBy(false)))
  const owner = enter(taken(eventBy(true, 'discord:2')))
  expect(list(guest.key)?.map(tool => tool.name)).toEqual(['look'])
  expect(list(owner.key)?.map(tool => tool.name)).toEqual(['look', 'change'])
  expect(list('made-up')).toBe(null)
  expect(await call(guest.key, 'change', {}, never)).toEqual({ ok: false, text: expect.stringMatching(/owner only/) })
  expect((await call(owner.key, 'change', {}, never)).ok).toBe(true)
  expect(calls.map(one => one.tool)).toEqual(['change'])
})

test('a batch with a guest’s message has only the guest’s permissions', async () => {
  const { enter, call } = toolServer()
  const { key } = enter(taken(eventBy(true), [eventBy(false)]))
  expect((await call(key, 'change', {}, never)).ok).toBe(false)
  const { key: both } = enter(taken(eventBy(true, 'discord:2'), [eventBy(true, 'discord:2')]))
  expect((await call(both, 'change', {}, never)).ok).toBe(true)
})

test('a webhook payload, and a sub-agent started for it, never has the owner’s permissions', async () => {
  const { enter, call, calls } = toolServer()
  const webhook: NewEvent = {
    ...eventBy(true, 'webhook:github'),
    what: { kind: 'webhook', name: 'github', instruction: 'look', payload: '{}' },
  }
  expect((await call(enter(taken(webhook)).key, 'change', {}, never)).ok).toBe(false)
  const assignment: NewEvent = {
    ...eventBy(true, 'agent:7'),
    what: {
      kind: 'assignment',
      agent: '7',
      name: 'seven',
      instruction: 'look',
      depth: 1,
      reportTo: { lane: 'discord:1', place: null },
    },
  }
  const { key } = enter(taken(assignment))
  expect((await call(key, 'change', {}, never)).ok).toBe(false)
  await call(key, 'look', {}, never)
  expect(calls[0]?.caller).toMatchObject({ agent: '7', lane: 'agent:7' })
})

test('calls that are too long, unknown or invalid are refused with a reason', async () => {
  const { enter, call } = toolServer()
  const { key } = enter(taken(eventBy(true)))
  expect(await call(key, 'look', { x: 'y'.repeat(300_000) }, never)).toEqual({
    ok: false,
    text: expect.stringMatching(/longer than 262144 bytes/),
  })
  expect(await call(key, 'nothing', {}, never)).toEqual({
    ok: false,
    text: expect.stringMatching(/There are: look, change/),
  })
  expect(await call(key, 'look', { depth: 1 }, never)).toEqual({
    ok: false,
    text: expect.stringMatching(/takes no "depth".* It takes nothing/),
  })
})

test('a tool that throws is logged and answered in plain words, and a waiting tool ends with its turn', async () => {
  const breaks: Tool = {
    ...{ name: 'breaks', about: '', takes: {} },
    call: async () => {
      throw new Error('/home/ada/secret')
    },
  }
  const waits: Tool = {
    ...{ name: 'waits', about: '', takes: {} },
    call: (_, __, signal) =>
      new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason), { once: true })),
  }
  const { enter, call, broken } = toolServer([breaks, waits])
  const { key, leave } = enter(taken(eventBy(true)))
  const answer = await call(key, 'breaks', {}, never)
  expect(answer.ok).toBe(false)
  expect(answer.text).not.toMatch(/secret|home/)
  const waiting = call(key, 'waits', {}, never)
  leave()
  expect(await waiting).toEqual({ ok: false, text: 'The turn ended in the meantime.' })
  expect(broken).toEqual(['breaks'])
})

test('keys of the least recently used lanes are forgotten, those of running turns are not', async () => {
  const { enter, keyFor, call } = toolServer()
  const running = enter(taken(eventBy(true, 'discord:running')))
  const old = keyFor('discord:old', true)
  for (let i = 0; i < 2100; i++) keyFor(`discord:${i}`, true)
  expect(keyFor('discord:2099', true)).toBe(keyFor('discord:2099', true))
  expect((await call(running.key, 'look', {}, never)).ok).toBe(true)
  expect(keyFor('discord:old', true)).not.toBe(old)
})
