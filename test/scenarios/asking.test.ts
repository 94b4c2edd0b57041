// The agent asks before it acts, over WebChat: what is allowed runs once, what is not allowed does not run.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, runCommand } from '../harness/gateway.ts'
import { asked, decide, ranIn, requestsOf } from '../harness/requests.ts'

describe('over WebChat', () => {
  let home: TemporaryHome
  let gateway: RunningGateway
  const file = (name: string) => join(home.dir, name)
  const isThere = (name: string) => existsSync(file(name))

  beforeAll(async () => {
    home = await temporaryHome()
    gateway = await home.start()
  })
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0)
    await home[Symbol.asyncDispose]()
  })

  test('nothing runs before the answer; what is allowed runs once, and the next use is asked for again', async () => {
    const client = await connect(gateway.url, 'once')
    client.say('1', `[[ask:Bash:echo one >> ${file('once')}]]`)
    const request = await asked(gateway, file('once'))
    expect(request).toMatchObject({ state: 'open', backend: 'claude', owner: true, ask: { use: { tool: 'Bash' } } })
    expect(isThere('once')).toBe(false)
    expect(await decide(gateway, request.id, { allow: true })).toBe(200)
    expect((await client.final('1')).ok).toBe(true)
    expect(readFileSync(file('once'), 'utf8')).toBe('one\n')
    expect(await decide(gateway, request.id, { allow: true })).toBe(409)
    client.say('2', `[[ask:Bash:echo one >> ${file('once')}]]`)
    const again = await asked(gateway, file('once'))
    expect(again.id).not.toBe(request.id)
    await decide(gateway, again.id, { allow: false, message: '' })
    await client.final('2')
    expect(readFileSync(file('once'), 'utf8')).toBe('one\n')
    await client.close()
  })

  test('all clients of the conversation see the request and its answer', async () => {
    const [one, other] = [await connect(gateway.url, 'two-tabs'), await connect(gateway.url, 'two-tabs')]
    one.say('1', `[[ask:Bash:touch ${file('tabs')}]]`)
    const { id } = await asked(gateway, file('tabs'))
    const stateOf = (state: string) => (frame: object) =>
      'request' in frame &&
      JSON.stringify(frame.request).includes(`"id":${id},`) &&
      JSON.stringify(frame.request).includes(`"state":"${state}"`)
    for (const client of [one, other]) await client.next(stateOf('open'))
    await decide(gateway, id, { allow: true })
    for (const client of [one, other]) await client.next(stateOf('allowed'))
    await one.final('1')
    expect(isThere('tabs')).toBe(true)
    for (const client of [one, other]) await client.close()
  })

  test('the words of a denial reach the agent, and nothing runs', async () => {
    const client = await connect(gateway.url, 'denied')
    client.say('1', `[[ask:Bash:touch ${file('denied')}]]`)
    await decide(gateway, (await asked(gateway, file('denied'))).id, { allow: false, message: 'use the other disk' })
    expect((await client.final('1')).text).toContain('use the other disk')
    expect(isThere('denied')).toBe(false)
    await client.close()
  })

  test('“always” adds a rule for this conversation: there it runs unasked, elsewhere it is asked for', async () => {
    const command = `touch ${file('always')}`
    const client = await connect(gateway.url, 'always')
    client.say('1', `[[ask:Bash:${command}]]`)
    const { id, rule } = await asked(gateway, file('always'))
    expect(rule).toBe(`Bash(${command})`)
    await decide(gateway, id, { allow: true, always: 'conversation' })
    await client.final('1')
    client.say('2', `again [[ask:Bash:${command}]]`)
    await client.final('2')
    expect(ranIn(home).filter(one => one === command)).toHaveLength(2)
    // What is chained to it is something else.
    client.say('3', `[[ask:Bash:${command} && touch ${file('chained')}]]`)
    const chained = await asked(gateway, file('chained'))
    await decide(gateway, chained.id, { allow: false, message: '' })
    await client.final('3')
    const other = await connect(gateway.url, 'not-always')
    other.say('1', `[[ask:Bash:${command}]]`)
    await decide(gateway, (await asked(gateway, command)).id, { allow: false, message: '' })
    await other.final('1')
    expect(ranIn(home).filter(one => one.includes(command))).toHaveLength(2)
    expect(isThere('chained')).toBe(false)
    for (const one of [client, other]) await one.close()
  })

  test('of two at once, each gets its own answer', async () => {
    const client = await connect(gateway.url, 'both')
    client.say('1', `[[askboth:touch ${file('left')}|touch ${file('right')}]]`)
    const [left, right] = [await asked(gateway, file('left')), await asked(gateway, file('right'))]
    await decide(gateway, right.id, { allow: true })
    await decide(gateway, left.id, { allow: false, message: 'not left' })
    expect((await client.final('1')).text).toContain('not left')
    expect([isThere('left'), isThere('right')]).toEqual([false, true])
    await client.close()
  })

  test('stopped while it asks: the request is withdrawn, a late answer changes nothing', async () => {
    const client = await connect(gateway.url, 'stopped')
    client.say('1', `[[ask:Bash:touch ${file('stopped')}]]`)
    const { id } = await asked(gateway, file('stopped'))
    client.say('2', '/stop')
    expect((await client.final('1')).ok).toBe(false)
    expect(await decide(gateway, id, { allow: true })).toBe(409)
    const all = await requestsOf(gateway, 'all')
    expect(all.find(one => one.id === id)).toMatchObject({ state: 'withdrawn' })
    client.say('3', 'go on')
    await client.final('3')
    expect(isThere('stopped')).toBe(false)
    await client.close()
  })

  test('a CLI that takes its question back, or ends while it asks, leaves no open request', async () => {
    const client = await connect(gateway.url, 'gone')
    client.say('1', `[[askgone:touch ${file('gone')}]]`)
    await client.final('1')
    client.say('2', `[[askdie:touch ${file('died')}]]`)
    await client.final('2', 60_000)
    const mine = (await requestsOf(gateway, 'all')).filter(({ lane }) => lane === 'webchat:gone')
    expect(mine.map(({ state }) => state)).not.toContain('open')
    expect([isThere('gone'), isThere('died')]).toEqual([false, false])
    await client.close()
  })

  test('`aetheel approvals` shows the whole command, with invisible characters made visible, and answers it', async () => {
    const client = await connect(gateway.url, 'cli')
    client.say('1', `[[ask:Bash:touch ${file('cli')} # \u202egpj]]`)
    const { id } = await asked(gateway, file('cli'))
    const shown = runCommand(home, ['approvals', 'show', String(id)])
    expect(await shown.exit).toBe(0)
    expect(shown.stdout()).toContain(`touch ${file('cli')}`)
    expect(shown.stdout()).not.toContain('\u202e')
    const denied = runCommand(home, ['approvals', 'deny', String(id), '--reason', 'not that'])
    expect(await denied.exit).toBe(0)
    expect((await client.final('1')).text).toContain('not that')
    expect(isThere('cli')).toBe(false)
    await client.close()
  })
})

