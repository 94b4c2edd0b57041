// The whole gateway with each real CLI, cold and warm, with a fake model on loopback that records its requests.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type Client, connect } from '../harness/client.ts'
import { type Home, makeHome, processesWith, type RunningGateway, startGateway } from '../harness/gateway.ts'
import { type Front, openFront } from './front.ts'
import { type Cli, findModel, findProgram } from './install.ts'
import { setups } from './setups.ts'

interface Model {
  readonly url: string
  on(match: object, response: object, options?: object): void
  getRequests(): { body?: unknown }[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

type Name = Cli | 'claude-sdk'

/** The names that each CLI has for the tool `ping` of the server `notes`, and for its shell; null: none. */
const words: Record<Name, { readonly ping: string | null; readonly shell: (command: string) => object }> = {
  claude: { ping: 'mcp__notes__ping', shell: command => ({ name: 'Bash', arguments: JSON.stringify({ command }) }) },
  'claude-sdk': {
    ping: 'mcp__notes__ping',
    shell: command => ({ name: 'Bash', arguments: JSON.stringify({ command }) }),
  },
  codex: { ping: 'mcp__notes__ping', shell: cmd => ({ name: 'exec_command', arguments: JSON.stringify({ cmd }) }) },
  gemini: {
    ping: 'mcp_notes_ping',
    shell: command => ({ name: 'run_shell_command', arguments: JSON.stringify({ command }) }),
  },
  opencode: {
    ping: 'notes_ping',
    shell: command => ({ name: 'bash', arguments: JSON.stringify({ command, description: 'waits' }) }),
  },
  pi: { ping: null, shell: command => ({ name: 'bash', arguments: JSON.stringify({ command }) }) },
}
const shells = [
  'Bash',
  'exec_command',
  'shell',
  'run_shell_command',
  'bash',
  'Write',
  'write',
  'write_file',
  'apply_patch',
]

const answer = 'Hello from the model, several words long.'
const secret = 'open-sesame-4711'
const model = findModel()
const name: Name = inject('backend')
const program = findProgram(name)

describe.each(['cold', 'warm'] as const)(`the real ${name}, %s`, way => {
  const why = 'why' in model ? model.why : 'why' in program ? program.why : null
  if (why !== null || 'why' in model || 'why' in program) {
    console.log(`NOT RUN: ${name}: ${why}`)
    test.skipIf(true)(`was not run: ${why}`, () => undefined)
    return
  }
  let home: Home
  let mock: Model
  let front: Front
  let env: Record<string, string>
  let gateway: RunningGateway
  let client: Client
  /** Whether the model takes its time when it is asked to. */
  let slow = false
  const lastSent = () => JSON.stringify(mock.getRequests().at(-1)?.body ?? '')
  const sentAbout = (text: string) => mock.getRequests().some(request => JSON.stringify(request.body).includes(text))
  const persona = (words: string) => writeFileSync(join(home.configDir, 'soul.md'), words)
  const open = async (given: Record<string, string> = {}) => {
    gateway = await startGateway(home, { ...env, ...given })
    client = await connect(gateway.url, 'real')
  }
  /** Another conversation, because some CLIs send a failed message again with the next one. */
  const meet = async (conversation: string) => {
    await client.close()
    client = await connect(gateway.url, conversation)
  }
  const ask = async (id: string, text: string) => {
    client.say(id, text)
    return client.final(id, 120_000)
  }
  /** All processes in this home except the gateway. */
  const others = () => processesWith(`HOME=${home.dir}`).filter(pid => pid !== gateway.pid)
  const commandOf = (pid: number) =>
    existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : ''
  const parentOf = (pid: number) =>
    Number(existsSync(`/proc/${pid}/status`) && /PPid:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  /** Only what the gateway itself has started: some run small programs of their own now and then. */
  const agents = () => others().filter(pid => parentOf(pid) === gateway.pid)
  const pingLog = () => join(home.dir, 'ping.log')

  beforeAll(async () => {
    const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Model }
    mock = new LLMock({ port: 0 })
    const asked = (userMessage: RegExp) => ({ userMessage, hasToolResult: false })
    mock.on(
      { userMessage: /wrong key/ },
      { error: { message: 'invalid api key', type: 'authentication_error' }, status: 401 },
    )
    // All words differ, because gemini mistakes repetition for a loop. There are so many that it is always stopped or killed in between.
    const manyWords = Array.from({ length: 2000 }, (_, i) => `word-${i}`).join(' ')
    mock.on({ userMessage: /slowly/, predicate: () => slow }, { content: manyWords }, { latency: 150 })
    mock.on(asked(/wait in a shell/), { toolCalls: [words[name].shell('tail -f /dev/null')] })
    if (words[name].ping) mock.on(asked(/use the ping/), { toolCalls: [{ name: words[name].ping, arguments: '{}' }] })
    mock.on({ userMessage: /.*/ }, { content: answer })
    await mock.start()
    front = await openFront(mock.url)
    home = await makeHome()
    const server = {
      command: process.execPath,
      args: [resolve(import.meta.dirname, '../fakes/mcp-server.mjs')],
      env: { PING_LOG: pingLog(), PING_SECRET: secret },
    }
    env = {
      AGENT_BACKEND: name,
      BACKEND_WARM: String(way === 'warm'),
      QUERY_TIMEOUT_MS: '50000',
      MCP_SERVERS: JSON.stringify({ notes: server }),
      ALLOWED_TOOLS: 'Read,Write,Edit,Glob,Grep,Bash',
      ...(name === 'claude-sdk'
        ? { AGENT_SDK_PATH: dirname(program.path), BACKEND_CLI_PATH: '', ...setups.claude(home.dir, front.url) }
        : { BACKEND_CLI_PATH: program.path, ...setups[name](home.dir, front.url) }),
    }
    await open()
  })
  afterAll(async () => {
    await gateway?.stop()
    await vi.waitFor(() => expect(processesWith(`HOME=${home.dir}`)).toEqual([]), 30_000)
    front?.close()
    await mock?.stop()
    await home?.remove()
  })

  test('answers with our system prompt', async () => {
    persona('You speak like PERSONA-ONE.')
    expect(await ask('1', 'remember the number 4711')).toMatchObject({ ok: true, text: answer })
    expect(lastSent()).toContain('PERSONA-ONE')
  })

  test('remembers the conversation, and a changed persona takes effect with the next turn', async () => {
    await meet('real')
    persona('You speak like PERSONA-TWO.')
    expect((await ask('2', 'go on')).ok).toBe(true)
    expect(lastSent()).toContain('4711')
    expect(lastSent()).toContain('PERSONA-TWO')
    expect(lastSent()).not.toContain('PERSONA-ONE')
    expect((await ask('2b', 'and on')).ok).toBe(true)
    expect(lastSent()).toContain('go on')
  })

  test('treats what people write as text, not as a flag, command or file', async () => {
    await meet('real')
    writeFileSync(join(home.configDir, 'secret.md'), 'CONTENT-OF-THE-FILE')
    for (const [id, text] of [
      ['3', '-p --help'],
      ['4', '/cost'],
      ['5', '@secret.md'],
    ] as const) {
      expect((await ask(id, text)).text).toBe(answer)
      expect(lastSent().replaceAll('\u2060', '')).toContain(text)
    }
    expect(lastSent()).not.toContain('CONTENT-OF-THE-FILE')
  })

  test('a wrong key is reported in plain words', async () => {
    await meet('key')
    expect(await ask('6', 'with the wrong key')).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^Not logged in: /),
    })
  })

