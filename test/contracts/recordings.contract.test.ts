// Recorded output of the real CLIs, replayed to the dialects by a real process, intact and corrupted.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { ActionPhase, AgentEvent, Ended, FailureReason, Turn } from '../../src/base/agent.ts'
import { createBackend, dialects } from '../../src/run/backends/index.ts'
import { type Dialect, endOf } from '../../src/run/cli.ts'
import { createTempDirs } from '../../src/run/temp-dirs.ts'
import { turnWith } from '../../src/run/turn.fixture.ts'
import { answer, beforeTool, type Case, cases, type Recording, readRecordings, used } from '../cli/recordings.ts'
import { changes } from '../fakes/spoil.ts'
import { processesWith } from '../harness/gateway.ts'

const home = mkdtempSync(join(tmpdir(), 'aetheel-replay-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const never = new AbortController().signal

const turnOf = ({ run: { prompt, session } }: Recording): Turn => turnWith({ workingDir: home })({ prompt, session })

function replay(recording: Recording, trouble = '', signal = never): AsyncIterable<AgentEvent> {
  const backend = createBackend(recording.run.cli, {
    program: join(import.meta.dirname, '../fakes/replay.mjs'),
    environment: { PATH: process.env.PATH, HOME: home, REPLAY_FILE: recording.file, REPLAY_TROUBLE: trouble },
    handOn: ['REPLAY_*'],
    extra: {},
    scrub: text => text,
    clock: systemClock,
    pool: null,
    sdkPath: null,
    tempDirs: createTempDirs(join(home, 'runs')),
  })
  if (!backend) throw new Error(`there is no backend ${recording.run.cli}`)
  return backend.run(turnOf(recording), signal)
}

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = []
  // Garbage is a sign of life, and nothing else.
  for await (const event of events) if (event.type !== 'alive') all.push(event)
  return all
}

/** started? (text | action | usage)* ended, exactly one, last. */
function grammar(events: readonly AgentEvent[]): Ended {
  const ends = events.filter(event => event.type === 'ended')
  expect(ends).toHaveLength(1)
  expect(events.at(-1)).toBe(ends[0])
  expect(events.slice(1).every(event => event.type !== 'started')).toBe(true)
  return ends[0]!
}

const streamed = (events: readonly AgentEvent[]) =>
  events.map(event => (event.type === 'text' ? event.delta : '')).join('')
const sessionOf = (events: readonly AgentEvent[]) => events.find(event => event.type === 'started')?.session

/** `answers`: how many answers the model gave in this session, and in this turn. */
function spent(events: readonly AgentEvent[], answers: { session: number; turn: number }): void {
  const told = events.findLast(event => event.type === 'usage')
  const times = answers[told?.of ?? 'turn']
  expect(told?.usage).toMatchObject({ inputTokens: used.input * times, outputTokens: used.output * times })
}

const fails = (why: FailureReason) => (events: readonly AgentEvent[], end: Ended) => {
  expect(end).toMatchObject({ ok: false, why })
  expect(streamed(events)).toBe('')
}

/** A failed tool does not fail the turn. */
const acts = (phase: ActionPhase) => (events: readonly AgentEvent[], end: Ended) => {
  // The text before and after the tool are two paragraphs, in the answer and while streaming.
  expect(end).toEqual({ type: 'ended', ok: true, text: `${beforeTool}\n\n${answer}`, last: answer })
  expect(streamed(events)).toBe(`${beforeTool}\n\n${answer}`)
  const actions = events.filter(event => event.type === 'action')
  expect(actions.map(action => action.phase)).toEqual(['started', phase])
  expect(actions[0]).toMatchObject({ id: expect.stringMatching(/./), label: expect.stringMatching(/^\w+: ./) })
  expect(actions[1]).toMatchObject({ id: actions[0]?.id, label: actions[0]?.label })
  spent(events, { session: 2, turn: 2 })
}

const expected: Record<Case, (events: readonly AgentEvent[], end: Ended, recording: Recording) => void> = {
  success(events, end, { run }) {
    expect(end).toEqual({ type: 'ended', ok: true, text: answer })
    expect(streamed(events)).toBe(answer)
    expect(sessionOf(events)).toEqual(run.session?.id ?? expect.stringMatching(/^[\w-]{20,}$/))
    spent(events, { session: 1, turn: 1 })
  },
  resume(events, end, { run }) {
    expect(run.session?.resume).toBe(true)
    expect(end).toEqual({ type: 'ended', ok: true, text: answer })
    expect(streamed(events)).toBe(answer)
    expect(sessionOf(events)).toBe(run.session?.id)
    spent(events, { session: 2, turn: 1 })
  },
  tool: acts('ended'),
  'tool-failed': acts('failed'),
  401: fails('not-logged-in'),
  429: fails('rate-limited'),
  500: fails('overloaded'),
  lost: fails('session-lost'),
  forgotten: fails('session-lost'),
  // It cannot know that we killed it: output that stops early is not an answer, whatever the exit code is.
  killed: (_, end) => expect(end).toMatchObject({ ok: false, why: 'crashed' }),
}

const recorded = new Map(dialects.map(({ name }) => [name, readRecordings(name)]))
const recordingsOf = (cli: string) => recorded.get(cli) ?? []
const successOf = (cli: string) => recordingsOf(cli).findLast(({ run }) => run.case === 'success')!

describe.each(dialects.map(({ name }) => name))('the recordings of the real %s', cli => {
  test.each(cases)('%s has been recorded', wanted => {
    expect(recordingsOf(cli).map(({ run }) => run.case)).toContain(wanted)
  })

  test.each(recordingsOf(cli).map(one => ({ one, version: one.run.version, what: one.run.case })))(
    '$version $what is understood',
    async ({ one }) => {
      const events = await collect(replay(one))
      const end = grammar(events)
      if (one.run.cut === null) expected[one.run.case](events, end, one)
      else expect(end.ok).toBe(false)
    },
  )

  test('is understood with garbage before, between and after its lines', async () => {
    const [plain, spoilt] = await Promise.all([
      collect(replay(successOf(cli))),
      collect(replay(successOf(cli), 'garbage')),
    ])
    expect(spoilt).toEqual(plain)
    expect(grammar(spoilt).ok).toBe(true)
  })

  test.each([
    ['huge', 'unreadable'],
    ['die', 'crashed'],
  ])('%s is %s', async (trouble, why) => {
    expect(grammar(await collect(replay(successOf(cli), trouble)))).toMatchObject({ ok: false, why })
  })

  test('contains no machine and no person, and is small', () => {
    for (const { file } of recordingsOf(cli)) {
      const text = readFileSync(file, 'utf8')
      expect(text).not.toMatch(/(?<!\w)\/(?:tmp|root|work|Users|private|var)\/|\/home\/(?!user\b)/)
      expect(text).not.toMatch(/(?:127\.0\.0\.1|localhost):[1-9]/)
      expect(text).not.toMatch(/\b(?:sk-[\w-]{12,}|AIza\w{10,}|gh[pousr]_\w{10,}|eyJ\w{10,}\.)/)
      expect(text.length).toBeLessThan(100_000)
    }
  })
})

test('a program that ignores SIGTERM, or leaves a process in another group, is gone after the stop', async () => {
  const abort = new AbortController()
  const ours = () => processesWith(`HOME=${home}`)
  const runs = dialects.map(({ name }) => {
    // A process that had ended by itself would prove nothing, so this one never reports its end.
    const killed = recordingsOf(name).findLast(({ run }) => run.case === 'killed')!
    return collect(replay(killed, 'deaf,grandchild', abort.signal))
  })
  await expect.poll(() => ours().length, { timeout: 20_000 }).toBe(2 * dialects.length)
  // They ignore signals before their children exist.
  abort.abort()
  for (const events of await Promise.all(runs)) expect(grammar(events)).toMatchObject({ ok: false, why: 'stopped' })
  expect(ours()).toEqual([])
})

describe.each(dialects)('the reader of $name, with corrupted recordings', dialect => {
  const spoilt = fc
    .record({
      recording: fc.constantFrom(...recordingsOf(dialect.name)),
      changes: fc.array(changes, { minLength: 1, maxLength: 12 }),
    })
    .map(({ recording, changes }) => ({
      recording,
      lines: changes.reduce((lines, change) => change(lines), recording.lines),
    }))

  test('never throws, reports only valid events, and ends exactly once', () => {
    fc.assert(
      fc.property(spoilt, fc.boolean(), ({ recording, lines }, fine) => {
        const events = hear(dialect, turnOf(recording), lines, fine ? { code: 0, signal: null } : recording.run)
        grammar(events.filter((event, i) => i === 0 || event.type !== 'started'))
        for (const event of events) expect(isEvent(event), JSON.stringify(event)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('does not throw on lines after its end', () => {
    fc.assert(
      fc.property(spoilt, ({ recording, lines }) => {
        const reader = dialect.read(turnOf(recording))
        for (const line of [...lines, ...recording.lines]) {
          const ends = reader.line(line).map(event => event.type === 'ended')
          // Lines after an end in the same chunk must not be lost.
          expect(ends.slice(0, -1)).not.toContain(true)
        }
        expect(reader.end({ ...recording.run, trouble: null, detail: '' }).type).toBe('ended')
      }),
      { numRuns: 200 },
    )
  })
})

/** Like cli.ts: up to the first end; without one, the end of the process counts. */
function hear(dialect: Dialect, turn: Turn, lines: readonly string[], how: Pick<Recording['run'], 'code' | 'signal'>) {
  const reader = dialect.read(turn)
  const events: AgentEvent[] = []
  for (const line of lines)
    for (const event of reader.line(line)) {
      events.push(event)
      if (event.type === 'ended') return events
    }
  return [...events, endOf({ ...how, stderr: '', trouble: null, detail: '' }, reader)]
}

function isEvent(event: AgentEvent): boolean {
  const text = (value: unknown) => typeof value === 'string'
  const count = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
  switch (event.type) {
    case 'started':
      return event.session === null || (text(event.session) && event.session !== '')
    case 'text':
      return text(event.delta)
    case 'stored':
    case 'alive':
      return true
    case 'thinking':
      return typeof event.quietly === 'boolean'
    case 'trouble':
      return text(event.why)
    case 'asks':
      return text(event.ask.id) && typeof event.answer === 'function'
    case 'withdrawn':
      return text(event.id)
    case 'steerable':
      return typeof event.steer === 'function'
    case 'action':
      return text(event.id) && text(event.label) && ['started', 'ended', 'failed'].includes(event.phase)
    case 'usage': {
      const { inputTokens, outputTokens, costUsd } = event.usage
      return count(inputTokens) && count(outputTokens) && (costUsd === null || count(costUsd))
    }
    case 'ended':
      return event.ok ? text(event.text) : text(event.why) && text(event.detail) && event.detail !== ''
    default:
      return event satisfies never
  }
}
