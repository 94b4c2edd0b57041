// A pi that has MCP, which came with 0.99: it gets the servers of mcp.servers.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { openFront } from './front.ts'
import { installModel, unpackPi } from './install.ts'
import { setups } from './setups.ts'

interface Model {
  readonly url: string
  on(match: object, response: object): void
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

const model = installModel()
const program = unpackPi()
const why = 'why' in model ? model.why : 'why' in program ? program.why : null

test.skipIf(why !== null).each(['false', 'true'])('calls a tool of an MCP server (BACKEND_WARM=%s)', async warm => {
  if ('why' in model || 'why' in program) return
  const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Model }
  const mock = new LLMock({ port: 0 })
  mock.on(
    { userMessage: /use the ping/, hasToolResult: false },
    { toolCalls: [{ name: 'mcp__my_notes__ping', arguments: '{}' }] },
  )
  mock.on({ userMessage: /.*/ }, { content: 'That is all.' })
  await mock.start()
  const front = await openFront(mock.url)
  await using home = await temporaryHome()
  const log = join(home.dir, 'ping.log')
  const server = {
    command: process.execPath,
    args: [resolve(import.meta.dirname, '../fakes/mcp-server.mjs')],
    env: { PING_LOG: log, PING_SECRET: 'sesame' },
  }
  const gateway = await home.start({
    AGENT_BACKEND: 'pi',
    BACKEND_CLI_PATH: program.path,
    BACKEND_WARM: warm,
    MCP_SERVERS: JSON.stringify({ 'my-notes': server }),
    ...setups.pi(home.dir, front.url),
  })
  const client = await connect(gateway.url, 'mcp')
  client.say('1', 'use the ping')
  expect(await client.final('1', 60_000)).toMatchObject({ ok: true, text: 'That is all.' })
  expect(readFileSync(log, 'utf8')).toBe('ping sesame\n')
  await client.close()
  await gateway.stop()
  front.close()
  await mock.stop()
})
