// What is specific to opencode: tools as rules, limits that it cannot enforce, and its events.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { AgentEvent, Turn } from '../../base/agent.ts'
import type { ProcessEnd, RunningProcess } from '../process.ts'
import { type Json, parseLine } from '../stdio.ts'
import { turnWith } from '../turn.fixture.ts'
import { opencode } from './opencode.ts'
import { readStream } from './opencode-http.ts'
import { endOfReply, failureOf, readTurn } from './opencode-read.ts'
import { rulesFor } from './opencode-rules.ts'
import { openServer, usualPatience } from './opencode-warm.ts'

const everything = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch', 'Bash', 'Task']

const turn = turnWith({ allowedTools: everything })

const configOf = (given: Partial<Turn>, own: Json = {}): Record<string, Json> =>
  JSON.parse(
    opencode.environment(turn(given), '/scratch', { OPENCODE_CONFIG_CONTENT: JSON.stringify(own) })
      .OPENCODE_CONFIG_CONTENT ?? '',
  )

describe('the tools', () => {
  test('with everything allowed there is no rule, and nothing is ignored', () => {
    expect(rulesFor(turn())).toEqual({})
    expect(opencode.ignores(turn())).toEqual([])
  })

  test('exactly the tools that are not allowed are denied', () => {
    const usual = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch']
    expect(rulesFor(turn({ allowedTools: usual }))).toEqual({ bash: 'deny', task: 'deny' })
    expect(opencode.ignores(turn({ allowedTools: usual }))).toEqual([])
    expect(Object.keys(rulesFor(turn({ allowedTools: [] })))).toHaveLength(9)
  })

  test('with only some commands allowed, the others are denied first, and so is writing through the shell', () => {
    const rules = rulesFor(turn({ allowedTools: ['Read', 'Bash(git log:*)', 'Bash(npm test)'] }))
    expect(Object.entries(rules.bash ?? {})).toEqual([
      ['*', 'deny'],
      ['git log *', 'allow'],
      ['npm test', 'allow'],
      ['*>*', 'deny'],
    ])
    const writing = rulesFor(turn({ allowedTools: ['Write', 'Edit', 'Bash(git log:*)'] }))
    expect(writing.bash).not.toHaveProperty(['*>*'])
  })

  test('plan mode changes nothing, whatever is allowed', () => {
    expect(rulesFor(turn({ permissionMode: 'plan' }))).toEqual({ edit: 'deny', bash: 'deny' })
    expect(configOf({ permissionMode: 'plan' }).agent).toHaveProperty('plan.permission.edit', 'deny')
  })

  test('its subagents have the same rules, and there are no other subagents', () => {
    const { agent } = configOf({ allowedTools: ['Read', 'Task'] })
    expect(agent).toHaveProperty('general.permission.bash', 'deny')
    expect(agent).toHaveProperty('explore.permission.bash', 'deny')
    expect(agent).toHaveProperty('aetheel.permission.task', { '*': 'deny', general: 'allow', explore: 'allow' })
    expect(Object.keys(configOf({ allowedTools: ['Read'] }).agent ?? {})).toEqual(['aetheel'])
  })

  test('limits that it cannot enforce are reported', () => {
    const said = opencode.ignores(turn({ allowedTools: ['Write', 'Read(docs/**)', 'Bash(ls:*)', 'mcp__x__y'] }))
    expect(said).toHaveLength(2)
    expect(said[0]).toContain('Read(docs/**)')
    expect(said[1]).toContain('both')
  })
})

test('MCP servers are added to the user’s, with no secret in the environment', () => {
  const mcpServers: Turn['mcpServers'] = [
    { name: 'near', command: 'node', args: ['x.mjs'], env: { TOKEN: 'sesame' } },
    { name: 'far', url: 'https://example.org/mcp', headers: { authorization: 'sesame too' } },
  ]
  const { mcp } = configOf({ mcpServers }, { mcp: { own: { type: 'local' } } })
  expect(Object.keys(mcp ?? {})).toEqual(['own', 'near', 'far'])
  expect(mcp).toHaveProperty('near.command', ['node', 'x.mjs'])
  expect(JSON.stringify(mcp)).not.toContain('sesame')
  const files = opencode.files(turn({ mcpServers }), {})
  expect(mcp).toHaveProperty('near.environment.TOKEN', '{file:/scratch/mcp-0-0}')
  expect(mcp).toHaveProperty('far.headers.authorization', '{file:/scratch/mcp-1-0}')
  expect(files).toEqual({ 'mcp-0-0': 'sesame', 'mcp-1-0': 'sesame too' })
})

