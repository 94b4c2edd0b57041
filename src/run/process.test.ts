// What happens to a process and everything it started when it exits, is killed, or cannot start.
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { faultArguments } from '../../test/crash/faults.ts'
import type { NewEvent } from '../base/event.ts'
import { runTag } from './end-processes.ts'
import { hasRoomForConnection, hasRoomForTurn, outputLimits, startProcess } from './process.ts'
import { isAlive } from './process-table.ts'
import { answer, createTestTurns, failure, never, now, taken } from './turns.fixture.ts'

const started = (script: string, given: { input?: string | null; graceMs?: number } = {}) => {
  const { input = null, graceMs = outputLimits.graceMs } = given
  const mark = join(tmpdir(), `run-${crypto.randomUUID()}`)
  return startProcess(
    {
      ...{ file: '/bin/sh', args: ['-c', script], cwd: tmpdir(), input },
      env: { PATH: process.env.PATH ?? '', [runTag]: mark },
    },
    { ...outputLimits, graceMs },
  )
}

const numbersOf = async (lines: AsyncIterable<string>, count: number): Promise<number[]> => {
  const numbers: number[] = []
  for await (const line of lines) {
    numbers.push(Number(line))
    if (numbers.length === count) break
  }
  return numbers
}

test('the end of a process that stays up resolves as soon as it exits, because a turn may wait for it', async () => {
  const child = started('echo up; read -r _; echo bye')
  const lines = child.lines[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('up')
  // No time passes: anything that waits for a timer would never end.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  child.endInput()
  expect(await child.end).toMatchObject({ code: 0, trouble: null })
  vi.useRealTimers()
  expect((await lines.next()).value).toBe('bye')
})

test('a process whose output is held open by a background process is awaited only for a moment', async () => {
  const child = started('sleep 600 & exit 3')
  expect(await child.end).toMatchObject({ code: 3 })
})

/** Prints its pid and keeps running, whatever happens to the others. */
const stays = `export STAYS='echo $$ >&3; exec sleep 600 >/dev/null 2>&1 3>&-'; exec 3>&1;`
const kinds: Record<string, string> = {
  'in the background': 'sh -c "$STAYS" &',
  'in a session of its own': 'setsid sh -c "$STAYS" &',
  'as a daemon, forked twice': `setsid sh -c 'sh -c "$STAYS" & exit' & wait $!;`,
  'in the background, with another environment': 'env -i PATH="$PATH" sh -c "$STAYS" 3>&3 &',
}

describe.each(Object.entries(kinds))('a process started %s', (_, script) => {
  test('is ended when its parent exits by itself', async () => {
    const child = started(`${stays} ${script} sleep 0.2; exit 0`, { input: '' })
    const [pid = 0] = await numbersOf(child.lines, 1)
    expect(await child.end).toMatchObject({ code: 0, trouble: null })
    expect(isAlive(pid)).toBe(false)
  })

  test('is ended when its parent is killed', async () => {
    const child = started(`${stays} ${script} trap '' TERM; while :; do sleep 0.1; done`, { input: '', graceMs: 200 })
    const [pid = 0] = await numbersOf(child.lines, 1)
    expect(isAlive(pid)).toBe(true)
    child.kill()
    await child.end
    expect(isAlive(pid)).toBe(false)
  })
})

test('a process that is gone is not signalled any more: its pid may be reused', async () => {
  const child = started('exit 0', { input: '', graceMs: 20 })
  await child.end
  const signals = vi.spyOn(process, 'kill')
  child.kill()
  await new Promise(resolve => setTimeout(resolve, 100))
  expect(signals.mock.calls.filter(([pid]) => Math.abs(pid) === child.pid)).toEqual([])
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('after a kill, nothing more of what it wrote is passed on', async () => {
  const child = started('seq 1000; while :; do echo line; done', { input: '' })
  let seen = 0
  for await (const _ of child.lines) if (++seen === 10) child.kill()
  expect(seen).toBe(10)
  await child.end
})

test('a process that writes faster than it is read is paused, and nothing is lost', async () => {
  const child = started(`i=0; while [ $i -lt 3000 ]; do echo "$i ${'x'.repeat(10_000)}"; i=$((i + 1)); done`, {
    input: '',
  })
  const lines = child.lines[Symbol.asyncIterator]()
  await lines.next()
  await new Promise(resolve => setTimeout(resolve, 500))
  // It writes 30 MB; it is still writing, because hardly anything was read.
  expect(isAlive(child.pid ?? 0)).toBe(true)
  let last = ''
  for (let next = await lines.next(); !next.done; next = await lines.next()) last = next.value
  expect(last).toMatch(/^2999 /)
})

test('with no descriptors left a process does not start and reports why, and the next one starts', async () => {
  const script = `
    import { closeSync, openSync } from 'node:fs'
    import { startProcess } from ${JSON.stringify(join(import.meta.dirname, 'process.ts'))}
    const run = input => {
      const child = startProcess({ file: '/bin/echo', args: ['hello'], env: {}, cwd: '/', input })
      return child.end
    }
    const held = []
    try { for (;;) held.push(openSync('/dev/null')) } catch {}
    // A few free descriptors are not enough for the three pipes either.
    const ends = []
    for (let free = 0; free < 6; free++) {
      ends.push(await run(''), await run(null))
      closeSync(held.pop())
    }
    while (held.length > 0) closeSync(held.pop())
    console.log(JSON.stringify({ ends, then: await run('') }))`
  const fault = process.env.AETHEEL_TEST_FAULT ? faultArguments(process.env.AETHEEL_TEST_FAULT) : []
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', ...fault, '--input-type=module']
  const child = spawn('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(script)
  let said = ''
  for await (const chunk of child.stdout) said += chunk
  const { ends, then } = JSON.parse(said)
  expect(ends).toHaveLength(12)
  for (const end of ends) if (end.trouble !== null) expect(end.trouble).toBe('no-room')
  expect(ends[0]).toMatchObject({ trouble: 'no-room', detail: expect.stringContaining('EMFILE') })
  expect(then).toMatchObject({ code: 0, trouble: null })
})

test('a process with few open files has room for a turn and for a connection', () => {
  expect(hasRoomForTurn()).toBe(true)
  expect(hasRoomForConnection()).toBe(true)
})

test('without free descriptors a turn is deferred as often as necessary, and uses up no attempt', async () => {
  let room = false
  const { take, asked, ends, signals } = createTestTurns(() => answer('hello'), { hasRoom: () => room })
  for (const attempt of [1, 2, 3]) {
    const outcome = await take(taken({ attempt }), never)
    expect(outcome).toMatchObject({ type: 'later', at: now + 5000 })
    expect(outcome).not.toHaveProperty('retry')
  }
  expect(asked).toEqual([])
  expect(ends.map(end => end.type)).toEqual(['put-off', 'put-off', 'put-off'])
  expect(signals).toContainEqual(expect.objectContaining({ type: 'turn-put-off', why: 'no-room' }))
  room = true
  expect(await take(taken(), never)).toMatchObject({ type: 'done' })
})

test('an event deferred before anything was done still runs agent_begin, and a job still starts a new session', async () => {
  let room = true
  const { take, asked } = createTestTurns(turn => answer('x', turn.session?.id ?? 's'), {
    hooks: { agent_begin: 'before' },
    hasRoom: () => room,
  })
  const what = { kind: 'cron', name: 'x', instruction: 'do it' } as const
  const item: NewEvent = { key: 'k', lane: 'cron:x', what, replyTo: null, source: 'cron' }
  const run = (given = {}) => take(taken({ lane: 'cron:x', item, ...given }), never)
  await run({ id: 1 })
  room = false
  await run({ id: 2 })
  await run({ id: 2, putOff: true })
  room = true
  await run({ id: 2, putOff: true })
  await run({ id: 2, putOff: true, retries: 1 })
  expect(asked.map(({ prompt }) => prompt)).toEqual(['before', 'do it', 'before', 'do it', 'do it'])
  const [first, second, retry] = asked.filter(({ prompt }) => prompt === 'do it').map(({ session }) => session)
  expect([first?.resume, second?.resume, retry]).toEqual([false, false, { id: second?.id, resume: true }])
})

test('a backend that could not be started for lack of room is tried again without using up a retry, and no other is asked', async () => {
  const { take, sessions } = createTestTurns(() => [failure('no-room')])
  for (const retries of [0, 3, 30]) {
    const outcome = await take(taken({ retries }), never)
    expect(outcome).toMatchObject({ type: 'later', at: now + 5000 })
    expect(outcome).not.toHaveProperty('retry')
  }
  // Nothing was begun that could be gone on with.
  expect(sessions.kept.size).toBe(0)
})

test('if the persona cannot be read for lack of descriptors, the turn waits instead of running without it', async () => {
  const trouble = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
  const prompts = [Promise.reject(trouble), Promise.resolve('the persona')]
  const systemPrompt = () => prompts.shift() ?? Promise.reject(trouble)
  const { take, asked } = createTestTurns(() => answer('hello'), { systemPrompt })
  expect(await take(taken(), never)).toMatchObject({ type: 'later', at: now + 5000 })
  expect(asked).toEqual([])
  expect(await take(taken(), never)).toMatchObject({ type: 'done' })
  expect(asked).toMatchObject([{ systemPrompt: 'the persona' }])
})
