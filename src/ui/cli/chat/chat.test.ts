// `aetheel chat` against a real WebSocket server that follows a script.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { type Gateway, type Script, scriptedGateway } from '../../../../test/fakes/scripted-gateway.ts'
import { fakeTerminal } from '../../../../test/fakes/terminal.ts'
import type { CliPorts, Running } from '../ports.ts'
import { ask } from './ask.ts'
import type { Heard } from './conversation.ts'
import { openConversation } from './conversation.ts'
import { chat, readPiped } from './index.ts'

const gateways: Gateway[] = []
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close()
})

async function gateway(...script: Parameters<typeof scriptedGateway>): Promise<Gateway> {
  const opened = await scriptedGateway(...script)
  gateways.push(opened)
  return opened
}

const patience = { firstPauseMs: 20, longestPauseMs: 50, giveUpAfterMs: 300, helloMs: 500, settledAfterMs: 100 }
const options = (to: Gateway, name = 'terminal') => ({ name, where: async () => to.at, patience })
const question = (text: string, json = false) => ({ text, json, gone: null })

const answers =
  (text: string, ok = true): Script =>
  ({ type, id }, peer) => {
    if (type === 'message') peer.say({ type: 'accepted', id }, { type: 'final', id, text, ok })
  }

test('a question is sent with the token and the conversation, and the answer goes to stdout', async () => {
  const to = await gateway(answers('Hello back'))
  const terminal = fakeTerminal()
  expect(await ask(question('hello'), options(to, 'work'), terminal)).toBe(0)
  expect(to.heard).toEqual([{ type: 'message', id: expect.stringMatching(/^[\w-]{16,}$/), text: 'hello' }])
  expect(Object.fromEntries(to.addresses[0]?.searchParams ?? [])).toEqual({ token: 'tok en', conversation: 'work' })
  expect([terminal.out(), terminal.err()]).toEqual(['Hello back\n', ''])
  await vi.waitFor(() => expect(to.open()).toBe(0))
})

const streams: Script = ({ type, id }, peer) => {
  if (type !== 'message') return
  peer.say(
    { type: 'accepted', id },
    { type: 'waiting', id, position: 2 },
    { type: 'action', id, label: 'Read notes.md', phase: 'started' },
    { type: 'draft', id, text: 'One' },
    { type: 'draft', id: 'of someone else', text: 'Nothing for us' },
    { type: 'something new', id },
    { type: 'draft', id, text: 'One two\x1b[2J' },
    { type: 'final', id, text: 'One two\x1b[2J three', ok: true },
  )
}

test('on a terminal the answer grows, what goes on shows on stderr, and control characters do not get through', async () => {
  const terminal = fakeTerminal({ stdout: true, stderr: true })
  expect(await ask(question('go'), options(await gateway(streams)), terminal)).toBe(0)
  expect(terminal.out()).toBe('One two[2J three\n')
  for (const words of ['waiting, position 2', 'Read notes.md', 'writing']) expect(terminal.err()).toContain(words)
  expect(terminal.err().replace('\x1b8', '').endsWith('\r\x1b[K')).toBe(true)
})

test('into a pipe goes the final text only, untouched', async () => {
  const terminal = fakeTerminal()
  expect(await ask(question('go'), options(await gateway(streams)), terminal)).toBe(0)
  expect([terminal.out(), terminal.err()]).toEqual(['One two\x1b[2J three\n', ''])
})

test('--json is one object, also when it was refused', async () => {
  const terminal = fakeTerminal({ stdout: true })
  const to = await gateway(streams)
  expect(await ask(question('go', true), options(to), terminal)).toBe(0)
  const id = to.heard[0]?.id
  expect(JSON.parse(terminal.out())).toEqual({ id, conversation: 'terminal', text: 'One two\x1b[2J three', ok: true })

  const refusing = await gateway(({ id }, peer) => peer.say({ type: 'refused', id, reason: 'busy, try again later' }))
  const other = fakeTerminal()
  expect(await ask(question('go', true), options(refusing), other)).toBe(1)
  expect(JSON.parse(other.out())).toMatchObject({ text: 'busy, try again later', ok: false })
})

