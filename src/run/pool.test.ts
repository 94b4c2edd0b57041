// The pool with fake hosts: which stay, which are closed, and when there is no room.
import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Signal } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { type Host, openPool, type PoolRules, type Wanted } from './pool.ts'

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
  /** Sessions that a second process was started for while the first was still there. */
  const doubled: string[] = []
  const signals: Signal[] = []
  const memory = new Map<string, number>()
  let pids = 0
  const pool = openPool({
    rules: { most: 2, memoryBytes: 1000 * megabyte, idleMs: 60_000, ...rules },
    clock,
    emit: signal => signals.push(signal),
    memoryOf: pid => (memory.get(up.get(pid) ?? '') ?? 100) * megabyte,
  })
  const wanted = (session: string, given: Partial<Wanted> = {}): Wanted => ({
    backend: 'claude',
    apart: '',
    session,
    turnOf: session,
    fixed: '',
    async open() {
      opened.push(session)
      if (session !== '' && [...up.values()].includes(session)) doubled.push(session)
      const pid = ++pids
      up.set(pid, session)
      const { promise, resolve } = Promise.withResolvers<void>()
      const leave = () => {
        up.delete(pid)
        resolve()
      }
      // It takes a moment to exit, like a process.
      const close = () => new Promise<void>(left => setImmediate(() => left(leave())))
      return { pid, run: async function* () {}, close, kill: leave, gone: promise } satisfies Host
    },
    ...given,
  })
  const never = new AbortController().signal
  return {
    pool,
    wanted,
    opened,
    doubled,
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
      await settled()
    },
  }
}

