// Invalid input on every path: each gets a plain explanation and affects nobody else.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, exitOf, type TemporaryHome, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, runCommand, token } from '../harness/gateway.ts'

const canary = 'sk-ant-canary-0123456789abcdef'
const secretWord = 'marmalade'
const depth = 20
let home: TemporaryHome
let gateway: RunningGateway

beforeAll(async () => {
  home = await temporaryHome()
  gateway = await home.start({
    MAX_QUEUE_DEPTH: String(depth),
    LOG_LEVEL: 'trace',
    ANTHROPIC_API_KEY: canary,
    WEATHER_API_KEY: `${canary}-weather`,
  })
})
afterAll(() => home[Symbol.asyncDispose]())

describe('on the socket', () => {
  test('an invalid frame is refused with a reason, and the connection stays open', async () => {
    const client = await connect(gateway.url, 'nonsense')
    const tooLong = 'x'.repeat(129)
    const frames: readonly (readonly [frame: string, id: string | null])[] = [
      ['{"type":"message",', null],
      ['', null],
      ['null', null],
      ['[1,2]', null],
      ['"hello"', null],
      ['{}', null],
      ['[['.repeat(50_000), null],
      ['{"type":"dance","id":"d1"}', 'd1'],
      ['{"type":7,"id":"d2"}', 'd2'],
      ['{"type":"message","id":"d3"}', 'd3'],
      ['{"type":"message","id":"d4","text":12}', 'd4'],
      ['{"type":"message","id":"d5","text":null}', 'd5'],
      ['{"type":"edit","id":"d6","text":{}}', 'd6'],
      ['{"type":"message","id":"","text":"x"}', null],
      [`{"type":"message","id":"${tooLong}","text":"x"}`, null],
      ['{"type":"message","id":5,"text":"x"}', null],
      ['{"type":"message","id":["a"],"text":"x"}', null],
      ['{"type":"message","text":"x"}', null],
      ['{"type":"cancel"}', null],
    ]
    for (const [frame] of frames) client.socket.send(frame)
    client.say('after', 'still there?')
    expect((await client.final('after')).text).toBe('turn 1: still there?')
    const refusals = client.frames.filter(frame => frame.type === 'refused')
    expect(refusals.map(frame => frame.id)).toEqual(frames.map(([, id]) => id))
    for (const { reason = '' } of refusals) expect(reason).toMatch(/^(The frame is not JSON|Invalid frame)/)
    expect(home.begun().filter(run => run.prompt === 'x')).toHaveLength(0)
    await client.close()
  })

  test('a binary frame closes that connection, which can be opened again', async () => {
    const client = await connect(gateway.url, 'binary')
    client.socket.send(Buffer.from([0, 255, 1, 2]))
    expect(await client.closed).toMatchObject({ code: 1003 })
    const again = await connect(gateway.url, 'binary')
    again.say('1', 'text this time')
    expect((await again.final('1')).ok).toBe(true)
    await again.close()
  })

  test('five megabytes close that connection, and another one is not affected', async () => {
    const neighbour = await connect(gateway.url, 'neighbour')
    neighbour.say('1', 'I am in the middle [[tool:300]]')
    await neighbour.next(frame => frame.type === 'action')
    const client = await connect(gateway.url, 'huge')
    client.say('huge', 'x'.repeat(5 << 20))
    expect(await client.closed).toMatchObject({ code: 1009 })
    expect((await neighbour.final('1')).ok).toBe(true)
    expect(neighbour.socket.readyState).toBe(neighbour.socket.OPEN)
    expect(home.begun().filter(run => run.prompt.length > 100_000)).toHaveLength(0)
    await neighbour.close()
  })

  test('a message of 250 000 characters is refused as too long, one of 200 000 is answered', async () => {
    const client = await connect(gateway.url, 'long')
    client.say('long', 'x'.repeat(250_000))
    expect((await client.next(frame => frame.type === 'refused')).reason).toMatch(/^Too long: .*shorten it/)
    client.say('fits', `${'y'.repeat(199_990)}\nthe end`)
    expect((await client.final('fits')).text).toBe('turn 1: the end')
    await client.close()
  })

  test('of 500 simultaneous messages the queue accepts up to its limit, the rest are refused with the depth, and none is lost', async () => {
    const client = await connect(gateway.url, 'flood')
    client.say('m0', 'the first one takes a while [[tool:600]]')
    for (let i = 1; i < 500; i++) client.say(`m${i}`, `number ${i}`)
    const answers = () => client.frames.filter(frame => frame.type === 'accepted' || frame.type === 'refused')
    await eventually('an answer to each of them', () => answers().length === 500)
    const refused = client.frames.filter(frame => frame.type === 'refused')
    const accepted = client.frames.filter(frame => frame.type === 'accepted').map(frame => frame.id)
    expect(refused).toHaveLength(500 - 1 - depth)
    expect(new Set(refused.map(frame => frame.reason))).toEqual(
      new Set([`Queue full: too many messages are waiting (${depth} of ${depth}). Please try again later.`]),
    )
    await client.final(accepted.at(-1) ?? '')
    expect(client.frames.filter(frame => frame.type === 'final').map(frame => frame.id)).toEqual(accepted)
    expect(gateway.output()).toMatch(new RegExp(`"why":"full","depth":${depth},"msg":"event refused"`))
    expect(await unaccounted(gateway)).toBe(0)
    await client.close()
  })

  test('a conversation with an invalid name is refused', async () => {
    for (const name of ['', 'a b', '../x', 'a/b', 'ü', 'x'.repeat(65)])
      await expect(connect(gateway.url, name)).rejects.toThrow('400')
    const answer = await fetch(`${gateway.url}/api/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ conversation: '../x', text: 'hello' }),
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({ error: expect.stringContaining('"conversation" must match') })
  })
})

describe('in the workspace', () => {
  const systemPromptOf = (prompt: string) => home.begun().find(run => run.prompt === prompt)?.system ?? ''
  const inLog = (file: string, why: string) =>
    expect(gateway.output()).toMatch(
      new RegExp(`"level":40.*"file":"${file}","why":"${why}.*"msg":"workspace trouble"`),
    )

  test('an unreadable file is left out and logged, and the turn works', async () => {
    const soul = join(home.configDir, 'soul.md')
    rmSync(soul)
    mkdirSync(soul)
    writeFileSync(join(home.configDir, 'user.md'), Buffer.from([0x41, 0xff, 0xfe, 0x80, 0x42]))
    writeFileSync(join(home.configDir, 'tools.md'), 'Use a light touch.')
    const client = await connect(gateway.url, 'unreadable')
    client.say('1', 'who are you?')
    expect((await client.final('1')).ok).toBe(true)
    inLog('soul.md', 'is a folder')
    inLog('user.md', 'is not UTF-8 text')
    expect(systemPromptOf('who are you?')).toContain('Use a light touch.')
    expect(systemPromptOf('who are you?')).not.toContain('## Personality')
    expect(systemPromptOf('who are you?')).not.toContain('## User Context')
    rmSync(soul, { recursive: true })
    writeFileSync(soul, 'You are back.')
    client.say('2', 'and now?')
    await client.final('2')
    expect(systemPromptOf('and now?')).toContain('You are back.')
    await client.close()
  })

  test('of ten megabytes of memory the agent gets the newest part, and the log says so', async () => {
    writeFileSync(join(home.configDir, 'memory.md'), `${'- an old fact\n'.repeat(750_000)}- the newest fact\n`)
    const client = await connect(gateway.url, 'memory')
    client.say('1', 'what do you know?')
    expect((await client.final('1')).ok).toBe(true)
    const system = systemPromptOf('what do you know?')
    expect(system).toContain('- the newest fact')
    expect(system.length).toBeLessThan(100_000)
    inLog('memory.md', 'is too large')
    writeFileSync(join(home.configDir, 'memory.md'), '# Memory\n')
    await client.close()
  })
})

describe('at the start', () => {
  /** Starts a gateway that must fail; checks that it exits with 1 and without a stack trace, and returns its output. */
  async function refusal(
    env: Record<string, string>,
    prepare: (home: TemporaryHome) => void = () => undefined,
  ): Promise<string> {
    await using own = await temporaryHome()
    mkdirSync(own.configDir)
    prepare(own)
    const run = runCommand(own, ['start'], env)
    const output = () => run.stdout() + run.stderr()
    expect(await exitOf({ exit: run.exit, output })).toBe(1)
    expect(run.stdout()).toBe('')
    expect(run.stderr()).not.toMatch(/^\s+at |node:internal/m)
    return run.stderr()
  }

  test.concurrent('an invalid config.json is reported with line and column', async ({ expect }) => {
    const words = await refusal({ AGENT_BACKEND: 'echo' }, ({ configDir }) =>
      writeFileSync(join(configDir, 'config.json'), '{\n  "http": { "port": 1234\n'),
    )
    expect(words).toMatch(/the configuration has mistakes, so nothing was started:\n.*config\.json.*line 3, column 1/)
  })

  test.concurrent('all invalid values are reported at once, each with what is allowed', async ({ expect }) => {
    const words = await refusal({ AGENT_BACKEND: 'clod', HTTP_PORT: 'eighty', BUSY: 'sometimes', HTTP_TOKEN: 'short' })
    expect(words).toMatch(/AGENT_BACKEND.*"clod".*claude, codex, gemini, opencode, pi, claude-sdk/)
    expect(words).toMatch(/HTTP_PORT.*"eighty".*a whole number from 0 to 65535/)
    expect(words).toMatch(/BUSY.*"sometimes".*reject.*queue/)
    expect(words).toMatch(/HTTP_TOKEN.*at least 16 characters/)
    expect(words).not.toContain('short')
  })

  test.concurrent('an invalid command line is a usage error', async ({ expect }) => {
    await using own = await temporaryHome()
    for (const [args, words] of [
      [['--port', 'eighty'], '--port): "eighty" from flag; must be a whole number'],
      [['--backend', 'clod'], 'Allowed choices are claude, codex'],
      [['--log', 'loud'], 'Allowed choices are trace, debug'],
      [['--webchat', 'now'], 'too many arguments'],
    ] as const) {
      const run = runCommand(own, ['start', ...args], { HTTP_PORT: '' })
      expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(2)
      expect(run.stderr()).toContain(words)
    }
  })

  test.concurrent('a configured CLI that is missing is named, with how to install it', async ({ expect }) => {
    expect(await refusal({ AGENT_BACKEND: 'claude', PATH: '/nowhere' })).toMatch(
      /^aetheel: claude: the program "claude" was not found\. Install it with `npm install.*BACKEND_CLI_PATH/,
    )
    expect(await refusal({ AGENT_BACKEND: 'claude', BACKEND_CLI_PATH: '/nowhere/claude' })).toContain('/nowhere/claude')
    expect(await refusal({ AGENT_BACKEND: 'claude', BACKEND_CLI_PATH: '/bin/false' })).toMatch(
      /\/bin\/false does not run \(exit code 1\)\. Install/,
    )
  })

  test.concurrent('a port that is in use is named, with the option that chooses another', async ({ expect }) => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => other.once('listening', resolve))
    const { port } = other.address() as { port: number }
    const words = await refusal({ AGENT_BACKEND: 'echo', HTTP_PORT: String(port) })
    expect(words).toMatch(new RegExp(`^aetheel: Port ${port} on 127\\.0\\.0\\.1 is in use\\..*HTTP_PORT\\.$`, 'm'))
    other.close()
  })

  test.concurrent('a required file that is a folder is named', async ({ expect }) => {
    const words = await refusal({ AGENT_BACKEND: 'echo' }, ({ configDir }) => mkdirSync(join(configDir, 'soul.md')))
    expect(words).toMatch(/^aetheel: soul\.md in the workspace .* is a folder; move it away/m)
  })

  test('a second gateway on the same folder says which process uses it, and the first is not affected', async () => {
    const client = await connect(gateway.url, 'first-come')
    client.say('1', 'busy while the other one knocks [[tool:1500]]')
    await client.next(frame => frame.type === 'action')
    const second = runCommand(home, ['start'], { AGENT_BACKEND: 'echo' })
    expect(await exitOf({ exit: second.exit, output: second.stderr })).toBe(1)
    expect(second.stderr()).toContain(`another gateway (pid ${gateway.pid}, ${gateway.url}) already uses`)
    expect((await client.final('1')).text).toContain('busy while the other one knocks')
    client.say('2', 'and I go on')
    expect((await client.final('2')).text).toBe('turn 2: and I go on')
    await client.close()
  })
})

// Last, because by now the log has everything from above.
test('even at the lowest level the log contains no secret and nothing that people or the agent wrote', async () => {
  const client = await connect(gateway.url, 'private')
  const trouble = [
    'tool',
    'garbage',
    'onlygarbage',
    'login',
    'maxturns',
    'api:403',
    'tool]] [[dieafter',
    'long:40',
    'die',
  ]
  for (const [i, what] of trouble.entries()) client.say(`p${i}`, `${secretWord} [[${what}]]`)
  client.send({ type: 'edit', id: 'p7', text: `${secretWord} again` })
  client.socket.send(`{"type":"message","text":"${secretWord}`)
  client.socket.send(JSON.stringify({ type: secretWord }))
  await client.final('p7')
  await client.next(frame => frame.type === 'action' && frame.phase === 'notice' && frame.id === 'p8')
  await expect(fetch(`${gateway.url}/api/status?token=${secretWord}-token-of-mine`)).resolves.toMatchObject({
    status: 401,
  })
  await client.close()
  const log = gateway.output().replace(/^.*(?:WebChat|Control) .*$/gm, '')
  expect(log.split('\n').length).toBeGreaterThan(100)
  for (const hidden of [token, canary, secretWord, 'number 7', 'still there', 'an old fact', 'light touch'])
    expect(log).not.toContain(hidden)
})