  if (words[name].ping)
    test('calls a tool of an MCP server with its secret, which is on no command line', async () => {
      await meet('mcp')
      client.say('mcp', 'use the ping')
      const seen = new Set<string>()
      for (let over = false; !over; ) {
        for (const pid of others()) seen.add(commandOf(pid))
        over = await Promise.race([client.final('mcp', 60_000).then(() => true), pause(20).then(() => false)])
      }
      expect((await client.final('mcp')).text).toBe(answer)
      expect(readFileSync(pingLog(), 'utf8')).toBe(`ping ${secret}\n`)
      expect([...seen].filter(line => line.includes(secret))).toEqual([])
    })

  test('can be stopped while it answers and while a tool runs, leaves no tool running, and continues afterwards', async () => {
    await meet('stop')
    slow = true
    client.say('7', 'speak slowly')
    await expect.poll(() => sentAbout('speak slowly'), { timeout: 60_000 }).toBe(true)
    await pause(500)
    client.send({ type: 'stop' })
    expect((await client.final('7', 60_000)).ok).toBe(false)
    slow = false
    expect((await ask('7a', 'still there?')).ok).toBe(true)
    await meet('shell')
    client.say('7b', 'wait in a shell')
    const sleeping = () => others().filter(pid => commandOf(pid).startsWith('tail\u0000-f'))
    await expect.poll(sleeping, { timeout: 60_000 }).not.toEqual([])
    client.send({ type: 'stop' })
    expect((await client.final('7b', 60_000)).ok).toBe(false)
    await expect.poll(sleeping).toEqual([])
    if (way === 'cold') await expect.poll(others).toEqual([])
    await meet('real')
    expect((await ask('8', 'still there?')).text).toBe(answer)
    expect(lastSent()).toContain('4711')
  })