/** Waits until closing hosts have exited. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 4; turns++) await new Promise(resolve => setImmediate(resolve))
}

test('the same session gets the same host, another one its own', async () => {
  const { use, opened } = setup()
  await use('a')
  await use('b')
  await use('a')
  expect(opened).toEqual(['a', 'b'])
})

test('a host for all sessions is not shared between people, and neither replaces the host of the other', async () => {
  const { use, opened } = setup()
  for (const apart of ['', 'ada', '', 'ada', 'bob', 'ada']) expect(await use('', { apart, fixed: apart })).toBe(true)
  // The owner's, Ada's, and Bob's, for which the least recently used one made room.
  expect(opened).toHaveLength(3)
})

test('failing hosts of one person do not turn off warm mode for others', async () => {
  const { lease, use } = setup()
  const open = () => Promise.reject(new Error('no'))
  for (let time = 0; time < 2; time++) expect(await lease('', { apart: 'mallory', open })).toBeNull()
  expect(await use('', { apart: 'mallory' })).toBe(false)
  expect(await use('')).toBe(true)
})

test('a lease leaves no listener on its signal, and one that is aborted while the host starts leaves it to others', async () => {
  const { pool, wanted, opened } = setup()
  const stop = new AbortController()
  for (let i = 0; i < 3; i++) (await pool.lease(wanted('a'), stop.signal))?.release()
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  const slow = Promise.withResolvers<void>()
  const base = wanted('b')
  const open = (signal: AbortSignal) => slow.promise.then(() => base.open(signal))
  const late = pool.lease({ ...base, open }, stop.signal)
  stop.abort()
  expect(await late).toBe(null)
  slow.resolve()
  expect(await pool.lease(wanted('b'), new AbortController().signal)).not.toBe(null)
  expect(opened).toEqual(['a', 'b'])
})

test('when the pool is full, the least recently used host makes room, never a busy one', async () => {
  const { use, lease, up } = setup()
  await use('a')
  await use('b')
  await use('a')
  await use('c')
  await settled()
  expect(up()).toEqual(['a', 'c'])
  const [one, two] = [await lease('a'), await lease('c')]
  expect(await use('d')).toBe(false)
  expect(up()).toEqual(['a', 'c'])
  one?.release()
  two?.release()
})

test('a change of fixed options replaces the host after the old one has exited', async () => {
  const { use, opened, up } = setup()
  await use('a', { fixed: 'one' })
  await use('a', { fixed: 'two' })
  expect(opened).toEqual(['a', 'a'])
  expect(up()).toEqual(['a'])
})

test('a session requested twice at once gets one host, even while the previous one is closing', async () => {
  const { lease, use, opened, doubled } = setup()
  const [one, two] = await Promise.all([lease('a'), lease('a')])
  expect(two?.host.pid).toBe(one?.host.pid)
  one?.release()
  two?.release()
  await use('b', { fixed: 'old' })
  const [three, four] = await Promise.all([lease('b', { fixed: 'new' }), lease('b', { fixed: 'new' })])
  expect(three).not.toBe(null)
  expect(four?.host.pid).toBe(three?.host.pid)
  expect(opened).toEqual(['a', 'b', 'b'])
  expect(doubled).toEqual([])
})

test('while a turn runs, no second process gets its session, even with other options', async () => {
  const { lease, use, opened } = setup()
  const running = await lease('a', { fixed: 'one' })
  expect(await use('a', { fixed: 'two' })).toBe(false)
  expect(opened).toEqual(['a'])
  running?.release()
  await settled()
  expect(await use('a', { fixed: 'two' })).toBe(true)
  expect(opened).toEqual(['a', 'a'])
})

test('an idle host that is closing is gone before another host gets its session', async () => {
  const { use, pass, lease, opened, doubled } = setup()
  await use('a')
  const [, again] = await Promise.all([pass(60_000), lease('a')])
  again?.release()
  await settled()
  await use('a')
  expect(doubled).toEqual([])
  expect(opened.length).toBeLessThanOrEqual(2)
})

test('after a rename the host is found by the new session id', async () => {
  const { lease, use, opened } = setup()
  const first = await lease('a')
  first?.rename('b')
  first?.release()
  const again = await lease('b')
  expect(again?.host.pid).toBe(first?.host.pid)
  await use('a')
  expect(opened).toEqual(['a', 'a'])
  again?.release()
})

test('a host for all sessions takes all of them, even those that come while it starts', async () => {
  const { lease, opened } = setup()
  const leases = await Promise.all(['a', 'b', 'c'].map(turnOf => lease('', { turnOf })))
  expect(new Set(leases.map(one => one?.host.pid)).size).toBe(1)
  expect(opened).toEqual([''])
})

test('a host for all sessions finishes its turns beside the one that replaces it', async () => {
  const { lease, up } = setup()
  const old = await lease('', { fixed: 'one' })
  const fresh = await lease('', { fixed: 'two' })
  expect(fresh?.host.pid).not.toBe(old?.host.pid)
  expect(up()).toHaveLength(2)
  old?.release()
  await settled()
  expect(up()).toHaveLength(1)
  fresh?.release()
})

test('idle hosts are closed, and so are the oldest when all together use too much memory', async () => {
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

test('a host for all sessions that exceeds the memory limit takes no more turns, closes after its last one, and is replaced', async () => {
  const { lease, up, pass, memory, opened } = setup()
  const first = await lease('')
  memory.set('', 1200)
  await pass(15_000)
  expect(await lease('')).toBe(null)
  expect(up()).toHaveLength(1)
  first?.release()
  await settled()
  expect(up()).toEqual([])
  memory.set('', 200)
  const next = await lease('')
  expect(next).not.toBe(null)
  await pass(15_000)
  // While it stays within its limits it is reused.
  for (let i = 0; i < 30; i++) expect(await lease('', { turnOf: `s${i}` })).not.toBe(null)
  expect(opened).toHaveLength(2)
})

test('a host for all sessions frees unused sessions before it has to close', async () => {
  const { lease, pass, memory, opened, wanted } = setup()
  const shed: number[] = []
  let held = 3
  const open = async (signal: AbortSignal) => {
    const host = await wanted('').open(signal)
    const sessions = {
      has: (id: string) => id === 'known',
      shed(idleMs: number) {
        shed.push(idleMs)
        const gone = idleMs === 0 ? held : 0
        held -= gone
        return gone
      },
    }
    return { ...host, sessions }
  }
  await lease('', { open })
  memory.set('', 950)
  await pass(15_000)
  expect(shed).toEqual([60_000])
  expect(await lease('', { open, turnOf: 'known' })).not.toBe(null)
  expect(shed).toEqual([60_000])
  expect(await lease('', { open, turnOf: 'new' })).not.toBe(null)
  expect(shed).toEqual([60_000, 0])
  memory.set('', 1100)
  expect(await lease('', { open, turnOf: 'newer' })).toBe(null)
  expect(opened).toHaveLength(1)
})

test('a host that would not fit into the memory is not opened', async () => {
  const { use, opened } = setup({ memoryBytes: 200 * megabyte })
  expect(await use('a')).toBe(false)
  expect(opened).toEqual([])
})

test('a host that does not start is reported, and after two failures there is a cooldown', async () => {
  const { use, signals, opened, pass } = setup()
  const open = () => Promise.reject(new Error('no such flag'))
  for (let i = 0; i < 4; i++) expect(await use('a', { open })).toBe(false)
  expect(signals).toEqual(Array(2).fill({ type: 'warm-trouble', backend: 'claude', why: 'no such flag' }))
  expect(await use('a')).toBe(false)
  await pass(400_000)
  expect(await use('a')).toBe(true)
  expect(opened).toEqual(['a'])
})

test('a dead host is not leased again, and a discarded one is killed', async () => {
  const { lease, opened, up } = setup()
  const first = await lease('a')
  first?.release()
  first?.host.kill()
  await first?.host.gone
  const second = await lease('a')
  second?.discard()
  await settled()
  expect(up()).toEqual([])
  expect(opened).toEqual(['a', 'a'])
})

test('closing the pool ends all hosts, even one that is starting', async () => {
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

test('for any sequence of leases: never more hosts than allowed, and one host per session', async () => {
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
        await settled()
        expect(new Set(up()).size).toBe(up().length)
        expect(up().length).toBeLessThanOrEqual(2)
      }
      await pool.close()
      expect(up()).toEqual([])
    }),
    { numRuns: 200 },
  )
})

test('for any concurrent leases: one process per session', async () => {
  const step = fc.record({
    session: fc.constantFrom('a', 'b', 'c'),
    fixed: fc.constantFrom('x', 'y'),
    what: fc.constantFrom('use', 'keep', 'give back all', 'discard', 'time passes', 'wait'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      const { lease, doubled, pool, pass } = setup()
      const asked: Promise<unknown>[] = []
      let kept: { release(): void }[] = []
      for (const { session, fixed, what } of steps) {
        if (what === 'wait') await settled()
        else if (what === 'time passes') await pass(60_000)
        else if (what === 'give back all') {
          for (const one of kept) one.release()
          kept = []
        } else
          asked.push(
            lease(session, { fixed }).then(got => {
              if (got && what === 'keep') kept.push(got)
              else if (what === 'discard') got?.discard()
              else got?.release()
            }),
          )
      }
      await Promise.all(asked)
      await pool.close()
      expect(doubled).toEqual([])
    }),
    { numRuns: 200 },
  )
})
