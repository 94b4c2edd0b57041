// The owner's desks with the whole program: a gateway that runs is asked, one that does not is opened.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exitOf, type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, runCommand, token } from '../harness/gateway.ts'

async function aetheel(home: TemporaryHome, ...args: string[]) {
  const run = runCommand(home, args, { TZ: 'UTC' })
  const code = await exitOf({ exit: run.exit, output: () => run.stdout() + run.stderr() })
  return { code, out: run.stdout(), err: run.stderr() }
}

async function talk({ url }: RunningGateway, conversation: string, id: string, text: string): Promise<void> {
  const client = await connect(url, conversation)
  client.say(id, text)
  await client.final(id)
  await client.close()
}

test('sessions are listed and cleared with the gateway and without it, and what was said is not handed on', async () => {
  await using home = await temporaryHome()
  expect(await aetheel(home, 'sessions', 'list')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no gateway has run in'),
  })

  const first = await home.start()
  for (const conversation of ['a', 'b', 'c']) await talk(first, conversation, 'm1', `secret of ${conversation}`)
  const { out } = await aetheel(home, 'sessions', 'list')
  expect(out).toMatch(/^CONVERSATION +BACKEND +LAST USED +WAITING +SESSION\nwebchat:c +claude +.* UTC +- +\S+\n/)
  expect(await aetheel(home, 'sessions', 'clear', 'webchat:a')).toMatchObject({
    code: 0,
    out: expect.stringContaining('webchat:a'),
  })
  expect((await aetheel(home, 'sessions', 'clear')).out).toBe('There is nothing to clear.\n')
  await talk(first, 'a', 'm2', 'and now?')
  await first.stop()

  const lanes = async () =>
    JSON.parse((await aetheel(home, 'sessions', 'list', '--json')).out).map((one: { lane: string }) => one.lane)
  expect(await lanes()).toEqual(['webchat:a', 'webchat:c', 'webchat:b'])
  expect((await aetheel(home, 'sessions', 'clear', 'b')).code).toBe(0)
  expect(Object.keys(JSON.parse(await readFile(join(home.configDir, 'sessions.json'), 'utf8'))).sort()).toEqual([
    'webchat:a',
    'webchat:c',
  ])
  expect((await aetheel(home, 'sessions', 'clear', 'nobody')).code).toBe(1)

  const second = await home.start()
  await talk(second, 'b', 'm2', 'and now?')
  await talk(second, 'c', 'm2', 'and now?')
  expect((await aetheel(home, 'sessions', 'clear', '--all')).out).toContain('3 conversations will begin anew')
  expect(await lanes()).toEqual([])
  await second.stop()

  const begun = home.begun()
  const [a1, , c1, a2, b2, c2] = begun
  expect(a2).toMatchObject({ resumed: false })
  expect(a2?.session).not.toBe(a1?.session)
  expect([a2?.prompt, b2?.prompt].join()).not.toContain('secret')
  expect(b2).toMatchObject({ resumed: false })
  expect(c2).toMatchObject({ resumed: true, session: c1?.session })
})

test('without a gateway jobs are edited in their files, and its API has no door without the token', async () => {
  await using home = await temporaryHome()
  expect(await aetheel(home, 'cron', 'list')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no gateway has run in'),
  })
  const gateway = await home.start()
  for (const path of ['/api/sessions', '/api/jobs', '/api/memory'])
    expect((await fetch(`${gateway.url}${path}`, { method: 'POST', body: '{"clear":"all"}' })).status).not.toBe(200)
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`${gateway.url}/api/sessions`, { headers })).status).toBe(200)
  await gateway.stop()

  const added = await aetheel(home, 'cron', 'add', 'tea', 'every weekday at 9:00', 'Make tea.', '--timezone', 'UTC')
  expect(added).toMatchObject({ code: 0, err: '' })
  expect(added.out.match(/ 20\d\d-\d\d-\d\d 09:00 UTC$/gm)).toHaveLength(3)
  expect(await readFile(join(home.configDir, 'agents.md'), 'utf8')).toContain('### tea')
  expect((await aetheel(home, 'cron', 'pause', 'tea')).code).toBe(0)
  expect((await aetheel(home, 'cron', 'list')).out).toMatch(/^tea +.* paused +never +default$/m)
  expect(await aetheel(home, 'cron', 'run', 'tea')).toMatchObject({
    code: 1,
    err: expect.stringContaining('no gateway runs'),
  })
  expect((await aetheel(home, 'cron', 'add', 'tea', 'now and then', 'x')).err).toMatch(/^aetheel: .*now and then/)
  expect((await aetheel(home, 'cron', 'resume', 'tea')).code).toBe(0)
  expect((await aetheel(home, 'cron', 'remove', 'tea')).code).toBe(0)
  expect(await readFile(join(home.configDir, 'agents.md'), 'utf8')).not.toContain('tea')
})
