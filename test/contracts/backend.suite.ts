// What every backend must hold, looped over the registry: to be registered is to be tested. Both ways of running one are held to it.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/app/clock.ts'
import type { AgentEvent, Backend, Ended, Turn } from '../../src/base/agent.ts'
import { scrubber } from '../../src/base/scrub.ts'
import { claudeSdk } from '../../src/run/backends/claude-sdk.ts'
import { chooseBackend, dialects } from '../../src/run/backends/index.ts'
import { childEnvironment } from '../../src/run/cli.ts'
import { openPool, type Pool } from '../../src/run/pool.ts'
import { descendants, isAlive, treeMemory } from '../../src/run/proc.ts'
import { openScratch } from '../../src/run/scratch.ts'
import { turnWith } from '../../src/run/turn.fixture.ts'

const fakes = join(import.meta.dirname, '../fakes')
/** Every registered CLI has a stand-in of its name; one without fails its suite. The SDK starts claude. */
const standIn = (name: string) => (name === 'echo' ? null : join(fakes, `${name === claudeSdk ? 'claude' : name}.mjs`))

const home = mkdtempSync(join(tmpdir(), 'aetheel-backend-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const environment = {
  PATH: process.env.PATH ?? '',
  HOME: home,
  SECRET_OF_OTHERS: 'sesame',
  STAND_IN_STEP_MS: '1',
}

/** Each backend is held to the same in both ways; one that cannot stay up gets a process per turn in either. */
export type Way = 'cold' | 'warm'
let pools: Pool[] = []
afterEach(async () => {
  await Promise.all(pools.map(pool => pool.close()))
  pools = []
})

function open(name: string, way: Way = 'cold', program = standIn(name)): Backend {
  const pool = openPool({
    rules: { most: 3, memoryBytes: 4e9, idleMs: 60_000 },
    clock: systemClock,
    tell: () => undefined,
    memoryOf: treeMemory,
  })
  pools.push(pool)
  const choice = chooseBackend(name, {
    program,
    sdkPath: join(fakes, 'claude-agent-sdk'),
    environment,
    handOn: ['STAND_IN_STEP_MS'],
    extra: {},
    scrub: scrubber(['sesame-secret']),
    clock: systemClock,
    pool: way === 'warm' ? pool : null,
    scratch: openScratch(join(home, 'runs')),
  })
  if (!choice.ok) throw new Error(choice.why)
  return choice.backend
}

const nothingRuns = async () => {
  await Promise.all(pools.map(pool => pool.close()))
  // The SDK ends its program by itself, and does not tell when it is gone: a moment later it must be.
  await vi.waitFor(() => expect(descendants(process.pid).filter(isAlive)).toEqual([]), 2000)
}

const journal = (): { what: string; pid: number; prompt: string; system: string }[] => {
  const file = join(home, '.claude-stand-in', 'journal.jsonl')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(Boolean).map(line => JSON.parse(line))
}

const turn = turnWith({ workingDir: home })

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = []
  for await (const event of events) all.push(event)
  return all
}
const never = new AbortController().signal

/** started? (text | action | usage)* ended, exactly one, last. */
function grammar(events: readonly AgentEvent[]): Ended {
  const ends = events.filter(event => event.type === 'ended')
  expect(ends).toHaveLength(1)
  expect(events.at(-1)).toBe(ends[0])
  return ends[0]!
}

const registered = [...dialects.map(dialect => dialect.name), claudeSdk, 'echo']

const clis = dialects.map(dialect => dialect.name)

