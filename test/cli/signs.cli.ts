// What the real CLIs report during a turn: long thinking, a failing model, unrequested turns. The backends alone, cold and
// warm, with a fake model on loopback that records its requests.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { AgentEvent, Backend, Turn } from '../../src/base/agent.ts'
import { composePrompt, wordsOf } from '../../src/prompt/compose.ts'
import { createBackend } from '../../src/run/backends/index.ts'
import { watchRun } from '../../src/run/events.ts'
import { openPool, type Pool } from '../../src/run/pool.ts'
import { treeMemory } from '../../src/run/process-table.ts'
import { createTempDirs } from '../../src/run/temp-dirs.ts'
import { turnWith } from '../../src/run/turn.fixture.ts'
import { createTestTurns, taken } from '../../src/run/turns.fixture.ts'
import { processesWith } from '../harness/gateway.ts'
import { type Front, openFront } from './front.ts'
import { type Cli, findModel, findProgram } from './install.ts'
import { setups } from './setups.ts'

interface Model {
  readonly url: string
  on(match: object, response: object | ((request: object) => object), options?: object): void
  getRequests(): { body?: unknown }[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

type Name = Cli | 'claude-sdk'

const answer = 'Hello from the model, several words long.'
const secret = 'a-thought-of-its-own'
const model = findModel()
const name: Name = inject('backend')
const program = findProgram(name)
const never = new AbortController().signal

describe.each(['cold', 'warm'] as const)(`the real ${name}, %s`, way => {
  const why = 'why' in model ? model.why : 'why' in program ? program.why : null
  if (why !== null || 'why' in model || 'why' in program) {
    console.log(`NOT RUN: ${name}: ${why}`)
    test.skipIf(true)(`was not run: ${why}`, () => undefined)
    return
  }
  let home: string
  let mock: Model
  let front: Front
  let pool: Pool
  let backend: Backend
  let turn: (given?: Partial<Turn>) => Turn
  /** How the service fails now; null: it works. */
  let trouble: 'refuses' | 'hangs up' | null = null
  let thought = ''
  const lastSent = () => JSON.stringify(mock.getRequests().at(-1)?.body ?? '')

  beforeAll(async () => {
    const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Model }
    mock = new LLMock({ port: 0 })
    const error = { error: { message: 'internal server error', type: 'api_error' }, status: 500 }
    mock.on({ predicate: () => trouble === 'refuses' }, error)
    mock.on({ predicate: () => trouble === 'hangs up' }, { content: answer }, { truncateAfterChunks: 1, chunkSize: 5 })
    mock.on({ userMessage: /think it over/ }, () => ({ content: answer, reasoning: thought }), {
      latency: 300,
      chunkSize: 20,
    })
    mock.on(
      { userMessage: /in the background/, hasToolResult: false },
      {
        toolCalls: [
          {
            name: 'Bash',
            arguments: JSON.stringify({ command: 'sleep 1', run_in_background: true, description: 'waits' }),
          },
        ],
      },
    )
    mock.on({ userMessage: /task-notification/ }, { content: 'It has ended, which nobody asked.' })
    mock.on({ userMessage: /question (\w+)/ }, request => ({
      content: `the answer to ${/question (\w+)(?!.*question)/s.exec(JSON.stringify(request))?.[1]}`,
    }))
    mock.on({ userMessage: /.*/ }, { content: answer })
    await mock.start()
    front = await openFront(mock.url)
    home = mkdtempSync(join(tmpdir(), 'aetheel-signs-'))
    const isSdk = name === 'claude-sdk'
    const setup = setups[isSdk ? 'claude' : name](home, front.url)
    if (name === 'gemini') fewAttempts(join(home, '.gemini', 'settings.json'))
    pool = openPool({
      rules: { most: 3, memoryBytes: 4e9, idleMs: 600_000 },
      clock: systemClock,
      emit: () => undefined,
      memoryOf: treeMemory,
    })
    const opened = createBackend(name, {
      program: isSdk ? null : program.path,
      sdkPath: isSdk ? dirname(program.path) : null,
      environment: { PATH: process.env.PATH, HOME: home, TMPDIR: tmpdir(), ...setup },
      handOn: Object.keys(setup),
      extra: {},
      scrub: text => text,
      clock: systemClock,
      pool: way === 'warm' ? pool : null,
      tempDirs: createTempDirs(join(home, 'runs')),
    })
    if (!opened) throw new Error(`there is no backend ${name}`)
    backend = opened
    turn = turnWith({ workingDir: home, model: setup.BACKEND_MODEL ?? null, allowedTools: ['Read', 'Write', 'Bash'] })
  })
  afterAll(async () => {
    await pool?.close()
    await vi.waitFor(() => expect(processesWith(`HOME=${home}`)).toEqual([]), 30_000)
    front?.close()
    await mock?.stop()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  })

  const freshSession = (): Turn['session'] =>
    backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
  const collect = async (events: AsyncIterable<AgentEvent>) => {
    const all: AgentEvent[] = []
    for await (const event of events) all.push(event)
    return all
  }

  test('may think longer than the silence timeout; this is shown, but its thoughts are not part of the answer', async () => {
    // Starting takes long on a busy machine, and counts as silence too.
    const began = performance.now()
    const first = await collect(backend.run(turn({ prompt: 'hello', session: freshSession() }), never))
    const silenceMs = Math.ceil(2 * (performance.now() - began) + 3000)
    const id = first.find(event => event.type === 'started')?.session ?? ''
    thought = `${secret} `.repeat(Math.ceil((1.25 * silenceMs) / 300))
    const asked = turn({ prompt: 'think it over', session: { id, resume: true } })
    const patience = { silenceMs, ceilingMs: 10 * silenceMs }
    const events = await collect(watchRun(signal => backend.run(asked, signal), patience, systemClock, never))
    expect(events.at(-1)).toMatchObject({ ok: true, text: answer })
    expect(events.map(({ type }) => type)).toContain('thinking')
    // Only as a summary of its thoughts, which is not part of the answer.
    expect(JSON.stringify(events.filter(({ type }) => type !== 'thinking'))).not.toContain(secret)
  })

  test.each(['refuses', 'hangs up'] as const)(
    'has a message once in its session when the service %s and the turn is retried',
    async how => {
      const { take } = createTestTurns(() => [], {
        backend,
        model: turn().model,
        newSessionId: () => crypto.randomUUID(),
        settings: { workingDir: home, permissionMode: 'bypassPermissions', silenceMs: 200_000, ceilingMs: 300_000 },
        compose: ({ event, received, interrupted }) =>
          composePrompt({
            text: received === 'all' ? '' : wordsOf(event, '-----mark'),
            received: received !== 'nothing',
            interrupted,
          }),
      })
      const say = (id: number, text: string, retries: number) => take(taken({ id, text, retries }), never)
      const occurrences = (text: string) => lastSent().split(text).length - 1
      expect(await say(1, 'the first word', 0)).toMatchObject({ type: 'done' })
      trouble = how
      let end = await say(2, 'the second word', 0)
      // Some CLIs use the partial answer of a broken stream; then there is nothing to retry.
      if (how === 'refuses') expect(end).toMatchObject({ type: 'later' })
      if (end.type === 'later') end = await say(2, 'the second word', 1)
      if (how === 'refuses') expect(end).toMatchObject({ type: 'later' })
      trouble = null
      if (end.type === 'later') expect(await say(2, 'the second word', 2)).toMatchObject({ type: 'done' })
      else expect(await say(3, 'the third word', 0)).toMatchObject({ type: 'done' })
      expect(occurrences('the first word')).toBe(1)
      expect(occurrences('the second word')).toBe(1)
    },
    // Four turns, each with a start and the CLI's own retries.
    900_000,
  )

  if (way === 'warm' && (name === 'claude' || name === 'claude-sdk'))
    test('a turn that it starts by itself is not used as an answer', async () => {
      let session = freshSession()
      const ask = async (prompt: string) => {
        const events = await collect(backend.run(turn({ prompt, session }), never))
        session = { id: session?.id ?? '', resume: true }
        return events
      }
      const before = mock.getRequests().length
      expect((await ask('sleep in the background')).at(-1)).toMatchObject({ ok: true })
      const wasTold = () =>
        mock
          .getRequests()
          .slice(before)
          .some(({ body }) => JSON.stringify(body).includes('task-notification'))
      await expect.poll(wasTold, { timeout: 30_000 }).toBe(true)
      for (const question of ['one', 'two', 'three'])
        expect((await ask(`question ${question}`)).at(-1)).toMatchObject({
          ok: true,
          text: `the answer to ${question}`,
        })
    })
})

/** gemini would retry for more than three minutes; this is a user setting without a variable. */
function fewAttempts(settings: string): void {
  const own = JSON.parse(readFileSync(settings, 'utf8'))
  writeFileSync(settings, JSON.stringify({ ...own, general: { maxAttempts: 2 } }))
}
