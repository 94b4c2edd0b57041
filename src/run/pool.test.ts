// The pool with hosts that only pretend: who stays, who leaves, and when there is no room.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { Host } from './host.ts'
import { openPool, type PoolRules, type Wanted } from './pool.ts'

const megabyte = 1024 * 1024

function setup(rules: Partial<PoolRules> = {}) {
  let now = 0
  let ticks: (() => void)[] = []
  const clock: Clock = {
    now: () => now,
    sleep: (_, signal) =>
      new Promise(resolve => {
        ticks.push(resolve)
        signal.addEventListener('abort', () => resolve())
      }),
  }
  const up = new Map<number, string>()
  const opened: string[] = []
  const signals: Signal[] = []
  const memory = new Map<string, number>()
  let pids = 0
  const pool = openPool({
    rules: { most: 2, memoryBytes: 1000 * megabyte, idleMs: 60_000, ...rules },
    clock,
    tell: signal => signals.push(signal),
    memoryOf: pid => (memory.get(up.get(pid) ?? '') ?? 100) * megabyte,
  })
  const wanted = (session: string, given: Partial<Wanted> = {}): Wanted => ({
    backend: 'claude',
    session,
    fixed: '',
    async open() {
      opened.push(session)
      const pid = ++pids
      up.set(pid, session)
      const { promise, resolve } = Promise.withResolvers<void>()
      const leave = () => {
        up.delete(pid)
        resolve()
      }
      return { pid, run: async function* () {}, close: async () => leave(), kill: leave, gone: promise } satisfies Host
    },
    ...given,
  })
  const never = new AbortController().signal
  return {
    pool,
    wanted,
    opened,
    signals,
    memory,
    lease: (session: string, given: Partial<Wanted> = {}) => pool.lease(wanted(session, given), never),
    use: async (session: string, given: Partial<Wanted> = {}) => {
      now++
      const lease = await pool.lease(wanted(session, given), never)
      lease?.release()
      return lease !== null
    },
    up: () => [...up.values()].sort(),
    async pass(ms: number) {
      now += ms
      const due = ticks
      ticks = []
      for (const tick of due) tick()
      await new Promise(resolve => setImmediate(resolve))
    },
  }
}

test('the same session gets the same host, another one its own', async () => {
  const { use, opened } = setup()
  await use('a')
  await use('b')
  await use('a')
  expect(opened).toEqual(['a', 'b'])
})

test('when it is full, the one that was not used for longest makes room; a busy one never does', async () => {
  const { use, lease, up } = setup()
  await use('a')
  await use('b')
  await use('a')
  await use('c')
  expect(up()).toEqual(['a', 'c'])
  const [one, two] = [await lease('a'), await lease('c')]
  expect(await use('d')).toBe(false)
  expect(up()).toEqual(['a', 'c'])
  one?.release()
  two?.release()
})

test('what it may not be told anew replaces the host, after the old one has left', async () => {
  const { use, opened, up } = setup()
  await use('a', { fixed: 'one' })
  await use('a', { fixed: 'two' })
  expect(opened).toEqual(['a', 'a'])
  expect(up()).toEqual(['a'])
})

test('one host for all sessions ends its turns beside the one that replaces it', async () => {
  const { lease, up } = setup()
  const old = await lease('', { fixed: 'one' })
  const fresh = await lease('', { fixed: 'two' })
  expect(fresh?.host.pid).not.toBe(old?.host.pid)
  expect(up()).toHaveLength(2)
  old?.release()
  await new Promise(resolve => setImmediate(resolve))
  expect(up()).toHaveLength(1)
  fresh?.release()
})

test('the idle leave, and so do the oldest when all together take too much memory', async () => {
  const { use, up, pass, memory } = setup({ most: 5 })
  await use('a')
  await pass(50_000)
  await use('b')
  await pass(15_000)
  expect(up()).toEqual(['b'])
  await use('c')
  memory.set('b', 600)
  memory.set('c', 600)
  await pass(15_000)
  expect(up()).toEqual(['c'])
})

test('a host that would not fit into the memory is not opened', async () => {
  const { use, opened } = setup({ memoryBytes: 200 * megabyte })
  expect(await use('a')).toBe(false)
  expect(opened).toEqual([])
})

test('what does not come up is told, and after two times left alone for a while', async () => {
  const { use, signals, opened, pass } = setup()
  const open = () => Promise.reject(new Error('no such flag'))
  for (let i = 0; i < 4; i++) expect(await use('a', { open })).toBe(false)
  expect(signals).toEqual(Array(2).fill({ type: 'warm-trouble', backend: 'claude', why: 'no such flag' }))
  expect(await use('a')).toBe(false)
  await pass(400_000)
  expect(await use('a')).toBe(true)
  expect(opened).toEqual(['a'])
})

test('a host that died is not handed out again, and a discarded one is ended', async () => {
  const { lease, opened, up } = setup()
  const first = await lease('a')
  first?.release()
  first?.host.kill()
  await first?.host.gone
  const second = await lease('a')
  second?.discard()
  await new Promise(resolve => setImmediate(resolve))
  expect(up()).toEqual([])
  expect(opened).toEqual(['a', 'a'])
})

test('closing ends all of them, also one that is on its way up', async () => {
  const { pool, wanted, up, use } = setup()
  await use('a')
  const slow = Promise.withResolvers<void>()
  const base = wanted('b')
  const late = pool.lease(
    { ...base, open: signal => slow.promise.then(() => base.open(signal)) },
    new AbortController().signal,
  )
  const closed = pool.close()
  slow.resolve()
  await closed
  await late
  expect(up()).toEqual([])
})

test('whatever happens: never more than may be, and one host for a session', async () => {
  const step = fc.record({
    session: fc.constantFrom('a', 'b', 'c', 'd'),
    fixed: fc.constantFrom('x', 'y'),
    what: fc.constantFrom('use', 'keep', 'give back', 'discard'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      const { lease, up, pool } = setup()
      const kept = new Map<string, NonNullable<Awaited<ReturnType<typeof lease>>>>()
      for (const { session, fixed, what } of steps) {
        const held = kept.get(session)
        if (held) {
          kept.delete(session)
          if (what === 'discard') held.discard()
          else held.release()
        } else {
          const got = await lease(session, { fixed })
          if (got && what === 'keep') kept.set(session, got)
          else if (got && what === 'discard') got.discard()
          else got?.release()
        }
        await new Promise(resolve => setImmediate(resolve))
        expect(new Set(up()).size).toBe(up().length)
        expect(up().length).toBeLessThanOrEqual(2)
      }
      await pool.close()
      expect(up()).toEqual([])
    }),
    { numRuns: 200 },
  )
})
