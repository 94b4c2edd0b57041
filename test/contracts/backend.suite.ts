// The contract of every backend, looped over the registry: registered means tested. It applies to cold and warm runs.
import { getEventListeners } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { AgentEvent, Backend, Ended, Turn } from '../../src/base/agent.ts'
import { scrubber } from '../../src/base/scrub.ts'
import { claudeSdk } from '../../src/run/backends/claude-sdk.ts'
import { chooseBackend, dialects } from '../../src/run/backends/index.ts'
import { childEnvironment } from '../../src/run/child-environment.ts'
import { openPool, type Pool } from '../../src/run/pool.ts'
import { descendants, isAlive, treeMemory } from '../../src/run/process-table.ts'
import { createTempDirs } from '../../src/run/temp-dirs.ts'
import { turnWith } from '../../src/run/turn.fixture.ts'
import { watchdog } from '../../src/run/watchdog.ts'

const fakes = join(import.meta.dirname, '../fakes')
/** Every registered CLI has a fake of its name; without one its suite fails. The SDK starts claude. */
const standIn = (name: string) => (name === 'echo' ? null : join(fakes, `${name === claudeSdk ? 'claude' : name}.mjs`))

export const home = mkdtempSync(join(tmpdir(), 'aetheel-backend-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const environment = {
  PATH: process.env.PATH ?? '',
  HOME: home,
  SECRET_OF_OTHERS: 'sesame',
  STAND_IN_STEP_MS: '1',
}

/** Each backend runs cold and warm; one that cannot stay running gets a process per turn in both. */
export type Way = 'cold' | 'warm'
let pools: Pool[] = []
afterEach(async () => {
  await Promise.all(pools.map(pool => pool.close()))
  pools = []
})

export function open(name: string, way: Way = 'cold', program = standIn(name)): Backend {
  const pool = openPool({
    rules: { most: 3, memoryBytes: 4e9, idleMs: 60_000 },
    clock: systemClock,
    emit: () => undefined,
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
    tempDirs: createTempDirs(join(home, 'runs')),
  })
  if (!choice.ok) throw new Error(choice.why)
  return choice.backend
}

const nothingRuns = async () => {
  await Promise.all(pools.map(pool => pool.close()))
  // The SDK ends its program itself and does not report its exit, so it is checked a moment later.
  const others = () => descendants(process.pid).filter(pid => isAlive(pid) && pid !== watchdog.pid())
  await vi.waitFor(() => expect(others()).toEqual([]), 10_000)
}

export const journal = (): { what: string; pid: number; prompt: string; system: string }[] => {
  const file = join(home, '.claude-stand-in', 'journal.jsonl')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(Boolean).map(line => JSON.parse(line))
}

export const turn = turnWith({ workingDir: home })

export async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = []
  for await (const event of events) all.push(event)
  return all
}
export const never = new AbortController().signal

/** Exactly one end, as the last event. */
export function grammar(events: readonly AgentEvent[]): Ended {
  const ends = events.filter(event => event.type === 'ended')
  expect(ends).toHaveLength(1)
  expect(events.at(-1)).toBe(ends[0])
  return ends[0]!
}

const registered = [...dialects.map(dialect => dialect.name), claudeSdk, 'echo']

const clis = dialects.map(dialect => dialect.name)
export const programs = [...clis, claudeSdk]

