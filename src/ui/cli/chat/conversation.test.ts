// A conversation with a gateway that goes away, comes back, or does not.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { littlePatience, scriptedGateway } from '../../../../test/fakes/scripted-gateway.ts'
import { fakeTerminal } from '../../../../test/fakes/terminal.ts'
import type { Running } from '../ports.ts'
import { ask } from './ask.ts'
import { type ConversationEvent, openConversation } from './conversation.ts'

const options = (to: { readonly at: Running }, name = 'terminal') => ({
  name,
  where: async () => to.at,
  patience: littlePatience,
})
const question = (text: string, json = false) => ({ text, json, gone: null })

test('a message that was not accepted is sent again under the same id; an accepted one is not', async () => {
  let first = ''
  const to = await scriptedGateway(
    ({ type, id }, peer, visit) => {
      first ||= id
      if (type !== 'message') return
      if (visit === 1) return peer.drop()
      peer.say({ type: 'accepted', id })
      peer.drop(1001)
    },
    (peer, visit) => {
      if (visit === 3) peer.say({ type: 'final', id: first, text: 'after the restart', ok: true })
    },
  )
  const terminal = fakeTerminal()
  expect(await ask(question('go'), options(to), terminal)).toBe(0)
  expect(terminal.out()).toBe('after the restart\n')
  expect(to.heard.map(frame => frame.id)).toEqual([first, first])
  expect(to.addresses.map(address => address.searchParams.get('conversation'))).toEqual([
    'terminal',
    'terminal',
    'terminal',
  ])
})

test('a gateway that comes back at another address is found there', async () => {
  const before = await scriptedGateway(({ id }, peer) => {
    at = null
    peer.say({ type: 'accepted', id })
    peer.drop(1001)
  })
  const heard: ConversationEvent[] = []
  let at: Running | null = before.at
  const conversation = openConversation({ name: 'c', where: async () => at, patience: littlePatience }, what =>
    heard.push(what),
  )
  conversation.say('m1', 'hi')
  await vi.waitFor(() => expect(heard.at(-1)).toEqual({ type: 'disconnected' }))
  const after = await scriptedGateway(
    () => {},
    peer =>
      peer.say(
        {
          type: 'history',
          messages: [
            { id: 'm1', role: 'user', text: 'hi', state: 'answered' },
            { id: 'm1', role: 'agent', text: 'from the history', state: 'answered' },
          ],
        },
        { type: 'final', id: 'm1', text: 'from the history', ok: true },
      ),
  )
  at = after.at
  await vi.waitFor(() => expect(heard.some(what => what.type === 'history')).toBe(true))
  await sleep(50)
  expect(heard.filter(what => what.type === 'final')).toEqual([
    { type: 'final', id: 'm1', text: 'from the history', ok: true },
  ])
  await conversation.close()
})

test('a stop requested while the gateway was down is sent when it is back', async () => {
  const to = await scriptedGateway(({ type, id }, peer) => {
    if (type === 'message') peer.say({ type: 'accepted', id })
  })
  let away = true
  const conversation = openConversation(
    { name: 'c', where: async () => (away ? null : to.at), patience: littlePatience },
    () => {},
  )
  conversation.say('m1', 'hi')
  conversation.stop()
  away = false
  await vi.waitFor(() => expect(to.heard.map(frame => frame.type)).toEqual(['message', 'stop']))
  await conversation.close()
})

test('if the gateway does not come back, it gives up with an explanation', async () => {
  const terminal = fakeTerminal()
  expect(await ask(question('go'), { name: 'c', where: async () => null, patience: littlePatience }, terminal)).toBe(1)
  expect(terminal.err()).toMatch(/^aetheel: lost: the gateway did not come back within/)
})

test('it also gives up on a gateway that accepts and closes the connection again and again', async () => {
  const terminal = fakeTerminal()
  const to = await scriptedGateway(
    () => {},
    peer => peer.drop(1011),
  )
  expect(await ask(question('go'), options(to), terminal)).toBe(1)
  expect(terminal.err()).toContain('did not come back')
})

test('a gateway that refuses us is not tried again', async () => {
  const terminal = fakeTerminal()
  const to = await scriptedGateway(
    () => {},
    peer => peer.drop(1008),
  )
  expect(await ask(question('go'), options(to), terminal)).toBe(1)
  expect(terminal.err()).toBe('aetheel: lost: the gateway closed the connection: because\n')
  expect(to.addresses).toHaveLength(1)
})

test('a wrong token is reported immediately', async () => {
  const server = createServer((_, response) => response.writeHead(401).end())
  server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const terminal = fakeTerminal()
  const where = async () => ({ url: `http://127.0.0.1:${port}`, token: 'wrong' })
  expect(
    await ask(question('go'), { name: 'c', where, patience: { ...littlePatience, giveUpAfterMs: 60_000 } }, terminal),
  ).toBe(1)
  expect(terminal.err()).toContain('the gateway does not accept our token')
  server.closeAllConnections()
  server.close()
})

test('a message too long for the gateway is refused instead of resent forever', async () => {
  const terminal = fakeTerminal()
  const to = await scriptedGateway((_, peer) => peer.drop(1009))
  expect(await ask(question('go'), options(to), terminal)).toBe(1)
  expect(terminal.err()).toContain('refused: the message is too long')
  expect(to.heard).toHaveLength(1)
})