describe('the events of a turn', () => {
  const info = { id: 'msg_1', role: 'assistant', providerID: 'x', modelID: 'm', time: {} }
  const message = (more: Json = {}): Json => ({ type: 'message.updated', properties: { info: { ...info, ...more } } })
  const part = (more: Json): Json => ({
    type: 'message.part.updated',
    properties: { part: { messageID: 'msg_1', ...more } },
  })
  const delta = (partID: string, text: string): Json => ({
    type: 'message.part.delta',
    properties: { partID, field: 'text', delta: text },
  })
  const told = (events: readonly AgentEvent[]) =>
    events.flatMap(event => (event.type === 'text' ? [event.delta] : [])).join('')

  test('the agent’s text is passed on once, in pieces or whole; thoughts and the person’s text are not', () => {
    const reader = readTurn('hello')
    const events = [
      part({ messageID: 'msg_0', id: 'a', type: 'text', text: 'what the person said' }),
      message(),
      part({ id: 'b', type: 'reasoning', text: '' }),
      delta('b', 'hm'),
      part({ id: 'c', type: 'text', text: '' }),
      delta('c', 'one '),
      delta('c', 'two'),
      part({ id: 'c', type: 'text', text: 'one two three' }),
      part({ id: 'c', type: 'text', text: 'one two three' }),
      part({ id: 'd', type: 'text', text: 'four' }),
    ].flatMap(event => reader.read(event))
    expect(told(events)).toBe('one two three\n\nfour')
    expect(reader.answer([])).toEqual({ type: 'ended', ok: true, text: 'one two three\n\nfour', last: 'four' })
    // A reply that arrives before its last events takes precedence.
    expect(reader.answer([{ id: 'd', type: 'text', text: 'four five' }])).toMatchObject({ last: 'four five' })
  })

  test('events of an earlier turn are not used, but what it adds to our turn is', () => {
    const reader = readTurn('hello')
    const user = (id: string): Json => ({ type: 'message.updated', properties: { info: { id, role: 'user' } } })
    const answers = (parentID: string, id: string, text: string) => [
      message({ id, parentID }),
      part({ messageID: id, id: `of ${id}`, type: 'text', text: '' }),
      delta(`of ${id}`, text),
      message({ id, parentID, time: { completed: 1 } }),
    ]
    const events = [
      user('msg_3'),
      part({ messageID: 'msg_3', id: 'a', type: 'text', text: 'hello' }),
      ...answers('msg_3', 'msg_4', 'one'),
      user('msg_1'),
      ...answers('msg_1', 'msg_2', 'no'),
      user('msg_5'),
      ...answers('msg_5', 'msg_6', 'two'),
    ].flatMap(event => reader.read(event))
    expect(told(events)).toBe('one\n\ntwo')
    expect(reader.isComplete('msg_2')).toBe(false)
    expect(reader.answer([])).toMatchObject({ text: 'one\n\ntwo' })
  })

  test('a summary for its own use is counted, but not shown', () => {
    const reader = readTurn('hello')
    reader.read(message({ summary: true }))
    expect(reader.read(part({ id: 'a', type: 'text', text: 'the story so far' }))).toEqual([])
    expect(reader.read(part({ id: 'b', type: 'step-finish', tokens: { input: 1 } }))).toHaveLength(1)
  })

  test('usage is the sum of the steps, caches and thoughts included, each counted once', () => {
    const reader = readTurn('hello')
    reader.read(message())
    const step = (id: string) =>
      part({
        id,
        type: 'step-finish',
        cost: 0.5,
        tokens: { input: 1, output: 2, reasoning: 4, cache: { read: 8, write: 16 } },
      })
    const events = [step('a'), step('a'), step('b')].flatMap(event => reader.read(event))
    expect(events).toHaveLength(2)
    expect(events[1]).toEqual({
      type: 'usage',
      usage: { inputTokens: 50, outputTokens: 12, costUsd: 1 },
      of: 'turn',
      model: 'x/m',
    })
  })

  test('a reply without a reason gets it from the events', () => {
    const reader = readTurn('hello')
    reader.read({ type: 'session.error', properties: { error: { data: { message: 'Model not found: x/y.' } } } })
    reader.read({ type: 'session.error', properties: { error: { data: { message: 'Unexpected server error.' } } } })
    expect(endOfReply({ status: 500, body: {} }, reader)).toMatchObject({
      why: 'unknown-model',
      detail: 'Model not found: x/y.',
    })
  })

  test('no input makes it throw', () => {
    const types = ['message.updated', 'message.part.updated', 'message.part.delta', 'session.error', 'session.status']
    const event = fc.record({ type: fc.constantFrom(...types), properties: fc.anything() })
    const partial = fc.record({
      type: fc.constantFrom(...types),
      properties: fc.record({ info: fc.anything(), part: fc.anything(), error: fc.anything(), delta: fc.anything() }),
    })
    fc.assert(
      fc.property(fc.array(fc.oneof(event, partial)), fc.jsonValue(), (events, body) => {
        const reader = readTurn('hello')
        reader.read(message())
        for (const one of events) reader.read(one)
        expect(endOfReply({ status: 200, body: parseLine(JSON.stringify(body)) ?? {} }, reader).type).toBe('ended')
      }),
      { numRuns: 300 },
    )
  })
})

