// `aetheel chat`: what is sent, and to which gateway.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { noPorts } from '../../../../test/fakes/ports.ts'
import { answers, scriptedGateway } from '../../../../test/fakes/scripted-gateway.ts'
import { fakeTerminal } from '../../../../test/fakes/terminal.ts'
import type { CliPorts, Running } from '../ports.ts'
import { chat, readPiped } from './index.ts'

function portsTo(to: { readonly at: Running }, running: boolean) {
  const seen = { embedded: 0, ended: false }
  const ports: CliPorts = {
    ...noPorts(),
    find: async () => (running ? to.at : null),
    async embed(_, signal) {
      seen.embedded++
      const closed = sleep(60_000, undefined, { signal, ref: false }).catch(() => {
        seen.ended = true
      })
      return { ...to.at, closed }
    },
  }
  return { ports, seen }
}
const chatOptions = (text: string) => ({ text, conversation: 'terminal', json: false, flags: {} })

test('the argument and piped text are joined; either alone is enough', async () => {
  const to = await scriptedGateway(answers('ok'))
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

test('an open but silent stdin does not block a question forever', async () => {
  const terminal = fakeTerminal()
  expect(await readPiped(terminal, true, 50)).toBe('')
  expect(terminal.err()).toContain('nothing came on stdin')
  const slow = fakeTerminal()
  setTimeout(() => slow.stdin.write('half, '), 20)
  setTimeout(() => slow.stdin.end('whole'), 120)
  expect(await readPiped(slow, true, 60)).toBe('half, whole')
})

test('without a running gateway a temporary one is started and stopped again', async () => {
  const { ports, seen } = portsTo(await scriptedGateway(answers('from inside')), false)
  const terminal = fakeTerminal({ stdin: true })
  expect(await chat(ports, terminal, chatOptions('hi'))).toBe(0)
  expect(terminal.out()).toBe('from inside\n')
  expect(seen).toEqual({ embedded: 1, ended: true })
})
