// The gateway's own tools in an opencode that stays up: a server for each key, few of them idle.
import { expect, test } from 'vitest'
import { type Json, object, string } from '../json.ts'
import { turnWith } from '../turn.fixture.ts'
import { openOwnServers, withoutOwn } from './opencode-servers.ts'

const turn = turnWith({})
const own = (key: string) => ({ name: 'aetheel', command: 'node', args: ['bridge'], env: { AETHEEL_KEY: key } })
const other = { name: 'notes', command: 'notes', args: [], env: {} }

function rig() {
  const calls: { path: string; body: Json }[] = []
  const servers = openOwnServers({
    async call(_, path, body = {}) {
      calls.push({ path, body })
      return { status: 200, body: {} }
    },
    listen: async () => ({ closed: new Promise(() => undefined) }),
  })
  const enter = (key: string) => servers.enter(turn({ mcpServers: [other, own(key)] }))
  return { calls, enter, servers }
}

test('each key has a server of its own, connected once, and a turn allows itself no other', async () => {
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

test('those that nobody has used for longest are disconnected, those in use are not', async () => {
  const { calls, enter } = rig()
  await enter('used')
  for (let i = 0; i < 6; i++) (await enter(`idle-${i}`)).leave()
  const gone = calls.filter(one => one.path.endsWith('/disconnect')).map(one => one.path)
  const named = calls.filter(one => one.path === '/mcp').map(one => `/mcp/${one.body.name}/disconnect`)
  expect(gone).toEqual(named.slice(1, 3))
  await enter('idle-0')
  expect(calls.filter(one => one.path === '/mcp')).toHaveLength(8)
})