test.each([
  [{ name: 'ProviderAuthError', data: { message: 'the key is missing' } }, 'not-logged-in'],
  [{ name: 'APIError', data: { message: 'no', statusCode: 429 } }, 'rate-limited'],
  [{ name: 'APIError', data: { message: 'Unable to connect. Is the computer able to access the url?' } }, 'overloaded'],
  [{ name: 'ContextOverflowError', data: { message: 'too long' } }, 'refused'],
  [{}, 'refused'],
])('the error %j is %s', (error, why) => {
  expect(failureOf(error)).toMatchObject({ ok: false, why })
})

test('a limit keeps the text that says how long it lasts', () => {
  const data = { message: 'slow down', statusCode: 429, responseHeaders: { 'retry-after': '3600' } }
  expect(failureOf({ name: 'APIError', data })).toMatchObject({ detail: 'slow down (retry-after: 3600)' })
})

describe('the stream of events', () => {
  const line = (event: Json) => `data: ${JSON.stringify(event)}\n\n`

  test('is read the same, however it is cut into pieces', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' }))),
        fc.integer({ min: 1, max: 20 }),
        (events, size) => {
          const heard: Json[] = []
          const stream = readStream(event => heard.push(event), 1e6)
          const bytes = Buffer.from(events.map(line).join(': a comment\nevent: x\n'))
          for (let at = 0; at < bytes.length; at += size) stream.feed(bytes.subarray(at, at + size))
          expect(heard).toEqual(events.map(event => JSON.parse(JSON.stringify(event))))
        },
      ),
      { numRuns: 200 },
    )
  })

  test('garbage is skipped, and an endless line is not waited for', () => {
    const heard: Json[] = []
    const stream = readStream(event => heard.push(event), 100)
    expect(stream.feed(Buffer.from(`data: {"half":\n\ndata: [1]\nnonsense\n${line({ ok: 'yes' })}`))).toBe(true)
    expect(heard).toEqual([{ ok: 'yes' }])
    expect(stream.feed(Buffer.alloc(101, 'x'))).toBe(false)
  })
})