  if (way === 'warm')
    test('stays up: the next turn starts no process', async () => {
      await meet('up')
      expect((await ask('w0', 'hello')).ok).toBe(true)
      const before = agents()
      expect(before).not.toEqual([])
      expect((await ask('w1', 'once more')).ok).toBe(true)
      const after = agents()
      expect(after).not.toEqual([])
      expect(after.filter(pid => !before.includes(pid))).toEqual([])
    })

  test('ends when the gateway is killed in the middle of a turn, and the turn is resumed and notified of it', async () => {
    await meet('real')
    slow = true
    client.say('9', 'count slowly please')
    await expect.poll(() => sentAbout('count slowly'), { timeout: 60_000 }).toBe(true)
    await gateway.stop('SIGKILL')
    if (way === 'warm') await expect.poll(others).toEqual([])
    const before = mock.getRequests().length
    slow = false
    await open()
    expect((await client.final('9', 120_000)).ok).toBe(true)
    const sent = mock
      .getRequests()
      .slice(before)
      .map(request => JSON.stringify(request.body))
    expect(sent.some(body => body.includes('was interrupted') && body.includes('4711'))).toBe(true)
    // After a kill before any output, nobody knows whether the session has the message: it is sent again, with a note.
    expect(sent.at(-1)?.split('count slowly please').length).toBeOneOf([2, 3])
  })

  test('offers the model no tool that is not allowed', async () => {
    const offered = () => mock.getRequests().map(({ body }) => toolsIn(body).filter(tool => shells.includes(tool)))
    expect(offered().flat()).not.toEqual([])
    await gateway.stop()
    const before = offered().length
    await open({ ALLOWED_TOOLS: 'WebSearch', ASK_TOOLS: 'none' })
    expect((await ask('10', 'what can you do?')).ok).toBe(true)
    expect(offered().length).toBeGreaterThan(before)
    expect(offered().slice(before).flat()).toEqual([])
  })
})

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** The names of all tools in a request, whatever the service calls them. */
function toolsIn(body: unknown): string[] {
  const named = (value: unknown): string[] => {
    if (Array.isArray(value)) return value.flatMap(named)
    if (typeof value !== 'object' || value === null) return []
    const { name, ...rest } = value as { name?: unknown }
    return [...(typeof name === 'string' ? [name] : []), ...Object.values(rest).flatMap(named)]
  }
  return named((body as { tools?: unknown } | undefined)?.tools)
}
