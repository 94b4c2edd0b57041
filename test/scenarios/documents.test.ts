// Requirements of the design documents for the whole program, and deliberate differences (docs/adr/0022).
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'

/** A port at which nobody listens. */
async function deadPort(): Promise<number> {
  const server = createServer()
  const port = await new Promise<number>(resolve =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  await new Promise(resolve => server.close(resolve))
  return port
}

test('with an unreachable Discord it still starts, reports it, and answers in other chats', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({
    ...{ AGENT_BACKEND: 'echo', DISCORD: 'true', DISCORD_BOT_TOKEN: 'token' },
    DISCORD_API: `http://127.0.0.1:${await deadPort()}/api`,
  })
  const client = await connect(gateway.url, 'here')
  client.say('1', 'are you there?')
  expect((await client.final('1')).text).toContain('are you there?')
  expect(gateway.output()).toMatch(/"level":40,.*"chat":"discord".*could not be reached/)
  await client.close()
  expect(await gateway.stop()).toBe(0)
})

// GR 17.5
test('a missing heartbeat.md is logged as information', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start({ AGENT_BACKEND: 'echo' })
  await expect.poll(() => gateway.output()).toMatch(/"level":30,.*"file":"heartbeat.md".*heartbeats missing/)
})