export function holdBackends(way: Way): void {
  describe.each(registered)(`the backend %s, ${way}`, name => {
    test('passes its check', async () => {
      expect(await open(name, way).check(never)).toMatchObject({ ok: true })
    })

    test('answers: started, text, exactly one end, and the text is what was streamed', async () => {
      const events = await collect(open(name, way).run(turn({ prompt: 'say something' }), never))
      const end = grammar(events)
      expect(end.ok).toBe(true)
      expect(events.find(event => event.type !== 'alive')?.type).toBe('started')
      const streamed = events.flatMap(event => (event.type === 'text' ? [event.delta] : [])).join('')
      expect(end.ok && end.text).toBe(streamed)
      expect(streamed).toContain('say something')
    })

    test('an unknown model is detected before a turn, if the CLI can list its models', async () => {
      const known = async (model: string) => (await open(name, way).checkModel?.(model, home, never))?.known ?? null
      const lists: Record<string, readonly [readonly string[], readonly string[]]> = {
        opencode: [
          ['x/m', 'x/deep/er', 'own'],
          ['made-up', 'x/made-up'],
        ],
        pi: [
          ['m-large', 'small:high', 'x/m-small', 'x/another'],
          ['made-up', 'y/made-up'],
        ],
      }
      const [there, not] = lists[name] ?? [[], []]
      for (const model of there) expect(await known(model), model).toBe(true)
      for (const model of not) expect(await known(model), model).toBe(false)
      if (!lists[name]) expect(await known('made-up')).toBeNull()
    })

    test('a turn leaves no listener on its signal, which may live as long as the gateway', async () => {
      const backend = open(name, way)
      const { signal } = new AbortController()
      for (let i = 0; i < 2; i++) grammar(await collect(backend.run(turn({ prompt: 'say something' }), signal)))
      await vi.waitFor(() => expect(getEventListeners(signal, 'abort')).toHaveLength(0))
    })

    test('any prompt arrives unchanged and comes back without an error', async () => {
      const backend = open(name, way)
      const nasty = [
        '-p',
        '--help',
        '/cost',
        '@memory.md',
        `"quotes" '; rm -rf / $(id) \u2028 👩‍👩‍👧`,
        ' lead',
        'line\nbreak',
        'x'.repeat(300_000),
      ]
      let session: Turn['session'] = null
      for (const prompt of nasty) {
        const events = await collect(backend.run(turn({ prompt, session }), never))
        const end = grammar(events)
        const id = events.find(event => event.type === 'started')?.session
        // One process takes all of them, if it can stay running.
        if (way === 'warm' && id) session = { id, resume: true }
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
        { numRuns: 6 },
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

    test('a session is resumed, and a lost one is reported as lost', async () => {
      const first = await run('one')
      const session = first.find(event => event.type === 'started')?.session ?? ''
      const second = grammar(await run('two', { session: { id: session, resume: true } }))
      expect(second).toMatchObject({ ok: true, text: 'turn 2: two' })
      expect(grammar(await run('x', { session: { id: crypto.randomUUID(), resume: true } }))).toMatchObject({
        ok: false,
        why: 'session-lost',
      })
    })

    test('tool use is reported at its start and end, with its target', async () => {
      const actions = (await run('[[tool]]')).filter(event => event.type === 'action')
      expect(actions.map(action => action.phase)).toEqual(['started', 'ended'])
      expect(actions.map(action => action.label)).toEqual([actions[0]?.label, actions[0]?.label])
      expect(actions[0]?.label).toMatch(/^\w+: .*memory\.md/)
    })

    test('text before and between tools is part of the answer, as it was streamed, and the last part is known', async () => {
      const events = await run('[[between]] and done')
      const streamed = events.flatMap(event => (event.type === 'text' ? [event.delta] : [])).join('')
      expect(streamed).toMatch(/^Let me look\.\n\nOne more thing\.\n\nturn 1: .*and done$/)
      expect(grammar(events)).toEqual({
        ...{ type: 'ended', ok: true, text: streamed },
        last: streamed.slice(streamed.lastIndexOf('\n') + 1),
      })
      expect(events.filter(event => event.type === 'action')).toHaveLength(4)
    })

    // codex exec and gemini report usage only at the end.
    if (name !== 'gemini' && !(name === 'codex' && way === 'cold'))
      test('a stopped turn has reported its usage so far', async () => {
        const abort = new AbortController()
        const events: AgentEvent[] = []
        for await (const event of open(name, way).run(turn({ prompt: '[[between:hang]]' }), abort.signal)) {
          events.push(event)
          if (event.type === 'text' && event.delta.includes('thing.')) setTimeout(() => abort.abort(), 100)
        }
        expect(grammar(events)).toMatchObject({ ok: false, why: 'stopped' })
        const used = events.findLast(event => event.type === 'usage')
        expect(used?.usage.inputTokens).toBeGreaterThanOrEqual(10)
        expect(used?.usage.outputTokens).toBeGreaterThanOrEqual(2)
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

    // Only claude reports it.
    if (name === 'claude' || name === claudeSdk)
      test('[[maxturns]] is max-turns', async () => {
        expect(grammar(await run('[[maxturns]]'))).toMatchObject({ ok: false, why: 'max-turns' })
      })

    test('garbage between the lines is skipped', async () => {
      expect(grammar(await run('[[garbage]]'))).toMatchObject({ ok: true })
    })

    test('a CLI that ignores SIGTERM, or leaves a process in another group, is still killed', async () => {
      const abort = new AbortController()
      setTimeout(() => abort.abort(), 400)
      grammar(
        await collect(open(name, way).run(turn({ prompt: '[[ignoreterm]] [[grandchild]] [[deaf]]' }), abort.signal)),
      )
      await nothingRuns()
    })

    test('a CLI that writes endlessly is still killed, and its remaining output is not processed', async () => {
      const abort = new AbortController()
      const before = process.memoryUsage().rss
      setTimeout(() => abort.abort(), 500)
      let after = 0
      let end: AgentEvent | null = null
      for await (const event of open(name, way).run(turn({ prompt: '[[ignoreterm]] [[flood]]' }), abort.signal)) {
        end = event
        if (event.type === 'ended') break
        if (abort.signal.aborted) after++
        // The consumer has some work with each event.
        if (event.type === 'started') await new Promise(resolve => setTimeout(resolve, 1))
      }
      expect(end).toMatchObject({ type: 'ended', ok: false, why: 'stopped' })
      expect(after).toBeLessThanOrEqual(1)
      expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(400)
      await nothingRuns()
    })

    test('a missing program is not installed; one that cannot run fails the check', async () => {
      const missing = open(name, way, join(home, 'nothing-here'))
      expect(await missing.check(never)).toMatchObject({ ok: false, detail: expect.stringContaining('Install') })
      expect(grammar(await collect(missing.run(turn(), never)))).toMatchObject({ ok: false, why: 'not-installed' })
      expect((await open(name, way, '/bin/false').check(never)).ok).toBe(false)
    })

    // opencode does not report its end: its exit is the end.
    if (name !== 'opencode' && way === 'cold')
      test('the final does not wait for a program that is slow to exit, but the next turn of the session does', async () => {
        const backend = open(name)
        const given = backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
        const mayLeave = join(home, `may-leave-${crypto.randomUUID()}`)
        const events = await collect(backend.run(turn({ prompt: `[[linger:${mayLeave}]]`, session: given }), never))
        grammar(events)
        const id = events.find(event => event.type === 'started')?.session ?? ''
        const next = collect(backend.run(turn({ prompt: `after ${mayLeave}`, session: { id, resume: true } }), never))
        const begun = () =>
          journal().some(({ what, prompt }) => what === 'begin' && prompt.startsWith(`after ${mayLeave}`))
        await new Promise(resolve => setTimeout(resolve, 300))
        expect(begun()).toBe(false)
        writeFileSync(mayLeave, '')
        grammar(await next)
        expect(begun()).toBe(true)
      })
  })
}

export function holdWhatStaysUp(): void {
  describe.each([...dialects.filter(dialect => dialect.warm).map(dialect => dialect.name), claudeSdk])(
    'the CLI backend %s stays running',
    name => {
      const begun = () => journal().filter(entry => entry.what === 'begin')
      const pidOf = (prompt: string) => begun().findLast(entry => entry.prompt.includes(prompt))?.pid

      async function conversation() {
        const backend = open(name, 'warm')
        const mark = crypto.randomUUID()
        const heard: AgentEvent[] = []
        let session: Turn['session'] = backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null
        const say = async (prompt: string, given: Partial<Turn> = {}, signal = never) => {
          const events = await collect(backend.run(turn({ prompt: `${prompt} ${mark}`, session, ...given }), signal))
          const started = events.find(event => event.type === 'started')
          if (started?.session) session = { id: started.session, resume: true }
          heard.push(...events)
          return grammar(events)
        }
        return { say, heard, pid: (prompt: string) => pidOf(`${prompt} ${mark}`), backend }
      }

      test('the same process takes the second turn in the same session', async () => {
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

      test('an error in one turn does not affect the next', async () => {
        const { say } = await conversation()
        await say('one')
        expect(await say('[[api:401]] two')).toMatchObject({ ok: false, why: 'not-logged-in' })
        expect(await say('three')).toMatchObject({ ok: true })
      })

      test('unrequested output between two turns or before one is not used as an answer', async () => {
        const { say, heard } = await conversation()
        for (const [i, prompt] of ['[[unasked]] one', '[[unasked]] two', 'three', 'four'].entries())
          expect(await say(prompt)).toMatchObject({
            ok: true,
            text: expect.stringContaining(`turn ${i + 1}: ${prompt}`),
          })
        expect(JSON.stringify(heard)).not.toContain('nobody asked for')
      })

      test('a process that died between two turns is replaced, and one that dies in a turn fails only that turn', async () => {
        const { say, pid } = await conversation()
        await say('one')
        process.kill(pid('one')!, 'SIGKILL')
        expect(await say('two')).toMatchObject({ ok: true, text: expect.stringContaining('turn 2') })
        expect(await say('[[dieafter]] three')).toMatchObject({ ok: false, why: 'crashed' })
        expect(await say('four')).toMatchObject({ ok: true })
      })

      test('a process that dies in its first turn fails it with the reason', async () => {
        const { say } = await conversation()
        const died = await say('[[die]] one')
        expect(died).toMatchObject({
          ok: false,
          why: 'crashed',
          detail: expect.stringMatching(/exit(ed)? (with )?code 3/),
        })
      })

      test('parallel conversations do not see each other', async () => {
        const conversations = await Promise.all([conversation(), conversation(), conversation()])
        const said = await Promise.all(
          conversations.map(async ({ say }, i) => [await say(`a${i}`), await say(`b${i}`)]),
        )
        for (const [i, ends] of said.entries())
          for (const [n, end] of ends.entries())
            expect(end).toMatchObject({ ok: true, text: expect.stringMatching(`turn ${n + 1}: ${'ab'[n]}${i}`) })
      })
    },
  )
}

export function holdDialects(): void {
  describe.each(clis)('the dialect %s', name => {
    test('any non-zero exit with any stderr, after any lines, is an error that carries the stderr', () => {
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

    test('the child gets only the variables it needs', () => {
      const dialect = dialects.find(one => one.name === name)!
      const own = dialect.ownVariables[0]!.replace('*', 'X')
      fc.assert(
        fc.property(fc.dictionary(fc.stringMatching(/^[A-Z_]{3,20}$/), fc.string()), canaries => {
          const env = childEnvironment(dialect, {
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
          })
          expect(env).toMatchObject({ PATH: '/bin', [own]: 'yes', NAMED: 'yes', EXTRA: 'yes' })
          expect(Object.values(env)).not.toContain('no')
          expect(Object.keys(env).filter(key => /^(DISCORD|HTTP_TOKEN|SECRET)/.test(key))).toEqual([])
        }),
        { numRuns: 100 },
      )
    })

    test('for any output, the reader never throws and reports at most one end', () => {
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
