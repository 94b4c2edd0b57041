// Words in the middle of a turn, commands about turns, and questions of the agent, over WebChat.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { type Client, connect } from '../harness/client.ts'
import { asked, decide, requestsOf } from '../harness/requests.ts'

const callsOf = (...calls: readonly object[]) => `[[calls:${Buffer.from(JSON.stringify(calls)).toString('base64url')}]]`
const ask = (question: string, options?: readonly string[]) =>
  callsOf({ tool: 'ask_user', args: { question, ...(options && { options }) } })

const said = (client: Client, id: string, text: string) => {
  client.say(id, text)
  return client.final(id)
}

test('/steer tells the running turn something, and the message has its own end', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'steer')
  client.say('1', 'look around [[listen:8000]]')
  await eventually('it listens', () => home.begun().length === 1)
  client.say('2', '/steer mind the gap')
  expect((await client.final('1')).text).toContain('heard')
  expect((await client.final('1')).text).toContain('mind the gap')
  expect((await client.final('2')).ok).toBe(true)
  expect(home.begun()).toHaveLength(1)
  expect(await unaccounted(gateway)).toBe(0)
  await client.close()
})

test('with QUEUE_MODE=steer every message goes to the running turn; without it, the message waits', async () => {
  await using home = await temporaryHome()
  const steering = await home.start({ QUEUE_MODE: 'steer' })
  const client = await connect(steering.url, 'mode')
  client.say('1', 'look around [[listen:8000]]')
  await eventually('it listens', () => home.begun().length === 1)
  client.say('2', 'mind the gap')
  expect((await client.final('1')).text).toContain('mind the gap')
  await client.final('2')
  expect(home.begun()).toHaveLength(1)
  await client.close()
  await steering.stop()

  const waiting = await home.start()
  const other = await connect(waiting.url, 'waits')
  other.say('1', 'look around [[listen:500]]')
  other.say('2', 'mind the gap')
  expect((await other.final('1')).text).not.toContain('mind the gap')
  expect((await other.final('2')).text).toContain('mind the gap')
  await other.close()
})

test('/retry sends the last message once more, /continue goes on after a stop', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'again')
  await said(client, '1', 'the first')
  expect((await said(client, '2', '/retry')).text).toBe('turn 2: the first')
  client.say('3', 'I never end [[hang]]')
  await eventually('it runs', () => home.begun().length === 3)
  client.say('4', '/stop')
  expect((await client.final('3')).ok).toBe(false)
  expect((await said(client, '5', '/continue')).text).toContain('Continue where you stopped.')
  await client.close()
})

test('/mode and /plan change what is asked for in one conversation', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ ALLOWED_TOOLS: 'Bash', ASK_TOOLS: 'none' })
  const file = (name: string) => join(home.dir, name)
  const client = await connect(gateway.url, 'mode')
  await said(client, '1', `[[ask:Bash:touch ${file('bypass')}]]`)
  expect(existsSync(file('bypass'))).toBe(true)
  expect((await said(client, '2', '/mode acceptEdits')).text).toContain('acceptEdits (for this conversation)')
  client.say('3', `[[ask:Bash:touch ${file('asked')}]]`)
  const { id } = await asked(gateway, file('asked'))
  await decide(gateway, id, { allow: false, message: '' })
  await client.final('3')
  expect(existsSync(file('asked'))).toBe(false)
  expect((await said(client, '4', '/plan')).text).toContain('plan (for this conversation)')
  await said(client, '5', 'make a plan')
  const args = home.journal().findLast(({ what }) => what === 'begin')?.args as readonly string[]
  expect(args.join(' ')).toMatch(/--permission-mode[ =]plan/)
  await said(client, '6', '/mode default')
  await said(client, '7', `[[ask:Bash:touch ${file('again')}]]`)
  expect(existsSync(file('again'))).toBe(true)
  await client.close()
})

test('ask_user: answered in time, the tool returns the answer', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const client = await connect(gateway.url, 'question')
  client.say('1', ask('Which disk?', ['left', 'right']))
  const { id } = await asked(gateway, 'Which disk?')
  expect(await decide(gateway, id, { allow: true, answers: { 'Which disk?': 'right' } })).toBe(200)
  await client.final('1')
  const called = home.journal().find(({ what }) => what === 'called')
  expect(String(called?.answer)).toContain('The answer: right')
  await client.close()
})

test('ask_user: answered after its turn has ended, the answer arrives as a message, once', async () => {
  await using home = await temporaryHome()
  const first = await home.start()
  const before = await connect(first.url, 'late')
  before.say('1', ask('Which disk?'))
  const { id } = await asked(first, 'Which disk?')
  before.say('2', '/stop')
  await before.final('1')
  await before.close()
  await first.stop()

  const second = await home.start()
  expect((await requestsOf(second)).map(one => one.id)).toEqual([id])
  expect(await decide(second, id, { allow: true, answers: { 'Which disk?': 'the left one' } })).toBe(200)
  expect(await decide(second, id, { allow: true, answers: { 'Which disk?': 'the right one' } })).toBe(409)
  await eventually('it is told', () => home.begun().length === 2)
  expect(home.begun()[1]?.prompt).toContain('the left one')
  await second.stop()
  await home.start()
  expect(home.begun()).toHaveLength(2)
})
