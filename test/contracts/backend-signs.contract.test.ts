// What a backend reports during a turn: that it is thinking, and that its session has the prompt, so that a retry does not repeat it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { AgentEvent } from '../../src/base/agent.ts'
import { composePrompt, wordsOf } from '../../src/prompt/compose.ts'
import { watchRun } from '../../src/run/events.ts'
import { createTestTurns, taken } from '../../src/run/turns.fixture.ts'
import { collect, grammar, home, never, open, programs, turn } from './backend.suite.ts'

const ways = ['cold', 'warm'] as const

describe.each(ways)('%s', way => {
  test('thinking longer than the silence timeout is allowed, and its content is shown only as a summary of thoughts', async () => {
    const patience = { silenceMs: 4000, ceilingMs: 60_000 }
    const received = await Promise.all(
      programs.map(async (name): Promise<[string, AgentEvent[]]> => {
        const backend = open(name, way)
        const prompt = '[[think:6500]] and say it'
        return [
          name,
          await collect(watchRun(signal => backend.run(turn({ prompt }), signal), patience, systemClock, never)),
        ]
      }),
    )
    for (const [name, events] of received) {
      expect([name, grammar(events)]).toMatchObject([name, { ok: true }])
      expect([name, events.map(({ type }) => type)]).toEqual([name, expect.arrayContaining(['thinking'])])
      expect(JSON.stringify(events.filter(({ type }) => type !== 'thinking'))).not.toContain('secret')
    }
  }, 60_000)

  test('a hanging CLI is still ended', async () => {
    const patience = { silenceMs: 2500, ceilingMs: 60_000 }
    const ends = await Promise.all(
      programs.map(async name => {
        const backend = open(name, way)
        const run = watchRun(signal => backend.run(turn({ prompt: '[[hang]]' }), signal), patience, systemClock, never)
        return [name, grammar(await collect(run))]
      }),
    )
    expect(ends).toMatchObject(programs.map(name => [name, { ok: false, why: 'timed-out' }]))
  }, 60_000)

  test.each(programs)('%s has a message only once in its session, even after retries', async name => {
    const { take, sessions } = createTestTurns(() => [], {
      backend: open(name, way),
      settings: { workingDir: home, allowedTools: [], permissionMode: 'bypassPermissions' },
      model: null,
      newSessionId: () => crypto.randomUUID(),
      compose: ({ event, received, interrupted }) =>
        composePrompt({
          text: received === 'all' ? '' : wordsOf(event, '-----mark'),
          received: received !== 'nothing',
          interrupted,
        }),
    })
    const say = (id: number, text: string, given = {}) => take(taken({ id, text, ...given }), never)
    const mark = crypto.randomUUID()
    expect(await say(1, `first ${mark}`)).toMatchObject({ type: 'done' })
    const words = `[[busy:2]] second ${mark}`
    expect(await say(2, words)).toMatchObject({ type: 'later', retry: true })
    expect(await say(2, words, { retries: 1 })).toMatchObject({ type: 'later', retry: true })
    expect(await say(2, words, { retries: 2 })).toMatchObject({ type: 'done' })
    const [kept] = sessions.kept.values()
    expect(toldIn(kept?.id ?? '').filter(one => one.includes(mark))).toEqual([`first ${mark}`, words])
    // A message edited meanwhile is sent with its current text.
    expect(await say(3, `[[busy:1]] third ${mark}`)).toMatchObject({ type: 'later' })
    expect(await say(3, `other words ${mark}`, { retries: 1 })).toMatchObject({ type: 'done' })
    expect(toldIn(kept?.id ?? '').at(-1)).toBe(`other words ${mark}`)
  })
})

const toldIn = (session: string): string[] => {
  const dir = join(home, '.claude-stand-in')
  expect(readdirSync(dir)).toContain(`${session}.json`)
  return JSON.parse(readFileSync(join(dir, `${session}.json`), 'utf8'))
}
