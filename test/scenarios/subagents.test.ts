// A sub-agent from the command to the report, over the real socket, with the echo backend.
import { expect, test } from 'vitest'
import { eventually, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { type Client, connect } from '../harness/client.ts'
import { token } from '../harness/gateway.ts'

const echo = { AGENT_BACKEND: 'echo' }

/** The answer to a report has the report's own id, because no message triggered it. */
const reportTo = (client: Client) => client.next(({ type, id }) => type === 'final' && /^agent:/.test(String(id)))

test('/subagents new starts one, its report triggers a turn in the conversation, and the answer arrives there', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start(echo)
  const client = await connect(gateway.url, 'main')
  client.say('1', '/subagents new count the files')
  const id = /`(\w+)`/.exec((await client.final('1')).text ?? '')?.[1] ?? expect.fail('no id')
  const answer = await client.next(frame => frame.type === 'final' && frame.id !== '1')
  expect(answer.text).toContain(`[Gateway: sub-agent count the files (${id}) reports:]`)
  // The sub-agent's own echo, in which the gateway's line is made harmless.
  expect(answer.text).toContain(`(Gateway: you are sub-agent count the files (${id}) at depth 1 of 2`)
  client.say('2', '/subagents')
  expect((await client.final('2')).text).toMatch(new RegExp(`^- \\*\\*count the files\\*\\* \\(\`${id}\`\\): done`))
  client.say('3', `/subagents show ${id}`)
  expect((await client.final('3')).text).toContain('**Task**\ncount the files')
  expect(client.frames.filter(frame => frame.type === 'final')).toHaveLength(4)
  expect(await unaccounted(gateway)).toBe(0)
  await client.close()
})

test('a running one is listed and stopped, and the conversation is notified', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ CLAUDE_STAND_IN_STEP_MS: '15' })
  const client = await connect(gateway.url, 'main')
  client.say('1', '/subagents new dig [[tool:20000]]')
  const id = /`(\w+)`/.exec((await client.final('1')).text ?? '')?.[1] ?? expect.fail('no id')
  let n = 10
  await eventually('it is at work, and what it does is shown', async () => {
    client.say(String(++n), '/subagents')
    return /working for \d+ s: \S/.test((await client.final(String(n))).text ?? '')
  })
  const agents = (body?: object) =>
    fetch(`${gateway.url}/api/agents`, {
      headers: { authorization: `Bearer ${token}` },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  expect(await (await agents()).json()).toMatchObject({ agents: [{ id, state: 'working' }] })
  expect((await agents({ stop: 'none' })).status).toBe(400)
  client.say('2', `/subagents stop ${id}`)
  expect((await client.final('2')).text).toContain('Stopped **dig')
  expect((await reportTo(client)).text).toBe('turn 1: Stopped.')
  expect(home.begun()[1]?.prompt).toMatch(/^\[Gateway: sub-agent dig tool 20000 \(\w+\) failed:\]\n/)
  await client.close()
})

test('killed while it runs, it is resumed and reports once', async () => {
  await using home = await temporaryHome()
  const first = await home.start()
  const before = await connect(first.url, 'main')
  before.say('1', '/subagents new dig [[tool:1500]]')
  await before.final('1')
  await eventually('the sub-agent began', () => home.begun().length === 1)
  await first.stop('SIGKILL')
  const gateway = await home.start()
  const client = await connect(gateway.url, 'main')
  expect((await reportTo(client)).text).toContain('dig [[tool:1500]]')
  const runs = home.begun()
  expect(runs[2]?.prompt).toMatch(/^\[Gateway: sub-agent dig tool 1500 \(\w+\) reports:\]\n/)
  expect(runs.map(one => /was interrupted/.test(one.prompt))).toEqual([false, true, false])
  expect(runs[1]?.session).toBe(runs[0]?.session)
  expect(client.frames.filter(frame => frame.type === 'final')).toHaveLength(1)
  await client.close()
})
