// One question over a real WebSocket, to a server that follows a script.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { answers, littlePatience, type Script, scriptedGateway } from '../../../../test/fakes/scripted-gateway.ts'
import { fakeTerminal } from '../../../../test/fakes/terminal.ts'
import type { Running } from '../ports.ts'
import { ask } from './ask.ts'

const options = (to: { readonly at: Running }, name = 'terminal') => ({
  name,
  where: async () => to.at,
  patience: littlePatience,
})
const question = (text: string, json = false) => ({ text, json, gone: null })

test('a question is sent with the token and the conversation, and the answer goes to stdout', async () => {
  const to = await scriptedGateway(answers('Hello back'))
  const terminal = fakeTerminal()
  expect(await ask(question('hello'), options(to, 'work'), terminal)).toBe(0)
  expect(to.heard).toEqual([{ type: 'message', id: expect.stringMatching(/^[\w-]{16,}$/), text: 'hello' }])
  expect(Object.fromEntries(to.addresses[0]?.searchParams ?? [])).toEqual({
    token: 'tok en',
    conversation: 'work',
    drafts: 'delta',
  })
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

test('on a terminal the answer streams, progress is on stderr, and control characters are removed', async () => {
  const terminal = fakeTerminal({ stdout: true, stderr: true })
  expect(await ask(question('go'), options(await scriptedGateway(streams)), terminal)).toBe(0)
  expect(terminal.out()).toBe('One two[2J three\n')
  for (const words of ['waiting, position 2', 'Read notes.md', 'writing']) expect(terminal.err()).toContain(words)
  expect(terminal.err().replace('\x1b8', '').endsWith('\r\x1b[K')).toBe(true)
})

test('a pipe gets only the final text, unchanged', async () => {
  const terminal = fakeTerminal()
  expect(await ask(question('go'), options(await scriptedGateway(streams)), terminal)).toBe(0)
  expect([terminal.out(), terminal.err()]).toEqual(['One two\x1b[2J three\n', ''])
})

test('an answer that arrives in parts is joined, and one that starts over begins on a new line', async () => {
  const terminal = fakeTerminal({ stdout: true })
  const to = await scriptedGateway(
    ({ id }, peer, visit) => {
      if (visit > 1) return
      peer.say({ type: 'accepted', id }, { type: 'draft', id, text: '' }, { type: 'draft', id, from: 0, text: 'One' })
      peer.say({ type: 'draft', id, from: 3, text: ' two' })
      asked = id
      peer.drop(1001)
    },
    (peer, visit) => {
      if (visit === 1) return
      peer.say(
        { type: 'draft', id: asked, text: 'One two three' },
        { type: 'draft', id: asked, from: 13, text: ' four' },
      )
      peer.say({ type: 'final', id: asked, text: 'One two three four', ok: true })
    },
  )
  let asked = ''
  expect(await ask(question('go'), options(to), terminal)).toBe(0)
  expect(terminal.out()).toBe('One two three four\n')
})

test('--json prints one object, also for a refusal', async () => {
  const terminal = fakeTerminal({ stdout: true })
  const to = await scriptedGateway(streams)
  expect(await ask(question('go', true), options(to), terminal)).toBe(0)
  const id = to.heard[0]?.id
  expect(JSON.parse(terminal.out())).toEqual({ id, conversation: 'terminal', text: 'One two\x1b[2J three', ok: true })

  const refusing = await scriptedGateway(({ id }, peer) =>
    peer.say({ type: 'refused', id, reason: 'busy, try again later' }),
  )
  const other = fakeTerminal()
  expect(await ask(question('go', true), options(refusing), other)).toBe(1)
  expect(JSON.parse(other.out())).toMatchObject({ text: 'busy, try again later', ok: false })
})

test('a failed answer and a refusal go to stderr and exit with 1', async () => {
  const failing = fakeTerminal()
  expect(await ask(question('go'), options(await scriptedGateway(answers('It timed out.', false))), failing)).toBe(1)
  expect([failing.out(), failing.err()]).toEqual(['', 'It timed out.\n'])

  const refused = fakeTerminal()
  const to = await scriptedGateway(({ id }, peer) => peer.say({ type: 'refused', id, reason: 'busy, try again later' }))
  expect(await ask(question('go'), options(to), refused)).toBe(1)
  expect(refused.err()).toBe('aetheel: refused: busy, try again later\n')
})

test('Ctrl-C stops the turn and waits for its end; pressed twice it exits with 130', async () => {
  const begins: Script = ({ type, id }, peer) =>
    peer.say(type === 'stop' ? { type: 'final', id: asked, text: 'Stopped.', ok: false } : { type: 'accepted', id })
  let asked = ''
  const to = await scriptedGateway((frame, peer, visit) => {
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

  const deaf = await scriptedGateway(({ type, id }, peer) => {
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

test('the text of a stopped turn is printed once, with the note', async () => {
  const stops: Script = ({ type, id }, peer) => {
    if (type !== 'message') return
    peer.say({ type: 'accepted', id }, { type: 'draft', id, text: 'One two' })
    peer.say({ type: 'final', id, text: 'One two three\n\n*Stopped.*', ok: false })
  }
  const terminal = fakeTerminal({ stdout: true })
  expect(await ask(question('go'), options(await scriptedGateway(stops)), terminal)).toBe(1)
  expect([terminal.out(), terminal.err()]).toEqual(['One two three\n', 'Stopped.\n'])
  const piped = fakeTerminal()
  expect(await ask(question('go'), options(await scriptedGateway(stops)), piped)).toBe(1)
  expect([piped.out(), piped.err()]).toEqual(['', 'One two three\nStopped.\n'])
})

test('Ctrl-C cancels a waiting message and leaves the running turn of others alone', async () => {
  const to = await scriptedGateway(({ type, id }, peer) => {
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

test('Ctrl-C on a message that turns out to be running already stops it', async () => {
  let asked = ''
  const to = await scriptedGateway(({ type, id }, peer) => {
    if (type === 'message') {
      asked = id
      peer.say({ type: 'accepted', id }, { type: 'waiting', id, position: 1 })
    }
    if (type === 'cancel') peer.say({ type: 'action', id, label: 'too late to change', phase: 'failed' })
    if (type === 'stop') peer.say({ type: 'final', id: asked, text: 'Stopped.', ok: false })
  })
  const terminal = fakeTerminal()
  const stopped = ask(question('go'), options(to), terminal)
  await vi.waitFor(() => expect(to.heard).toHaveLength(1))
  await sleep(50)
  terminal.ctrlC()
  expect(await stopped).toBe(1)
  expect(to.heard.map(frame => frame.type)).toEqual(['message', 'cancel', 'stop'])
})

test('an answer to an earlier message is shown on a terminal and not taken for ours', async () => {
  const terminal = fakeTerminal({ stderr: true })
  const to = await scriptedGateway(answers('mine'), peer =>
    peer.say({ type: 'final', id: 'older', text: 'late words\n\n*Stopped.*', ok: false }),
  )
  expect(await ask(question('go'), options(to), terminal)).toBe(0)
  expect(terminal.err()).toContain('(the answer to an earlier message)\nlate words\n\nStopped.\n')
  expect(terminal.out()).toBe('mine\n')
})

test('an earlier message that is answered while ours waits is shown too', async () => {
  const terminal = fakeTerminal({ stderr: true })
  const to = await scriptedGateway(({ id }, peer) =>
    peer.say(
      { type: 'accepted', id },
      { type: 'waiting', id, position: 1 },
      { type: 'final', id: 'older', text: 'late words', ok: true },
      { type: 'final', id, text: 'mine', ok: true },
    ),
  )
  expect(await ask(question('go'), options(to), terminal)).toBe(0)
  expect(terminal.err()).toContain('(the answer to an earlier message)\nlate words')
  expect(terminal.out()).toBe('mine\n')
})

test('when the temporary gateway stops, the question ends too', async () => {
  const to = await scriptedGateway(() => {})
  const terminal = fakeTerminal()
  expect(await ask({ text: 'go', json: false, gone: sleep(50) }, options(to), terminal)).toBe(1)
  expect(terminal.err()).toContain('the gateway inside this process stopped')
})
