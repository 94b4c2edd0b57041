// The whole gateway with each real CLI, against a model stand-in on loopback that tells what it was sent.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, connect } from '../harness/client.ts'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway } from '../harness/gateway.ts'
import { clis, installCli, installModel } from './install.ts'
import { setups } from './setups.ts'

interface Model {
  readonly url: string
  onMessage(pattern: RegExp, response: object, options?: object): void
  getRequests(): { body?: unknown }[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

const model = installModel()
const programs = clis.map(name => ({ name, program: installCli(name) }))

describe.each(programs)('the real $name', ({ name, program }) => {
  const why = 'why' in model ? model.why : 'why' in program ? program.why : null
  if (why !== null || 'why' in model || 'why' in program) {
    console.log(`NOT RUN: ${name}: ${why}`)
    test.skipIf(true)(`was not run: ${why}`, () => undefined)
    return
  }
  let home: Home
  let mock: Model
  let env: Record<string, string>
  let gateway: RunningGateway
  let client: Client
  const lastSent = () => JSON.stringify(mock.getRequests().at(-1)?.body ?? '')
  const persona = (words: string) => writeFileSync(join(home.configDir, 'soul.md'), words)
  const open = async () => {
    gateway = await startGateway(home, env)
    client = await connect(gateway.url, 'real')
  }
  const ask = async (id: string, text: string) => {
    client.say(id, text)
    return client.final(id, 60_000)
  }

  beforeAll(async () => {
    const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Model }
    mock = new LLMock({ port: 0 })
    mock.onMessage(/wrong key/, { error: { message: 'invalid api key', type: 'authentication_error' }, status: 401 })
    // Each word another: gemini takes repetition for a loop.
    const words = Array.from({ length: 40 }, (_, i) => `word-${i}`).join(' ')
    mock.onMessage(/slowly/, { content: words }, { latency: 150 })
    mock.onMessage(/.*/, { content: 'Hello from the model, several words long.' })
    await mock.start()
    home = await makeHome()
    env = {
      AGENT_BACKEND: name,
      BACKEND_CLI_PATH: program.path,
      QUERY_TIMEOUT_MS: '50000',
      ...setups[name](home.dir, mock.url),
    }
    await open()
  })
  afterAll(async () => {
    await gateway?.stop()
    await mock?.stop()
    await home?.remove()
  })

  test('answers with our system prompt', async () => {
    persona('You speak like PERSONA-ONE.')
    expect(await ask('1', 'remember the number 4711')).toMatchObject({
      ok: true,
      text: 'Hello from the model, several words long.',
    })
    expect(lastSent()).toContain('PERSONA-ONE')
  })

  test('remembers the conversation, and a changed persona counts from the next turn', async () => {
    persona('You speak like PERSONA-TWO.')
    expect((await ask('2', 'go on')).ok).toBe(true)
    expect(lastSent()).toContain('4711')
    expect(lastSent()).toContain('PERSONA-TWO')
    expect(lastSent()).not.toContain('PERSONA-ONE')
  })

  test('takes what people write as text: no flag, no command, no file', async () => {
    writeFileSync(join(home.configDir, 'secret.md'), 'CONTENT-OF-THE-FILE')
    for (const [id, text] of [
      ['3', '-p --help'],
      ['4', '/status'],
      ['5', '@secret.md'],
    ] as const) {
      expect((await ask(id, text)).text).toBe('Hello from the model, several words long.')
      expect(lastSent().replaceAll('\u2060', '')).toContain(text)
    }
    expect(lastSent()).not.toContain('CONTENT-OF-THE-FILE')
  })

  test('a wrong key is told in plain words', async () => {
    expect(await ask('6', 'with the wrong key')).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^Not logged in: /),
    })
  })

  test('is stopped in the middle, leaves nothing running, and goes on afterwards', async () => {
    client.say('7', 'speak slowly')
    await expect.poll(() => lastSent(), { timeout: 30_000 }).toContain('speak slowly')
    await new Promise(resolve => setTimeout(resolve, 500))
    client.send({ type: 'stop' })
    expect((await client.final('7', 20_000)).ok).toBe(false)
    expect(processesWith('AETHEEL_RUN=').filter(pid => processesWith(`HOME=${home.dir}`).includes(pid))).toEqual([])
    expect((await ask('8', 'still there?')).ok).toBe(true)
  })

  test('is killed together with the gateway in the middle of a turn, and takes it up again, told so', async () => {
    client.say('9', 'count slowly please')
    await expect.poll(() => lastSent(), { timeout: 30_000 }).toContain('count slowly')
    await gateway.stop('SIGKILL')
    const before = mock.getRequests().length
    await open()
    expect((await client.final('9', 120_000)).ok).toBe(true)
    const sent = mock
      .getRequests()
      .slice(before)
      .map(request => JSON.stringify(request.body))
    expect(sent.some(body => body.includes('was cut off') && body.includes('4711'))).toBe(true)
  })
})
