// The gateway's own tools in a warm opencode: one server per key, and few idle ones.
import { expect, test } from 'vitest'
import { type Json, object, string } from '../stdio.ts'
import { turnWith } from '../turn.fixture.ts'
import { createOwnServers, withoutOwn } from './opencode-servers.ts'

const turn = turnWith({})
const own = (key: string) => ({ name: 'aetheel', command: 'node', args: ['bridge'], env: { AETHEEL_KEY: key } })
const other = { name: 'notes', command: 'notes', args: [], env: {} }

function rig(answers: readonly (object | Error)[] = []) {
  let asked = 0
  const calls: { path: string; body: Json }[] = []
  const servers = createOwnServers({
    async call(_, path, body = {}) {
      calls.push({ path, body })
      const answer = path === '/mcp' ? answers[asked++] : undefined
      if (answer instanceof Error) throw answer
      return { status: 200, body: {}, ...answer }
    },
    listen: async () => ({ closed: new Promise(() => undefined) }),
  })
  const enter = (key: string) => servers.enter(turn({ mcpServers: [other, own(key)] }))
  return { calls, enter, servers }
}

test('each key has its own server, connected once, and a turn allows only its own', async () => {
  const { calls, enter, servers } = rig()
  const [a, b, again] = [await enter('a'), await enter('b'), await enter('a')]
  expect(a.fields).toEqual(again.fields)
  expect(a.fields).not.toEqual(b.fields)
  expect(calls.map(one => one.path)).toEqual(['/mcp', '/mcp'])
  expect(calls[0]?.body.config).toEqual({
    type: 'local',
    command: ['node', 'bridge'],
    environment: { AETHEEL_KEY: 'a' },
  })
  expect(object(a.fields.tools)).toEqual({ [`${string(calls[0]?.body.name)}_*`]: true })
  expect((await servers.enter(turn({ mcpServers: [other] }))).fields).toEqual({})
  expect(withoutOwn(turn({ mcpServers: [other, own('a')] })).mcpServers).toEqual([other])
})

test('the least recently used are disconnected, those in use are not', async () => {
  const { calls, enter } = rig()
  await enter('used')
  for (let i = 0; i < 6; i++) (await enter(`idle-${i}`)).leave()
  const gone = calls.filter(one => one.path.endsWith('/disconnect')).map(one => one.path)
  const named = calls.filter(one => one.path === '/mcp').map(one => `/mcp/${one.body.name}/disconnect`)
  expect(gone).toEqual(named.slice(1, 3))
  await enter('idle-0')
  expect(calls.filter(one => one.path === '/mcp')).toHaveLength(8)
})

test('a connection that failed is tried again by the next turn, which says so', async () => {
  const refused = { status: 500, body: { name: 'UnknownError' } }
  const { calls, enter } = rig([new Error('the connection was closed'), refused, {}])
  for (const why of [/the connection was closed/, /status 500/]) {
    const { trouble, leave } = await enter('a')
    expect(trouble).toMatch(why)
    leave()
  }
  expect((await enter('a')).trouble).toBe(null)
  expect((await enter('a')).trouble).toBe(null)
  expect(calls.map(one => one.path)).toEqual(['/mcp', '/mcp', '/mcp'])
})

test('a server that opencode accepted but could not start counts as failed', async () => {
  let name = ''
  const servers = createOwnServers({
    async call(_, __, body = {}) {
      name = string(body.name)
      return { status: 200, body: { [name]: { status: 'failed', error: 'Connection closed' } } }
    },
    listen: async () => ({ closed: new Promise(() => undefined) }),
  })
  expect((await servers.enter(turn({ mcpServers: [own('a')] }))).trouble).toMatch(/failed/)
})