describe('a server that stays up', () => {
  const session = { id: 'ses_1', directory: '/space' }
  const message = {
    info: { id: 'msg_1', role: 'assistant', time: { completed: 1 } },
    parts: [{ type: 'text', text: 'done' }],
  }
  let closing: (() => void)[] = []
  afterEach(() => {
    for (const close of closing) close()
    closing = []
  })

  /** Answers calls by script; an unanswered prompt is answered when it is aborted. */
  async function open(answers: Readonly<Record<string, Json>>, permission: 'once' | 'reject' = 'reject') {
    const calls: string[] = []
    let stream: ServerResponse | null = null
    let waiting: ServerResponse | null = null
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const piece of request) body += String(piece)
      calls.push(`${request.method} ${request.url} ${body}`.trim())
      if (request.url === '/event') {
        stream = response
        return void response.writeHead(200).write('data: {"type":"server.connected"}\n\n')
      }
      const answer = answers[`${request.method} ${request.url}`]
      if (answer === undefined && request.url?.endsWith('/message')) waiting = response
      else response.end(JSON.stringify(answer ?? {}))
      if (request.url?.endsWith('/abort')) waiting?.end(JSON.stringify(message))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    closing.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    const said = `opencode server listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`
    let gone = () => {}
    const end = new Promise<ProcessEnd>(resolve => {
      gone = () => resolve({ code: 0, signal: null, stderr: '', trouble: null, detail: '' })
    })
    const nothing = () => undefined
    const child: RunningProcess = {
      pid: null,
      lines: (async function* () {
        yield 'Warning: something else first'
        yield said
        await end
      })(),
      end,
      send: nothing,
      endInput: nothing,
      startCounting: nothing,
      kill: () => gone(),
    }
    const host = await openServer(
      child,
      { user: 'opencode', password: 'x', permission, title: 'A title', promptFor: ({ prompt }) => ({ prompt }) },
      new AbortController().signal,
      { ...usualPatience, retryMs: 100, eventsMs: 100 },
    )
    const collect = async (given: Partial<Turn> = {}) => {
      const events: AgentEvent[] = []
      for await (const event of host.run(turn(given), new AbortController().signal)) events.push(event)
      return events.at(-1)
    }
    return { collect, calls, emit: (event: Json) => stream?.write(`data: ${JSON.stringify(event)}\n\n`), host }
  }
  const usual = { 'GET /path': { directory: '/space' }, 'POST /session': session, 'GET /session/ses_1': session }

  test('the reply alone is enough if the events do not arrive', async () => {
    const { collect, calls } = await open({ ...usual, 'POST /session/ses_1/message': message })
    expect(await collect()).toEqual({ type: 'ended', ok: true, text: 'done' })
    expect(calls).toContain('POST /session {"title":"A title"}')
  })

  test('a session of another folder counts as lost, and so does an invalid id', async () => {
    const { collect } = await open({ ...usual, 'GET /session/ses_2': { id: 'ses_2', directory: '/elsewhere' } })
    for (const id of ['ses_2', crypto.randomUUID()])
      expect(await collect({ session: { id, resume: true } })).toMatchObject({ why: 'session-lost' })
  })

  test.each(['once', 'reject'] as const)(
    'a permission request is answered with %s, and a question is refused',
    async reply => {
      const { calls, emit } = await open(usual, reply)
      emit({ type: 'permission.asked', properties: { id: 'per_1', sessionID: 'ses_of_a_helper' } })
      emit({ type: 'question.asked', properties: { id: 'que_1', sessionID: 'ses_of_a_helper' } })
      await expect.poll(() => calls).toContain(`POST /permission/per_1/reply {"reply":"${reply}"}`)
      await expect.poll(() => calls).toContain('POST /question/que_1/reject {}')
    },
  )

  test.each([
    ['at once when it has tried often enough', { attempt: 3 }, {}],
    ['when it would wait for long', { attempt: 1, next: 1_900_000_000_000 }, { until: 1_900_000_000_000 }],
  ])('a model that does not answer is not waited for: %s', async (_, retry, more) => {
    const { collect, calls, emit } = await open(usual)
    const ended = collect()
    await expect.poll(() => calls.some(call => call.includes('/message'))).toBe(true)
    const status = { type: 'retry', message: 'rate limit', next: 1, ...retry }
    emit({ type: 'session.status', properties: { sessionID: 'ses_1', status } })
    expect(await ended).toEqual({ type: 'ended', ok: false, why: 'rate-limited', detail: 'rate limit', ...more })
    expect(calls).toContain('POST /session/ses_1/abort')
  })

  test('if its event stream ends, it is closed', async () => {
    const { host } = await open(usual)
    for (const close of closing) close()
    await host.gone
  })
})