export function holdBackends(way: Way): void {
  describe.each(registered)(`the backend %s, ${way}`, name => {
    test('checks out', async () => {
      expect(await open(name, way).check(never)).toMatchObject({ ok: true })
    })

    test('answers: started, text, exactly one end, and the text is what was streamed', async () => {
      const events = await collect(open(name, way).run(turn({ prompt: 'say something' }), never))
      const end = grammar(events)
      expect(end.ok).toBe(true)
      expect(events[0]?.type).toBe('started')
      const streamed = events.flatMap(event => (event.type === 'text' ? [event.delta] : [])).join('')
      expect(end.ok && end.text).toBe(streamed)
      expect(streamed).toContain('say something')
    })

    test('any prompt arrives whole and comes back without a throw', async () => {
      const backend = open(name, way)
      const nasty = [
        '-p',
        '--help',
        '/cost',
        '@memory.md',
        '"quotes"',
        "'; rm -rf /",
        '$(id)',
        '\u2028',
        '👩‍👩‍👧',
        ' lead',
        'line\nbreak',
        'x'.repeat(300_000),
      ]
      for (const prompt of nasty) {
        const end = grammar(await collect(backend.run(turn({ prompt }), never)))
        expect(
          end.ok && end.text.replaceAll('\u2060', '').includes(prompt.slice(prompt.lastIndexOf('\n') + 1).slice(-50)),
        ).toBe(true)
      }
    })

    test('an abort ends the run as stopped, at any moment, and nothing stays behind', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 150 }), async ms => {
          const abort = new AbortController()
          setTimeout(() => abort.abort(), ms)
          const end = grammar(
            await collect(open(name, way).run(turn({ prompt: `[[hang]] ${'word '.repeat(2000)}` }), abort.signal)),
          )
          expect(end).toMatchObject({ ok: false, why: 'stopped' })
        }),
        { numRuns: 12 },
      )
      await nothingRuns()
    })

    test('an abort before the start still ends once', async () => {
      expect(grammar(await collect(open(name, way).run(turn(), AbortSignal.abort())))).toMatchObject({
        ok: false,
        why: 'stopped',
      })
    })
  })

  describe.each([...clis, claudeSdk])(`the CLI backend %s, ${way}`, name => {
    const run = async (prompt: string, given: Partial<Turn> = {}) =>
      collect(open(name, way).run(turn({ prompt, ...given }), never))

    test('a session is resumed, and a lost one is said to be lost', async () => {
      const first = await run('one')
      const session = first.find(event => event.type === 'started')?.session ?? ''
      const second = grammar(await run('two', { session: { id: session, resume: true } }))
      expect(second).toMatchObject({ ok: true, text: 'turn 2: two' })
      expect(grammar(await run('x', { session: { id: crypto.randomUUID(), resume: true } }))).toMatchObject({
        ok: false,
        why: 'session-lost',
      })
    })

    test('tool use is told as it begins and ends', async () => {
      const actions = (await run('[[tool]]')).filter(event => event.type === 'action')
      expect(actions.map(action => action.phase)).toEqual(['started', 'ended'])
    })

    test.each([
      ['[[api:429]]', 'rate-limited'],
      ['[[api:401]]', 'not-logged-in'],
      ['[[api:500]]', 'overloaded'],
      ['[[api:529]]', 'overloaded'],
      ['[[login]]', 'not-logged-in'],
      ['[[die]]', 'crashed'],
      ['[[dieafter]]', 'crashed'],
      ['[[onlygarbage]]', 'unreadable'],
      ['[[huge]]', 'unreadable'],
    ])('%s is %s', async (prompt, why) => {
      expect(grammar(await run(prompt))).toMatchObject({ ok: false, why })
    })

    // Only claude has a word for it.
    if (name === 'claude' || name === claudeSdk)
      test('[[maxturns]] is max-turns', async () => {
        expect(grammar(await run('[[maxturns]]'))).toMatchObject({ ok: false, why: 'max-turns' })
      })

    test('garbage between the lines is passed over', async () => {
      expect(grammar(await run('[[garbage]]'))).toMatchObject({ ok: true })
    })

    test('one that ignores SIGTERM, or leaves a process in another group, is gone all the same', async () => {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), 400)
      const before = performance.now()
      grammar(
        await collect(open(name, way).run(turn({ prompt: '[[ignoreterm]] [[grandchild]] [[deaf]]' }), abort.signal)),
      )
      expect(performance.now() - before).toBeLessThan(9000)
      await nothingRuns()
    })

    test('a program that is not there is not installed; one that cannot run does not check out', async () => {
      const missing = open(name, way, join(home, 'nothing-here'))
      expect(await missing.check(never)).toMatchObject({ ok: false, detail: expect.stringContaining('Install') })
      expect(grammar(await collect(missing.run(turn(), never)))).toMatchObject({ ok: false, why: 'not-installed' })
      expect((await open(name, way, '/bin/false').check(never)).ok).toBe(false)
    })

    // opencode has no word for the end: its leaving is the end.
    if (name !== 'opencode' && way === 'cold')
      test('the final does not wait for a program that lingers, but the next turn of the session does', async () => {
        const backend = open(name)
        const given = backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
        const before = performance.now()
        const events = await collect(backend.run(turn({ prompt: '[[linger:2500]]', session: given }), never))
        grammar(events)
        const answered = performance.now() - before
        const id = events.find(event => event.type === 'started')?.session ?? ''
        grammar(await collect(backend.run(turn({ prompt: 'next', session: { id, resume: true } }), never)))
        expect(answered).toBeLessThan(2400)
        expect(performance.now() - before).toBeGreaterThan(2490)
      })
  })
}

