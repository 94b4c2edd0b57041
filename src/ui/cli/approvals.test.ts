// approvals as a person types them: at a running gateway, over its real API, and without one.
import { afterEach, describe, expect, test } from 'vitest'
import { noPorts } from '../../../test/fakes/ports.ts'
import { askedCommand, askedEdit, askedQuestions, fakeRequests, someRequest } from '../../../test/fakes/requests.ts'
import { fakeTerminal } from '../../../test/fakes/terminal.ts'
import { closeAll, open, token } from '../http/server.rig.ts'
import { runCli } from './index.ts'
import type { CliPorts } from './ports.ts'

afterEach(closeAll)

const ways = {
  async running(requests: ReturnType<typeof fakeRequests>): Promise<Partial<CliPorts>> {
    const { url } = await open({ admin: { requests } })
    return {
      find: async () => ({ pid: 7, url, token }),
      approvals: async () => Promise.reject(new Error('opened although a gateway runs')),
    }
  },
  async stopped({ list, find, decide }: ReturnType<typeof fakeRequests>): Promise<Partial<CliPorts>> {
    return {
      approvals: async () => ({
        list: async which => list(which),
        find: async id => find(id),
        decide: async (id, decision) => decide(id, decision, 'owner'),
        close: async () => undefined,
      }),
    }
  },
}

describe.each(Object.keys(ways) as (keyof typeof ways)[])('the gateway is %s', way => {
  const setup = async () => {
    const requests = fakeRequests(() => undefined)
    const ports = await ways[way](requests)
    const say = async (...args: string[]) => {
      const terminal = fakeTerminal()
      const code = await runCli(['approvals', ...args], { ...noPorts(), ...ports }, terminal, '1.2.3')
      return { code, out: terminal.out(), err: terminal.err() }
    }
    return { requests, say }
  }

  test('list shows what waits, with all also what has ended', async () => {
    const { requests, say } = await setup()
    expect((await say('list')).out).toBe('Nothing is waiting for an answer.\n')
    requests.put(someRequest())
    requests.put(someRequest({ id: 2, ask: askedCommand('git push') }))
    await requests.decide(2, { allow: true }, 'ada')
    const { out, code } = await say('list')
    expect(code).toBe(0)
    expect(out).toContain('npm test -- --run')
    expect(out).not.toContain('git push')
    expect((await say('list', '--all')).out).toMatch(/allowed once by ada +git push/)
    expect(JSON.parse((await say('list', '--json')).out)).toMatchObject([{ id: 1, state: 'open' }])
  })

  test('show prints the whole command with invisible characters made visible, and how to answer', async () => {
    const { requests, say } = await setup()
    const long = Array.from({ length: 300 }, (_, i) => `echo ${i}`).join('\n')
    requests.put(someRequest({ ask: askedCommand(`${long}\nrm \u202e-rf \x1b[2K/`) }))
    const { out } = await say('show', '1')
    expect(out).toContain('    echo 299\n    rm \\u{202e}-rf \\u{1b}[2K/\n')
    for (const words of [
      'claude wants to run this command',
      '/space/garden',
      'for you',
      'Bash(npm test:*)',
      'approvals allow 1',
    ])
      expect(out).toContain(words)
    requests.put(someRequest({ id: 2, ask: askedEdit('a.ts', '@@ -1 +1 @@\n-old\n+new\n') }))
    expect((await say('show', '2')).out).toContain('    a.ts\n    @@ -1 +1 @@\n    -old\n    +new\n')
  })

  test('allow, always, deny with a reason, and answer reach the gateway', async () => {
    const { requests, say } = await setup()
    for (const id of [1, 2, 3]) requests.put(someRequest({ id }))
    requests.put(someRequest({ id: 4, ask: askedQuestions(['Which colour?', ['Green']], ['When?', []]) }))
    expect(await say('allow', '1')).toEqual({ code: 0, out: 'allowed once by owner: npm test -- --run\n', err: '' })
    expect((await say('allow', '2', '--always', 'project')).code).toBe(0)
    expect((await say('deny', '3', '--reason', 'Not now.')).out).toContain('denied by owner')
    expect((await say('answer', '4', 'Green')).err).toContain('It asks 2 questions')
    expect((await say('answer', '4', 'Green', 'on Monday')).code).toBe(0)
    expect(requests.decisions).toEqual([
      { id: 1, decision: { allow: true } },
      { id: 2, decision: { allow: true, always: 'project' } },
      { id: 3, decision: { allow: false, message: 'Not now.' } },
      { id: 4, decision: { allow: true, answers: { 'Which colour?': 'Green', 'When?': 'on Monday' } } },
    ])
  })

  test('what is late or unknown is said, with exit code 1, and as JSON', async () => {
    const { requests, say } = await setup()
    requests.put(someRequest())
    await requests.decide(1, { allow: false, message: '' }, 'ada')
    expect(await say('allow', '1')).toEqual({
      ...{ code: 1, out: '', err: 'aetheel: It has ended before: denied by ada.\n' },
    })
    expect((await say('show', '9')).err).toContain('There is no request 9')
    const { code, out } = await say('deny', '9', '--json')
    expect([code, JSON.parse(out)]).toEqual([1, { ok: false, why: expect.stringContaining('no request 9') }])
  })

  test('a wrong id or scope is a usage error', async () => {
    const { say } = await setup()
    expect((await say('allow', 'seven')).code).toBe(2)
    expect((await say('allow', '1', '--always', 'sometimes')).code).toBe(2)
  })
})
