// An interactive session, key by key, with a scripted WebSocket server.
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect, test, vi } from 'vitest'
import { littlePatience, type Peer, scriptedGateway } from '../../../../test/fakes/scripted-gateway.ts'
import { type FakeTerminal, fakeTerminal } from '../../../../test/fakes/terminal.ts'
import type { Running } from '../ports.ts'
import { talk } from './session.ts'

const options = (to: { readonly at: Running }) => ({
  name: 'terminal',
  where: async () => to.at,
  patience: littlePatience,
})

const type = (terminal: FakeTerminal, keys: string) => terminal.stdin.write(keys)
/** Roughly what stays on the screen, without overwritten rows. */
const said = (terminal: FakeTerminal) => stripVTControlCharacters(terminal.out())

test('a session answers line by line, shows when a message waits, and ends with /quit', async () => {
  const pending: { id: string; peer: Peer }[] = []
  const to = await scriptedGateway(({ id, type: kind }, peer) => {
    if (kind !== 'message') return
    peer.say({ type: 'accepted', id })
    if (pending.push({ id, peer }) > 1) peer.say({ type: 'waiting', id, position: pending.length - 1 })
  })
  const terminal = fakeTerminal({ stdin: true, stdout: true, stderr: true })
  const over = talk(options(to), terminal, null)
  type(terminal, 'first\r')
  await vi.waitFor(() => expect(to.heard).toHaveLength(1))
  type(terminal, 'second\r')
  await vi.waitFor(() => expect(said(terminal)).toContain('waiting, position 1'))
  expect(to.heard.map(frame => frame.text)).toEqual(['first', 'second'])
  for (const [i, { id, peer }] of pending.entries()) {
    peer.say({ type: 'draft', id, text: `answer ${i}` }, { type: 'final', id, text: `answer ${i}, whole`, ok: true })
  }
  await vi.waitFor(() => expect(said(terminal)).toMatch(/↳ first.*answer 0, whole\n.*↳ second.*answer 1, whole\n/s))
  type(terminal, '\r/quit\r')
  expect(await over).toBe(0)
  expect(to.heard).toHaveLength(2)
})

test('in a session Ctrl-C stops the running turn; pressed again on an empty prompt it exits', async () => {
  let asked = ''
  const to = await scriptedGateway(({ id, type: kind }, peer) => {
    if (kind === 'message') asked = id
    peer.say(kind === 'stop' ? { type: 'final', id: asked, text: 'Stopped.', ok: false } : { type: 'accepted', id })
  })
  const terminal = fakeTerminal({ stdin: true, stdout: true })
  const over = talk(options(to), terminal, null)
  type(terminal, 'go\r')
  await vi.waitFor(() => expect(to.heard).toHaveLength(1))
  type(terminal, '\x03')
  await vi.waitFor(() => expect(said(terminal)).toContain('Stopped.'))
  expect(to.heard.map(frame => frame.type)).toEqual(['message', 'stop'])
  type(terminal, '\x03')
  expect(await over).toBe(0)
})

test('a stopped answer is not printed again, and its note has no asterisks', async () => {
  let asked = ''
  const to = await scriptedGateway(({ id, type: kind }, peer) => {
    if (kind === 'message') {
      asked = id
      peer.say({ type: 'accepted', id }, { type: 'draft', id, text: 'first line\none tw' })
    } else peer.say({ type: 'final', id: asked, text: 'first line\none two\n\n*Stopped.*', ok: false })
  })
  const terminal = fakeTerminal({ stdin: true, stdout: true })
  const over = talk(options(to), terminal, null)
  type(terminal, 'go\r')
  await vi.waitFor(() => expect(said(terminal)).toContain('one tw'))
  type(terminal, '\x03')
  await vi.waitFor(() => expect(said(terminal)).toMatch(/one two\n.*Stopped\.\n/s))
  type(terminal, '\x04')
  expect(await over).toBe(0)
  expect(said(terminal).match(/first line/g)).toHaveLength(1)
  expect(said(terminal)).not.toContain('*')
})

const visited = (id: string, question: string, answer: string) => [
  { id, role: 'user', text: question, state: 'answered' },
  { id, role: 'agent', text: answer, state: 'answered' },
]

test('a waiting delivery is shown once, below its question, after the earlier messages', async () => {
  const to = await scriptedGateway(
    () => {},
    peer =>
      peer.say(
        { type: 'final', id: 'b', text: 'the late answer', ok: true },
        {
          type: 'history',
          messages: [...visited('a', 'older?', 'old\n\n*Stopped.*'), ...visited('b', 'late?', 'the late answer')],
        },
      ),
  )
  const terminal = fakeTerminal({ stdin: true, stdout: true })
  const over = talk(options(to), terminal, null)
  await vi.waitFor(() => expect(said(terminal)).toMatch(/› older\?\n.*old Stopped\.\n.*↳ late\?\n.*the late answer\n/s))
  type(terminal, '\x04')
  expect(await over).toBe(0)
  expect(said(terminal).match(/late\?/g)).toHaveLength(1)
  expect(said(terminal).match(/the late answer/g)).toHaveLength(1)
})

test('a delivery without history is shown when the session ends', async () => {
  const to = await scriptedGateway(
    () => {},
    peer => peer.say({ type: 'final', id: 'b', text: 'the late answer', ok: true }),
  )
  const terminal = fakeTerminal({ stdin: true, stdout: true })
  const over = talk(options(to), terminal, null)
  await vi.waitFor(() => expect(to.open()).toBe(1))
  await sleep(50)
  type(terminal, '/quit\r')
  expect(await over).toBe(0)
  expect(said(terminal)).toContain('the late answer')
})

test('/help says how to quit, and asks the gateway for its commands', async () => {
  const to = await scriptedGateway(({ id, text }, peer) => {
    if (text === '/help') peer.say({ type: 'accepted', id }, { type: 'final', id, text: '- `/brew`: Tea.', ok: true })
  })
  const terminal = fakeTerminal({ stdin: true, stdout: true })
  const over = talk(options(to), terminal, null)
  type(terminal, '/help\r/model opus\r')
  await vi.waitFor(() => expect(to.heard.map(frame => frame.text)).toEqual(['/help', '/model opus']))
  await vi.waitFor(() => expect(said(terminal)).toContain('/brew'))
  for (const command of ['/quit', '/exit', 'Ctrl-C']) expect(said(terminal)).toContain(command)
  expect(said(terminal)).not.toContain('/usage')
  type(terminal, '/exit\r')
  expect(await over).toBe(0)
})

test('a session ends with Ctrl-D, and with 1 when the gateway is lost', async () => {
  const terminal = fakeTerminal({ stdin: true, stdout: true })
  const over = talk(options(await scriptedGateway(() => {})), terminal, null)
  type(terminal, '\x04')
  expect(await over).toBe(0)

  const lonely = fakeTerminal({ stdin: true, stdout: true })
  expect(await talk({ name: 'c', where: async () => null, patience: littlePatience }, lonely, null)).toBe(1)
  expect(said(lonely)).toContain('did not come back')
})
