// A request during a session at the terminal: seen whole, answered with a line, over the real HTTP server.
import { stripVTControlCharacters } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { askedCommand, askedQuestions, fakeRequests, someRequest } from '../../../../test/fakes/requests.ts'
import { littlePatience } from '../../../../test/fakes/scripted-gateway.ts'
import { fakeTerminal } from '../../../../test/fakes/terminal.ts'
import type { Request } from '../../../base/requests.ts'
import type { Socket } from '../../../base/socket.ts'
import { closeAll, open, token } from '../../http/server.rig.ts'
import { ask } from './ask.ts'
import { talk } from './session.ts'

afterEach(closeAll)

async function gateway(early: readonly Request[] = []) {
  const sockets: Socket[] = []
  const heard: { type: string; id: string; text: string }[] = []
  const say = (frame: object) => {
    for (const socket of sockets) socket.send(JSON.stringify(frame))
  }
  const requests = fakeRequests(request => say({ type: 'request', request }))
  for (const request of early) requests.put(request)
  const { url } = await open({
    admin: { requests },
    webchat: {
      connect(socket, conversation) {
        socket.onText(text => void heard.push(JSON.parse(text)))
        sockets.push(socket)
        socket.send(JSON.stringify({ type: 'hello', conversation }))
        socket.send(JSON.stringify({ type: 'history', messages: [], older: null, requests: requests.list('open') }))
      },
    },
  })
  const options = { name: 'home', where: async () => ({ pid: 1, url, token }), patience: littlePatience }
  return { requests, heard, say, options, connected: () => vi.waitFor(() => expect(sockets).toHaveLength(1)) }
}

async function session(early: readonly Request[] = []) {
  const to = await gateway(early)
  const terminal = fakeTerminal({ stdin: true, stdout: true, stderr: true })
  const over = talk(to.options, terminal, null)
  await to.connected()
  const sees = (words: string) =>
    vi.waitFor(() => expect(stripVTControlCharacters(terminal.out())).toContain(words), { timeout: 5000 })
  const decided = (...decisions: object[]) =>
    vi.waitFor(() => expect(to.requests.decisions.map(({ decision }) => decision)).toEqual(decisions))
  return {
    ...{ ...to, sees, decided },
    type: (line: string) => terminal.stdin.write(`${line}\r`),
    keys: (text: string) => terminal.stdin.write(text),
    async quit() {
      terminal.stdin.write('/quit\r')
      expect(await over).toBe(0)
    },
  }
}

test('the whole command is shown with what is invisible in it, and one letter allows it', async () => {
  const { requests, sees, type, decided, heard, quit } = await session()
  requests.put(someRequest({ ask: askedCommand('rm -rf \u202ebuild\nls') }))
  await sees('rm -rf \\u{202e}build')
  await sees('a allows it once, always [conversation|project|everywhere] adds the rule')
  type('perhaps')
  await sees('That is not an answer.')
  type('a')
  await decided({ allow: true })
  await sees('Request 1: allowed once by owner')
  expect(heard).toEqual([])
  type('thanks')
  await vi.waitFor(() => expect(heard).toMatchObject([{ type: 'message', text: 'thanks' }]))
  await quit()
})

test('always with its scope, and a denial with a reason; several requests come one after the other', async () => {
  const { sees, type, decided, quit } = await session([1, 2, 3].map(id => someRequest({ id })))
  await sees('Request 1: claude wants')
  type('always project')
  await sees('Request 2: claude wants')
  type('d Use the old build.')
  await sees('Request 3: claude wants')
  type('n')
  await decided(
    { allow: true, always: 'project' },
    { allow: false, message: 'Use the old build.' },
    { allow: false, message: '' },
  )
  await quit()
})

test('questions take numbers or own words, each in its turn', async () => {
  const { requests, sees, type, decided, quit } = await session()
  requests.put(someRequest({ ask: askedQuestions(['Which rooms?', ['Hall', 'Attic'], true], ['When?', ['Now']]) }))
  await sees('1. Hall')
  type('3')
  await sees('Choose from 1 to 2')
  type('1, 2')
  await sees('When? A number, or your own words')
  type('on Monday')
  await decided({ allow: true, answers: { 'Which rooms?': 'Hall, Attic', 'When?': 'on Monday' } })
  await quit()
})

test('answered elsewhere, the prompt is free again; a line begun before the request is no answer', async () => {
  const { requests, sees, type, keys, heard, decided, quit } = await session()
  requests.put(someRequest())
  await sees('allow?')
  await requests.decide(1, { allow: false, message: '' }, 'ada')
  await sees('Request 1: denied by ada')
  keys('a')
  await sees('› a')
  requests.put(someRequest({ id: 2 }))
  await sees('Request 2: claude wants')
  type('')
  await vi.waitFor(() => expect(heard).toMatchObject([{ type: 'message', text: 'a' }]))
  type('/later')
  await sees('Request 2 stays open')
  await decided({ allow: false, message: '' })
  await quit()
})

test('a one-shot question in a pipe says on stderr what it waits for and how to answer, and prints only the answer', async () => {
  const { requests, heard, say, options } = await gateway()
  const terminal = fakeTerminal()
  const over = ask({ text: 'test it', json: false, gone: null }, options, terminal)
  await vi.waitFor(() => expect(heard).toHaveLength(1))
  const id = heard[0]?.id ?? ''
  say({ type: 'accepted', id })
  requests.put(someRequest({ key: `webchat:home:${id}` }))
  requests.put(someRequest({ id: 2, key: 'webchat:home:of-another', ask: askedCommand('of another message') }))
  await vi.waitFor(() => expect(terminal.err()).toContain('Waiting for the answer.'))
  for (const words of ['npm test -- --run', 'npx aetheel approvals allow 1', '--always', 'deny 1'])
    expect(terminal.err()).toContain(words)
  expect(terminal.err()).not.toContain('of another message')
  await requests.decide(1, { allow: true }, 'owner')
  say({ type: 'final', id, text: 'All green.', ok: true })
  expect(await over).toBe(0)
  expect(terminal.out()).toBe('All green.\n')
})