export function holdWhatStaysUp(): void {
  describe.each([...dialects.filter(dialect => dialect.warm).map(dialect => dialect.name), claudeSdk])(
    'the CLI backend %s stays up',
    name => {
      const begun = () => journal().filter(entry => entry.what === 'begin')
      const pidOf = (prompt: string) => begun().findLast(entry => entry.prompt.includes(prompt))?.pid

      async function conversation() {
        const backend = open(name, 'warm')
        const mark = crypto.randomUUID()
        let session: Turn['session'] = backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
        const say = async (prompt: string, given: Partial<Turn> = {}, signal = never) => {
          const events = await collect(backend.run(turn({ prompt: `${prompt} ${mark}`, session, ...given }), signal))
          const started = events.find(event => event.type === 'started')
          if (started?.session) session = { id: started.session, resume: true }
          return grammar(events)
        }
        return { say, pid: (prompt: string) => pidOf(`${prompt} ${mark}`), backend }
      }

      test('the second turn is taken by the same process, in the same session', async () => {
        const { say, pid } = await conversation()
        await say('one')
        expect(await say('two')).toMatchObject({ ok: true, text: expect.stringContaining('turn 2') })
        expect(pid('two')).toBe(pid('one'))
      })

      test('an interrupted turn leaves it usable', async () => {
        const { say, pid } = await conversation()
        await say('one')
        const abort = new AbortController()
        setTimeout(() => abort.abort(), 300)
        expect(await say('[[hang]] two', {}, abort.signal)).toMatchObject({ ok: false, why: 'stopped' })
        expect(await say('three')).toMatchObject({ ok: true })
        expect(pid('three')).toBe(pid('one'))
      })

      test('a changed system prompt is in effect in the next turn', async () => {
        const { say } = await conversation()
        await say('one', { systemPrompt: 'You are the first.' })
        await say('two', { systemPrompt: 'You are the second.' })
        const last = begun().at(-1)
        expect(last?.system).toContain('You are the second.')
        expect(last?.system).not.toContain('You are the first.')
      })

      test('an error of one turn is not the end of the next', async () => {
        const { say } = await conversation()
        await say('one')
        expect(await say('[[api:401]] two')).toMatchObject({ ok: false, why: 'not-logged-in' })
        expect(await say('three')).toMatchObject({ ok: true })
      })

      test('one that died between two turns is replaced, and one that dies in a turn fails that turn alone', async () => {
        const { say, pid } = await conversation()
        await say('one')
        process.kill(pid('one')!, 'SIGKILL')
        expect(await say('two')).toMatchObject({ ok: true, text: expect.stringContaining('turn 2') })
        expect(await say('[[dieafter]] three')).toMatchObject({ ok: false, why: 'crashed' })
        expect(await say('four')).toMatchObject({ ok: true })
      })

      test('one that dies in its very first turn fails it with what became of it', async () => {
        const { say } = await conversation()
        const died = await say('[[die]] one')
        expect(died).toMatchObject({
          ok: false,
          why: 'crashed',
          detail: expect.stringMatching(/exit(ed)? (with )?code 3/),
        })
      })

      test('conversations side by side do not hear each other', async () => {
        const talks = await Promise.all([conversation(), conversation(), conversation()])
        const said = await Promise.all(talks.map(async ({ say }, i) => [await say(`a${i}`), await say(`b${i}`)]))
        for (const [i, ends] of said.entries())
          for (const [n, end] of ends.entries())
            expect(end).toMatchObject({ ok: true, text: expect.stringMatching(`turn ${n + 1}: ${'ab'[n]}${i}`) })
      })
    },
  )
}