test('a failed answer and a refusal go to stderr and exit with 1', async () => {
  const failing = fakeTerminal()
  expect(await ask(question('go'), options(await gateway(answers('It timed out.', false))), failing)).toBe(1)
  expect([failing.out(), failing.err()]).toEqual(['', 'It timed out.\n'])

  const refused = fakeTerminal()
  const to = await gateway(({ id }, peer) => peer.say({ type: 'refused', id, reason: 'busy, try again later' }))
  expect(await ask(question('go'), options(to), refused)).toBe(1)
  expect(refused.err()).toBe('aetheel: refused: busy, try again later\n')
})

test('Ctrl-C stops the turn and waits for its end; pressed twice it leaves with 130', async () => {
  const begins: Script = ({ type, id }, peer) =>
    peer.say(type === 'stop' ? { type: 'final', id: asked, text: 'Stopped.', ok: false } : { type: 'accepted', id })
  let asked = ''
  const to = await gateway((frame, peer, visit) => {
    if (frame.type === 'message') asked = frame.id
    begins(frame, peer, visit)
  })
  const once = fakeTerminal()
  const stopped = ask(question('go'), options(to), once)
  await vi.waitFor(() => expect(to.heard).toHaveLength(1))
  await sleep(50)
  once.ctrlC()
  expect(await stopped).toBe(1)
  expect(once.err()).toBe('Stopped.\n')
  expect(to.heard.map(frame => frame.type)).toEqual(['message', 'stop'])

  const deaf = await gateway(({ type, id }, peer) => {
    if (type === 'message') peer.say({ type: 'accepted', id })
  })
  const twice = fakeTerminal()
  const left = ask(question('go'), options(deaf), twice)
  await vi.waitFor(() => expect(deaf.heard).toHaveLength(1))
  await sleep(50)
  twice.ctrlC()
  twice.ctrlC()
  expect(await left).toBe(130)
})

test('Ctrl-C on a message that waits takes it back and leaves the running turn of others alone', async () => {
  const to = await gateway(({ type, id }, peer) => {
    if (type === 'message') peer.say({ type: 'accepted', id }, { type: 'waiting', id, position: 1 })
    if (type === 'cancel') peer.say({ type: 'refused', id, reason: 'cancelled' })
  })
  const terminal = fakeTerminal()
  const taken = ask(question('go'), options(to), terminal)
  await vi.waitFor(() => expect(to.heard).toHaveLength(1))
  await sleep(50)
  terminal.ctrlC()
  expect(await taken).toBe(1)
  expect(to.heard.map(frame => frame.type)).toEqual(['message', 'cancel'])
})

