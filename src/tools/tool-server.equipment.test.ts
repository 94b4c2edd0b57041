// The tools that a run gets, depending on its backend.
import { expect, test } from 'vitest'
import { createEquipment, createToolServer } from './tool-server.ts'
import { eventBy, taken } from './turns.fixture.ts'

const never = new AbortController().signal
const notes = { name: 'notes', command: 'notes', args: [], env: {} }

function rig(own = true) {
  const order: string[] = []
  const toolServer = createToolServer({
    tools: [{ name: 'look', about: '', takes: {}, call: async () => ({ ok: true, text: 'seen' }) }],
    newKey: () => `k${order.push('key')}`,
    broke: () => undefined,
  })
  const calls = {
    open: (key: string) => ({
      leave: () => void toolServer.call(key, 'look', {}, never).then(({ text }) => order.push(text)),
    }),
    wordsFor: (key: string) => `words for ${key}`,
  }
  const accessOf = (backend: string) => (backend === 'pi' ? 'files' : backend === 'echo' ? 'none' : 'mcp')
  const bridge = { command: 'node', args: ['bridge'] }
  return {
    toolServer,
    order,
    ...createEquipment({
      toolServer,
      calls,
      servers: () => [notes],
      own: () => own,
      accessOf,
      bridge,
      address: { url: 'http://x' },
    }),
  }
}

test('a backend with MCP gets our server beside the user’s, with a key that is valid until the run ends', async () => {
  const { equip, ahead, toolServer } = rig()
  const { mcpServers, words, leave } = equip(taken(eventBy(true)), 'claude')
  expect(mcpServers).toEqual([
    notes,
    { name: 'aetheel', command: 'node', args: ['bridge'], env: { AETHEEL_URL: 'http://x', AETHEEL_KEY: 'k1' } },
  ])
  expect(words).toBe('')
  expect(ahead('discord:1', 'claude').mcpServers).toEqual(mcpServers)
  expect((await toolServer.call('k1', 'look', {}, never)).ok).toBe(true)
  leave()
  expect((await toolServer.call('k1', 'look', {}, never)).ok).toBe(false)
})

test('a backend without MCP gets instructions, and its last call is carried out before its key expires', async () => {
  const { equip, ahead, order } = rig()
  const { mcpServers, words, leave } = equip(taken(eventBy(true)), 'pi')
  expect([mcpServers, words]).toEqual([[notes], 'words for k1'])
  expect(ahead('discord:1', 'pi').words).toBe(words)
  leave()
  await expect.poll(() => order).toEqual(['key', 'seen'])
})

test('a backend without tools gets none of ours, and neither does any backend if they are turned off', () => {
  for (const { mcpServers, words } of [
    rig().equip(taken(eventBy(true)), 'echo'),
    rig(false).equip(taken(eventBy(true)), 'claude'),
  ])
    expect([mcpServers, words]).toEqual([[notes], ''])
  expect(rig(false).ahead('discord:1', 'claude').mcpServers).toEqual([notes])
})