export function holdDialects(): void {
  describe.each(clis)('the dialect %s', name => {
    // Feature: multi-cli-backend, Property 8: Non-zero exit code produces error result
    test('any non-zero exit with any stderr is an error that carries the stderr, cut and scrubbed', () => {
      const dialect = dialects.find(one => one.name === name)!
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 255 }),
          fc.string({ maxLength: 2000 }),
          fc.array(fc.string()),
          (code, stderr, lines) => {
            const reader = dialect.read(turn())
            for (const line of lines) expect(reader.line(line).some(event => event.type === 'ended')).toBe(false)
            const end = reader.end({ code, signal: null, stderr, trouble: null, detail: '' })
            expect(end.ok).toBe(false)
            if (!end.ok) expect(end.detail).toBe(stderr.trim() || `exit code ${code}`)
          },
        ),
        { numRuns: 200 },
      )
    })

    test('the environment of the child is made from nothing', () => {
      const dialect = dialects.find(one => one.name === name)!
      const own = dialect.ownVariables[0]!.replace('*', 'X')
      fc.assert(
        fc.property(fc.dictionary(fc.stringMatching(/^[A-Z_]{3,20}$/), fc.string()), canaries => {
          const env = childEnvironment(dialect, {
            program: 'x',
            environment: {
              ...canaries,
              PATH: '/bin',
              DISCORD_BOT_TOKEN: 'no',
              HTTP_TOKEN: 'no',
              [own]: 'yes',
              NAMED: 'yes',
            },
            handOn: ['NAMED'],
            extra: { EXTRA: 'yes' },
            scrub: text => text,
            pool: null,
            scratch: openScratch(join(home, 'runs')),
          })
          expect(env).toMatchObject({ PATH: '/bin', [own]: 'yes', NAMED: 'yes', EXTRA: 'yes' })
          expect(Object.values(env)).not.toContain('no')
          expect(Object.keys(env).filter(key => /^(DISCORD|HTTP_TOKEN|SECRET)/.test(key))).toEqual([])
        }),
        { numRuns: 100 },
      )
    })

    test('whatever a program writes, the reader never throws and says at most one end', () => {
      const dialect = dialects.find(one => one.name === name)!
      const line = fc.oneof(
        fc.string(),
        fc.json(),
        fc
          .record({
            type: fc.constantFrom('system', 'assistant', 'user', 'stream_event', 'result'),
            session_id: fc.anything(),
            message: fc.anything(),
            event: fc.anything(),
            result: fc.anything(),
            errors: fc.anything(),
            usage: fc.anything(),
            is_error: fc.anything(),
          })
          .map(value => JSON.stringify(value) ?? ''),
      )
      fc.assert(
        fc.property(fc.array(line, { maxLength: 30 }), lines => {
          const reader = dialect.read(turn())
          for (const text of lines)
            expect(reader.line(text).filter(event => event.type === 'ended').length).toBeLessThanOrEqual(1)
          expect(reader.end({ code: 1, signal: null, stderr: 'x', trouble: null, detail: '' }).type).toBe('ended')
        }),
        { numRuns: 300 },
      )
    })
  })
}
