// JSON-RPC with a real process on the other side.
import { afterEach, expect, test } from 'vitest'
import { type RunningProcess, startProcess } from './process.ts'
import { createRpc, later, type RpcParts, type RpcRequest } from './rpc.ts'
import type { Json } from './stdio.ts'

let children: RunningProcess[] = []
afterEach(async () => {
  for (const child of children) child.kill()
  await Promise.all(children.map(child => child.end))
  children = []
})

/** `script` is called with each input line, and may `say` any text. */
function open(script: string, parts: { versioned?: boolean; requested?: RpcParts['requested'] } = {}) {
  const body = `
    const say = line => process.stdout.write((typeof line === 'string' ? line : JSON.stringify(line)) + '\\n')
    require('node:readline').createInterface({ input: process.stdin }).on('line', text => {
      const line = JSON.parse(text)
      ${script}
    })`
  const child = startProcess({
    file: process.execPath,
    args: ['-e', body],
    env: { PATH: process.env.PATH ?? '' },
    cwd: process.cwd(),
    input: null,
  })
  children.push(child)
  const notifications: [string, Json][] = []
  const rpc = createRpc(child, {
    versioned: parts.versioned ?? false,
    notified: (method, params) => void notifications.push([method, params]),
    requested: parts.requested ?? (() => null),
  })
  return { rpc, notifications, child }
}

test('each answer finds its request in any order, and garbage between them is skipped', async () => {
  const { rpc } = open(`
    globalThis.kept ??= []
    kept.push(line)
    if (kept.length < 3) return
    say('no json'); say([1]); say('null'); say({ id: 99, result: {} }); say({ id: '1', result: { wrong: true } })
    for (const { id, method, params } of kept.reverse()) say({ id, result: { method, params } })
  `)
  const answers = await Promise.all(['a', 'b', 'c'].map((method, n) => rpc.request(method, { n })))
  expect(answers).toEqual(['a', 'b', 'c'].map((method, n) => ({ ok: true, result: { method, params: { n } } })))
})

test('a refusal carries its code, message and data; a result that is not an object becomes an empty one', async () => {
  const { rpc } = open(`
    if (line.method === 'bad') say({ id: line.id, error: { code: 401, message: 'no key', data: { why: 'x' } } })
    else say({ id: line.id, result: null })
  `)
  expect(await rpc.request('bad', {})).toEqual({ ok: false, code: 401, message: 'no key', data: { why: 'x' } })
  expect(await rpc.request('good', {})).toEqual({ ok: true, result: {} })
})

test('notifications arrive in order; requests are answered or refused', async () => {
  const { rpc, notifications } = open(
    `
    if (line.method === 'begin') {
      say({ method: 'one', params: { n: 1 } }); say({ method: 'two' })
      say({ id: 'q1', method: 'known', params: { n: 2 } }); say({ id: 7, method: 'unknown', params: {} })
      globalThis.first = line.id
    } else {
      globalThis.heard = [...(globalThis.heard ?? []), line]
      if (heard.length === 2) say({ id: first, result: { heard } })
    }
  `,
    { requested: (method, params) => (method === 'known' ? { twice: Number(params.n) * 2 } : null) },
  )
  expect(await rpc.request('begin', {})).toEqual({
    ok: true,
    result: {
      heard: [
        { id: 'q1', result: { twice: 4 } },
        { id: 7, error: { code: -32601, message: expect.any(String) } },
      ],
    },
  })
  expect(notifications).toEqual([
    ['one', { n: 1 }],
    ['two', {}],
  ])
})

test('a request may be answered later, while others are answered', async () => {
  const waiting: RpcRequest[] = []
  const { rpc } = open(
    `
    if (line.method === 'begin') { say({ id: 'slow', method: 'ask' }); say({ id: 'fast', method: 'known' }); globalThis.first = line.id }
    else if (line.id === 'fast') say({ id: first, result: {} })
    else if (line.id === 'slow') say({ id: 2, result: line.result ?? { error: line.error } })
  `,
    {
      requested(method, _, request) {
        if (method === 'known') return {}
        waiting.push(request)
        return later
      },
    },
  )
  expect(await rpc.request('begin', {})).toMatchObject({ ok: true })
  expect(waiting).toMatchObject([{ id: 'slow' }])
  const answered = rpc.request('nothing', {})
  waiting[0]?.reply({ result: { said: 'yes' } })
  expect(await answered).toEqual({ ok: true, result: { said: 'yes' } })
})

test.each([true, false])('the version field is optional: %s', async versioned => {
  const { rpc, notifications } = open(
    `say({ method: 'heard', params: line }); if (line.id) say({ id: line.id, result: {} })`,
    {
      versioned,
    },
  )
  rpc.notify('note', { a: 1 })
  await rpc.request('ask', {})
  const version = versioned ? { jsonrpc: '2.0' } : {}
  expect(notifications).toEqual([
    ['heard', { ...version, method: 'note', params: { a: 1 } }],
    ['heard', { ...version, id: 1, method: 'ask', params: {} }],
  ])
})

test('the end of the process settles open and later requests, after its last line', async () => {
  const { rpc, notifications, child } = open(`say({ method: 'last', params: {} }); process.exit(3)`)
  const gone = { ok: false, code: null }
  expect(await rpc.request('a', {})).toMatchObject(gone)
  expect(notifications).toEqual([['last', {}]])
  await rpc.over
  expect(await rpc.request('b', {})).toMatchObject(gone)
  expect((await child.end).code).toBe(3)
})