const rules = (home: TemporaryHome, content: object) => {
  mkdirSync(home.configDir, { recursive: true })
  writeFileSync(join(home.configDir, 'permissions.json'), JSON.stringify(content))
}

test('the rules of permissions.json answer for the owner: allowed and denied without asking, and deny wins', async () => {
  await using home = await temporaryHome()
  const file = (name: string) => join(home.dir, name)
  rules(home, { allow: ['Bash(touch:*)'], deny: [`Bash(touch ${file('secret')}:*)`] })
  const gateway = await home.start()
  const client = await connect(gateway.url, 'rules')
  client.say('1', `[[ask:Bash:touch ${file('plain')}]]`)
  await client.final('1')
  client.say('2', `[[ask:Bash:touch ${file('secret')}]]`)
  expect((await client.final('2')).text).toContain('A rule of the user denies this')
  client.say('3', `[[ask:Bash:touch ${file('other')} && touch ${file('secret')}]]`)
  expect((await client.final('3')).text).toContain('A rule of the user denies this')
  expect(['plain', 'secret', 'other'].map(name => existsSync(file(name)))).toEqual([true, false, false])
  expect(await requestsOf(gateway, 'all')).toEqual([])
  await client.close()
})

test('while one conversation asks, its slot is free for the others', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ MAX_CONCURRENT_QUERIES: '1', BUSY: 'reject' })
  const [one, other] = [await connect(gateway.url, 'asks'), await connect(gateway.url, 'talks')]
  one.say('1', `[[ask:Bash:touch ${join(home.dir, 'x')}]]`)
  const { id } = await asked(gateway)
  other.say('1', 'meanwhile')
  expect(await other.final('1')).toMatchObject({ ok: true, text: 'turn 1: meanwhile' })
  await decide(gateway, id, { allow: true })
  expect((await one.final('1')).ok).toBe(true)
  expect(existsSync(join(home.dir, 'x'))).toBe(true)
  for (const client of [one, other]) await client.close()
})

test('nobody answers in time: it is denied, the agent is told, and neither silence nor ceiling ended the turn', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ APPROVAL_TIMEOUT: '4s', QUERY_TIMEOUT_MS: '1500', QUERY_MAX_MS: '2500' })
  const client = await connect(gateway.url, 'late')
  client.say('1', `[[ask:Bash:touch ${join(home.dir, 'x')}]]`)
  const final = await client.final('1', 40_000)
  expect(final).toMatchObject({ ok: true, text: expect.stringContaining('Nobody answered within 4 seconds') })
  expect((await requestsOf(gateway, 'all')).map(({ state }) => state)).toEqual(['expired'])
  expect(existsSync(join(home.dir, 'x'))).toBe(false)
  await client.close()
})