test('a message that was not accepted is said again under the same id, an accepted one is not', async () => {
  let first = ''
  const to = await gateway(
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
  const before = await gateway(({ id }, peer) => {
    at = null
    peer.say({ type: 'accepted', id })
    peer.drop(1001)
  })
  const heard: Heard[] = []
  let at: Running | null = before.at
  const conversation = openConversation({ name: 'c', where: async () => at, patience }, what => heard.push(what))
  conversation.say('m1', 'hi')
  await vi.waitFor(() => expect(heard.at(-1)).toEqual({ type: 'disconnected' }))
  const after = await gateway(
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

test('a stop that was wanted while the gateway was away is sent on return', async () => {
  const to = await gateway(({ type, id }, peer) => {
    if (type === 'message') peer.say({ type: 'accepted', id })
  })
  let away = true
  const conversation = openConversation({ name: 'c', where: async () => (away ? null : to.at), patience }, () => {})
  conversation.say('m1', 'hi')
  conversation.stop()
  away = false
  await vi.waitFor(() => expect(to.heard.map(frame => frame.type)).toEqual(['message', 'stop']))
  await conversation.close()
})

test('a gateway that does not come back is given up on, in plain words', async () => {
  const terminal = fakeTerminal()
  expect(await ask(question('go'), { name: 'c', where: async () => null, patience }, terminal)).toBe(1)
  expect(terminal.err()).toMatch(/^aetheel: lost: the gateway did not come back within/)
})

test('one that greets and hangs up, again and again, is given up on too', async () => {
  const terminal = fakeTerminal()
  const to = await gateway(
    () => {},
    peer => peer.drop(1011),
  )
  expect(await ask(question('go'), options(to), terminal)).toBe(1)
  expect(terminal.err()).toContain('did not come back')
})

test('a message too long for the gateway is refused instead of sent for ever', async () => {
  const terminal = fakeTerminal()
  const to = await gateway((_, peer) => peer.drop(1009))
  expect(await ask(question('go'), options(to), terminal)).toBe(1)
  expect(terminal.err()).toContain('refused: the message is too long')
  expect(to.heard).toHaveLength(1)
})

test('an answer to an earlier message is shown on a terminal and not taken for ours', async () => {
  const terminal = fakeTerminal({ stderr: true })
  const to = await gateway(answers('mine'), peer =>
    peer.say({ type: 'final', id: 'older', text: 'late words', ok: true }),
  )
  expect(await ask(question('go'), options(to), terminal)).toBe(0)
  expect(terminal.err()).toContain('(the answer to an earlier message)\nlate words')
  expect(terminal.out()).toBe('mine\n')
})

test('when the gateway inside this process stops, so does the question', async () => {
  const to = await gateway(() => {})
  const terminal = fakeTerminal()
  expect(await ask({ text: 'go', json: false, gone: sleep(50) }, options(to), terminal)).toBe(1)
  expect(terminal.err()).toContain('the gateway inside this process stopped')
})

// ---- the whole command ----

function portsTo(to: Gateway, running: boolean) {
  const seen = { embedded: 0, ended: false }
  const ports: CliPorts = {
    start: async () => 0,
    find: async () => (running ? to.at : null),
    async embed(_, signal) {
      seen.embedded++
      const closed = sleep(60_000, undefined, { signal, ref: false }).catch(() => {
        seen.ended = true
      })
      return { ...to.at, closed }
    },
    config: async () => ({ ok: true, values: [], warnings: [] }),
    initConfig: async () => ({ path: '', created: false }),
  }
  return { ports, seen }
}
const chatOptions = (text: string) => ({ text, conversation: 'terminal', json: false, flags: {} })

test('text and piped text are joined; either alone will do', async () => {
  const to = await gateway(answers('ok'))
  const { ports, seen } = portsTo(to, true)
  for (const [text, piped] of [
    ['review this', 'a diff\n'],
    ['', 'only piped\n'],
    ['only text', ''],
  ] as const) {
    const terminal = fakeTerminal()
    terminal.stdin.end(piped)
    expect(await chat(ports, terminal, chatOptions(text))).toBe(0)
  }
  expect(to.heard.map(frame => frame.text)).toEqual(['review this\n\na diff', 'only piped', 'only text'])
  expect(seen.embedded).toBe(0)
})

test('a stdin that is open and silent does not hold a question up for ever', async () => {
  const terminal = fakeTerminal()
  expect(await readPiped(terminal, true, 50)).toBe('')
  expect(terminal.err()).toContain('nothing came on stdin')
  const slow = fakeTerminal()
  setTimeout(() => slow.stdin.write('half, '), 20)
  setTimeout(() => slow.stdin.end('whole'), 120)
  expect(await readPiped(slow, true, 60)).toBe('half, whole')
})

test('without a running gateway one is brought up inside and taken down again', async () => {
  const { ports, seen } = portsTo(await gateway(answers('from inside')), false)
  const terminal = fakeTerminal({ stdin: true })
  expect(await chat(ports, terminal, chatOptions('hi'))).toBe(0)
  expect(terminal.out()).toBe('from inside\n')
  expect(seen).toEqual({ embedded: 1, ended: true })
})
