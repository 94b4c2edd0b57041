// The gateway's own tools with each real CLI: the model calls one, and the gateway carries it out.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Client, connect } from '../harness/client.ts'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway } from '../harness/gateway.ts'
import { type Front, openFront } from './front.ts'
import { type Cli, findModel, findProgram } from './install.ts'
import { setups } from './setups.ts'

interface Request {
  readonly messages: readonly { readonly content?: unknown }[]
  readonly tools?: unknown
}

interface Model {
  readonly url: string
  on(match: object, response: object | ((request: Request) => object)): void
  getRequests(): { body?: unknown }[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

interface Call {
  readonly name: string
  readonly arguments: string
}

/** The name that each CLI has for send_message; pi writes a file into the folder that its prompt names. */
const calls: Record<Cli, (text: string, request: Request) => Call> = {
  claude: text => ({ name: 'mcp__aetheel__send_message', arguments: JSON.stringify({ text }) }),
  codex: text => ({ name: 'mcp__aetheel__send_message', arguments: JSON.stringify({ text }) }),
  gemini: text => ({ name: 'mcp_aetheel_send_message', arguments: JSON.stringify({ text }) }),
  opencode(text, request) {
    const name = /aetheel[\w-]*_send_message/.exec(JSON.stringify(request.tools))?.[0] ?? ''
    return { name, arguments: JSON.stringify({ text }) }
  },
  pi(text, request) {
    const folder = /ipc\/calls\/[\w-]+/.exec(JSON.stringify(request.messages))?.[0]
    const content = JSON.stringify({ tool: 'send_message', arguments: { text } })
    return { name: 'write', arguments: JSON.stringify({ path: `${folder}/one.json`, content }) }
  },
}

const answer = 'That was all.'
const model = findModel()
const name = inject('backend') as Cli
const program = findProgram(name)

describe.each(['cold', 'warm'] as const)(`the tools of the gateway with the real ${name}, %s`, way => {
  const why = 'why' in model ? model.why : 'why' in program ? program.why : null
  if (why !== null || 'why' in model || 'why' in program) {
    console.log(`NOT RUN: ${name}: ${why}`)
    test.skipIf(true)(`was not run: ${why}`, () => undefined)
    return
  }
  let home: Home
  let mock: Model
  let front: Front
  let gateway: RunningGateway
  let env: Record<string, string>

  beforeAll(async () => {
    const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Model }
    mock = new LLMock({ port: 0 })
    mock.on({ userMessage: /tell them (\S+)/, hasToolResult: false }, request => {
      const asked = [...JSON.stringify(request.messages).matchAll(/tell them ([a-z]+)/g)].at(-1)?.[1] ?? ''
      return { toolCalls: [calls[name](`told ${asked}`, request)] }
    })
    mock.on({ userMessage: /.*/ }, { content: answer })
    await mock.start()
    front = await openFront(mock.url)
    home = await makeHome()
    env = {
      AGENT_BACKEND: name,
      BACKEND_WARM: String(way === 'warm'),
      QUERY_TIMEOUT_MS: '50000',
      BACKEND_CLI_PATH: program.path,
      ...setups[name](home.dir, front.url),
    }
  })
  afterAll(async () => {
    await gateway?.stop()
    await vi.waitFor(() => expect(processesWith(`HOME=${home.dir}`)).toEqual([]), 30_000)
    front?.close()
    await mock?.stop()
    await home?.remove()
  })

  /** Sends it, and checks all processes meanwhile. */
  async function turn(client: Client, id: string, text: string) {
    const seen = { commands: new Set<string>(), keys: new Set<string>() }
    client.say(id, text)
    for (let over = false; !over; ) {
      for (const pid of processesWith(`HOME=${home.dir}`)) {
        seen.commands.add(read(pid, 'cmdline'))
        for (const [, key] of read(pid, 'environ').matchAll(/AETHEEL_KEY=([^\0]+)/g)) if (key) seen.keys.add(key)
      }
      over = await Promise.race([client.final(id, 60_000).then(() => true), pause(30).then(() => false)])
    }
    return { ...seen, final: await client.final(id) }
  }

  for (const [mode, given] of Object.entries({
    'as usual': {},
    'with few tools and permissions': { ALLOWED_TOOLS: 'Read,Write', PERMISSION_MODE: 'acceptEdits' },
  }))
    test(`tool calls of the model are carried out, ${mode}, and the key is on no command line`, async () => {
      await gateway?.stop()
      gateway = await startGateway(home, { ...env, ...given })
      const conversation = `c${Object.keys(given).length}`
      for (const one of [`${conversation}a`, `${conversation}b`]) {
        const client = await connect(gateway.url, one)
        const { final, commands, keys } = await turn(client, 'm1', `tell them ${one.replace(/\d/, '')}`)
        expect(final).toMatchObject({ ok: true, text: answer })
        const told = await client.next(
          frame => frame.type === 'final' && frame.text === `told ${one.replace(/\d/, '')}`,
          60_000,
        )
        expect(told.ok).toBe(true)
        // No conversation sees the tools of another.
        const offered = JSON.stringify(mock.getRequests().at(-1)?.body).match(/"(?:mcp_)*aetheel[\w-]*_send_message"/g)
        expect(new Set(offered).size).toBeLessThanOrEqual(1)
        if (name !== 'pi') expect(keys.size).toBeGreaterThan(0)
        for (const key of keys) expect([...commands].filter(line => line.includes(key))).toEqual([])
        await client.close()
      }
      const client = await connect(gateway.url, `${conversation}a`)
      expect((await turn(client, 'm2', 'and on')).final).toMatchObject({ ok: true, text: answer })
      await client.close()
    })
})

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

function read(pid: number, what: string): string {
  try {
    return readFileSync(join('/proc', String(pid), what), 'utf8')
  } catch {
    return '' // gone meanwhile
  }
}
