// A webhook's turn through the whole gateway, with each real CLI in its box and warm: it answers, and the gateway's tools work.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { openFront } from '../cli/front.ts'
import { clis, installCli, installModel } from '../cli/install.ts'
import { setups } from '../cli/setups.ts'
import { connect } from '../harness/client.ts'
import { makeHome, processesWith, startGateway, token } from '../harness/gateway.ts'
import { noBox, whyNot } from './stage.ts'

interface Mock {
  getRequests(): readonly unknown[]
  readonly url: string
  on(match: object, response: object | ((request: { readonly tools?: unknown }) => object)): void
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe.each(clis.map(cli => ({ cli })))('a webhook with the real $cli', ({ cli }) => {
  const why = noBox ?? whyNot(cli)
  if (why !== null) console.log(`NOT RUN: ${cli}: ${why}`)
  test.skipIf(why !== null)('is answered from its box, twice, and leaves no process behind', async () => {
    const [program, model] = [installCli(cli), installModel()]
    if ('why' in program || 'why' in model) return
    const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Mock }
    const mock = new LLMock({ port: 0 })
    const sends = cli !== 'pi'
    if (sends)
      mock.on({ userMessage: /ring/, hasToolResult: false }, ({ tools }) => {
        const name = /[\w-]*aetheel[\w-]*_send_message/.exec(JSON.stringify(tools))?.[0] ?? 'mcp__aetheel__send_message'
        return { toolCalls: [{ name, arguments: JSON.stringify({ text: 'from inside the box' }) }] }
      })
    mock.on({ userMessage: /.*/ }, { content: 'Somebody is at the door.' })
    await mock.start()
    ends.push(() => mock.stop())
    const front = await openFront(mock.url)
    ends.push(() => front.close())
    const home = await makeHome()
    ends.push(home.remove)
    mkdirSync(home.configDir, { recursive: true })
    writeFileSync(join(home.configDir, 'memory.md'), 'CANARY-of-the-memory\n')
    writeFileSync(
      join(home.configDir, 'agents.md'),
      '## Webhooks\n### door\nSecret: DOOR\nInstruction: ring {{payload}}\n',
    )
    const gateway = await startGateway(home, {
      ...{ AGENT_BACKEND: cli, BACKEND_CLI_PATH: program.path, QUERY_TIMEOUT_MS: '50000', WALL: 'bwrap' },
      ...{ DOOR: 'a-secret-for-tests', OUTPUT_CHANNEL_ID: 'webchat:home', ...setups[cli](home.dir, front.url) },
    })
    ends.push(() => gateway.stop())
    const status = await fetch(`${gateway.url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
    expect(await status.json()).toMatchObject({
      walls: [
        { who: 'owner', wall: 'none' },
        { who: 'guests and webhooks', wall: 'bwrap' },
      ],
    })
    const client = await connect(gateway.url, 'home')
    for (const body of ['once', 'twice']) {
      const headers = { authorization: 'Bearer a-secret-for-tests' }
      expect((await fetch(`${gateway.url}/hooks/door`, { method: 'POST', headers, body })).status).toBe(202)
      if (sends) await client.next(({ type, text }) => type === 'final' && text === 'from inside the box', 60_000)
      await client.next(({ type, text }) => type === 'final' && text === 'Somebody is at the door.', 60_000)
    }
    await client.close()
    expect(JSON.stringify(mock.getRequests())).not.toContain('CANARY-of-the-memory')
    expect(existsSync(join(home.configDir, 'guests', '_lane.webhook_3a_door'))).toBe(true)
    await gateway.stop('SIGKILL')
    const left = () => processesWith(`HOME=${join(home.configDir, '.aetheel/homes/_lane.webhook_3a_door')}`)
    await expect.poll(left, { timeout: 15_000 }).toEqual([])
  })
})
