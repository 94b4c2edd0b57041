// The contract of the lanes, looped over all implementations.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { EventPayload } from '../../src/base/event.ts'
import type { Outcome, QueueStore, Taken } from '../../src/base/lanes.ts'
import type { Clock } from '../../src/base/time.ts'
import { type LaneRules, openLanes } from '../../src/lanes/index.ts'
import { createQueueStore, openDatabase } from '../../src/store/index.ts'

interface Opened {
  readonly queueStore: QueueStore & { counts(queue: 'in' | 'out'): Record<string, number> }
  close(): Promise<void>
}

/** Each opens the queue store in `dir`, like a new process. */
const queueStores: Record<string, (dir: string, clock: Clock) => Opened> = {
  sqlite(dir, clock) {
    const db = openDatabase(join(dir, 'lanes.db'))
    return { queueStore: createQueueStore(db, clock) as unknown as Opened['queueStore'], close: db.close }
  },
}

const folders: string[] = []
const folder = () => {
  // In memory if possible, because hundreds of databases are opened.
  const dir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'aetheel-lanes-'))
  folders.push(dir)
  return dir
}
afterEach(() => {
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true, force: true })
})

const rules = <Item>(given: Partial<LaneRules<Item>> = {}): LaneRules<Item> => ({
  queue: 'in',
  atOnce: 5,
  maxDepth: 1000,
  busy: 'queue',
  collect: false,
  taking: 'durably',
  maxAttempts: 3,
  giveUp: () => ({ type: 'failed', why: 'set aside' }),
  broke: () => ({ type: 'failed', why: 'broke' }),
  stuck: error => {
    throw error
  },
  ...given,
})

const done: Outcome = { type: 'done' }
/** Waits one round of the event loop at a time, but not forever. */
const until = async (so: () => boolean) => {
  for (let rounds = 0; !so(); rounds++) {
    if (rounds > 20_000) throw new Error('it never came to that')
    await new Promise(setImmediate)
  }
}
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe.each(Object.keys(queueStores))('lanes on %s', name => {
  const open = async <Item>(given: Partial<LaneRules<Item>> = {}, dir = folder(), clock: Clock = systemClock) => {
    const opened = queueStores[name]!(dir, clock)
    const lanes = await openLanes<Item>(opened.queueStore, clock, rules<Item>(given))
    const stop = new AbortController()
    let working: Promise<void> = Promise.resolve()
    return {
      ...opened,
      lanes,
      dir,
      work(handle: (taken: Taken<Item>, signal: AbortSignal) => Promise<Outcome>) {
        working = lanes.work(handle, stop.signal)
      },
      async end() {
        stop.abort()
        await working
        await opened.close()
      },
    }
  }

  // Feature: discord-claude-gateway, Property 13: Sequential per-channel queue ordering
  test('a lane runs in order of arrival and never two at a time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(3), fc.nat(2)), { minLength: 1, maxLength: 25 }), async tasks => {
        const queue = await open<number>()
        const order = new Map<string, number[]>()
        const busy = new Set<string>()
        queue.work(async ({ lane, item }) => {
          expect(busy.has(lane)).toBe(false)
          busy.add(lane)
          order.set(lane, [...(order.get(lane) ?? []), item])
          await pause(tasks[item]?.[1] ?? 0)
          busy.delete(lane)
          return done
        })
        await Promise.all(tasks.map(([lane], i) => queue.lanes.put(`lane-${lane}`, `key-${i}`, i)))
        await queue.lanes.drain()
        for (const [lane, seen] of order)
          expect(seen).toEqual(tasks.flatMap(([of], i) => (`lane-${of}` === lane ? [i] : [])))
        expect([...order.values()].flat()).toHaveLength(tasks.length)
        await queue.end()
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 14: Concurrency limit rejection
  test('a new conversation is refused as busy while the limit is reached; one in progress is not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 }), async (atOnce, more) => {
        const queue = await open<number>({ atOnce, busy: 'reject' })
        const gate = Promise.withResolvers<void>()
        let begun = 0
        queue.work(async () => {
          begun++
          await gate.promise
          return done
        })
        for (let i = 0; i < atOnce; i++)
          expect((await queue.lanes.put(`lane-${i}`, `key-${i}`, i)).type).toBe('accepted')
        for (let i = 0; i < more; i++)
          expect(await queue.lanes.put(`new-${i}`, `new-${i}`, i)).toMatchObject({ type: 'refused', why: 'busy' })
        expect(await queue.lanes.put('lane-0', 'second', 9)).toMatchObject({ type: 'accepted', position: 1 })
        await pause(1)
        expect(begun).toBe(atOnce)
        gate.resolve()
        await queue.lanes.drain()
        expect(begun).toBe(atOnce + 1)
        expect(queue.queueStore.counts('in')).toMatchObject({
          received: atOnce + more + 1,
          answered: atOnce + 1,
          refused: more,
        })
        await queue.end()
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 15: Event queue accepts all event types with monotonic IDs
  test('all kinds of events are accepted, with strictly growing ids and times that never go back', async () => {
    const kinds = [
      'message',
      'heartbeat',
      'cron',
      'hook',
      'webhook',
      'report',
    ] as const satisfies EventPayload['kind'][]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...kinds), fc.integer({ min: -5000, max: 5000 })), {
          minLength: 1,
          maxLength: 30,
        }),
        async events => {
          let wall = 1_700_000_000_000
          const clock: Clock = { ...systemClock, now: () => wall }
          const queue = await open<{ kind: string }>({}, folder(), clock)
          const ids: number[] = []
          for (const [i, [kind, jump]] of events.entries()) {
            wall += jump // the wall clock goes backwards as it likes
            const put = await queue.lanes.put('one', `key-${i}`, { kind })
            expect(put.type).toBe('accepted')
            if (put.type === 'accepted') ids.push(put.id)
          }
          const waiting = await queue.lanes.waiting()
          expect(waiting.map(one => one.id)).toEqual(ids)
          expect(waiting.map(one => one.item.kind)).toEqual(events.map(([kind]) => kind))
          for (const [i, one] of waiting.entries()) {
            const before = waiting[i - 1]
            if (!before) continue
            expect(one.id).toBeGreaterThan(before.id)
            expect(one.at).toBeGreaterThanOrEqual(before.at)
          }
          await queue.end()
        },
      ),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 16: Event queue FIFO dispatch with sequential processing
  test('with one lane at a time, everything runs in the exact order of arrival, one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(4), { minLength: 1, maxLength: 20 }), async lanesOf => {
        const queue = await open<number>({ atOnce: 1 })
        const log: string[] = []
        for (const [i, lane] of lanesOf.entries()) await queue.lanes.put(`lane-${lane}`, `key-${i}`, i)
        queue.work(async ({ item }) => {
          log.push(`begin ${item}`)
          await pause(0)
          log.push(`end ${item}`)
          return done
        })
        await queue.lanes.drain()
        expect(log).toEqual(lanesOf.flatMap((_, i) => [`begin ${i}`, `end ${i}`]))
        await queue.end()
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 17: Event queue depth rejection
  test('a full queue refuses new items, reports its depth, and does not grow', async () => {
    const waitingLanes = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), waitingLanes, async (maxDepth, lanes) => {
        const queue = await open<string>({ atOnce: 1, maxDepth, busy: 'queue' })
        for (const [i, lane] of lanes.entries()) {
          const put = await queue.lanes.put(lane, `k${i}`, 'x')
          if (i < maxDepth) expect(put).toMatchObject({ type: 'accepted' })
          else expect(put).toEqual({ type: 'refused', why: 'full', depth: maxDepth })
          expect(queue.lanes.depth().waiting).toBe(Math.min(i + 1, maxDepth))
        }
        // A known key is a duplicate, however full the queue is.
        expect(await queue.lanes.put(lanes[0] ?? 'a', 'k0', 'x')).toMatchObject({ type: 'duplicate' })
        await queue.end()
      }),
      { numRuns: 100 },
    )
  })

  test('the room of an item is free again when it has run, was cancelled, or could not be stored', async () => {
    const queue = await open<string>({ atOnce: 1, maxDepth: 2, busy: 'queue' })
    let n = 0
    const fill = async () => {
      for (const type of ['accepted', 'accepted', 'refused'])
        expect(await queue.lanes.put('a', `k${++n}`, 'x')).toMatchObject({ type })
    }
    await fill()
    expect(await queue.lanes.cancel('a')).toEqual(['k1', 'k2'])
    await fill()
    const gate = Promise.withResolvers<void>()
    let ran = 0
    queue.work(async () => {
      ran++
      await gate.promise
      return done
    })
    // One of the two runs, so there is room for another.
    await vi.waitFor(() => expect(ran).toBe(1))
    expect(await queue.lanes.put('a', 'more', 'x')).toMatchObject({ type: 'accepted' })
    expect(await queue.lanes.put('a', 'too much', 'x')).toMatchObject({ type: 'refused', why: 'full', depth: 2 })
    gate.resolve()
    await queue.lanes.drain()
    expect(ran).toBe(3)
    expect(queue.lanes.depth()).toMatchObject({ waiting: 0, running: 0 })
    await queue.end()
  })

  test('a flood of background items is refused while there is still room for people', async () => {
    const background = (lane: string) => lane.startsWith('webhook:')
    const queue = await open<string>({ atOnce: 1, maxDepth: 10, busy: 'queue', background })
    const put = async (lane: string, i: number) => (await queue.lanes.put(lane, `${lane}-${i}`, 'x')).type
    const storm: string[] = []
    for (let i = 0; i < 20; i++) storm.push(await put('webhook:git', i))
    expect(storm.filter(type => type === 'accepted')).toHaveLength(8)
    expect([await put('webchat:a', 1), await put('webchat:a', 2), await put('webchat:a', 3)]).toEqual([
      ...['accepted', 'accepted', 'refused'],
    ])
    await queue.end()
  })

  test('people go first: background items wait behind them, leave places free and are never refused as busy', async () => {
    const background = (lane: string) => lane.startsWith('cron:')
    const queue = await open<string>({ atOnce: 4, busy: 'reject', background })
    const gates = new Map<string, () => void>()
    const begun: string[] = []
    queue.work(({ item }) => {
      begun.push(item)
      return new Promise(resolve => gates.set(item, () => resolve(done)))
    })
    const put = (lane: string) => queue.lanes.put(lane, lane, lane)
    const end = async (item: string) => {
      await vi.waitFor(() => expect(gates.has(item)).toBe(true))
      gates.get(item)?.()
    }
    const beginsAfter = (earlier: number, ...items: string[]) =>
      vi.waitFor(() => expect(begun.slice(earlier)).toEqual(items))
    for (const n of [1, 2, 3, 4, 5]) expect(await put(`cron:${n}`)).toMatchObject({ type: 'accepted' })
    // Of four places two stay free for people, and a full background does not refuse anybody.
    await beginsAfter(0, 'cron:1', 'cron:2')
    for (const who of ['ada', 'bob', 'cleo', 'dan']) expect(await put(who)).toMatchObject({ type: 'accepted' })
    expect(await put('eve')).toMatchObject({ type: 'refused', why: 'busy' })
    expect(await put('cron:6')).toMatchObject({ type: 'accepted' })
    await beginsAfter(2, 'ada', 'bob')
    // Older background items wait; the next place goes to a person.
    await end('cron:1')
    await beginsAfter(4, 'cleo')
    await end('ada')
    await beginsAfter(5, 'dan')
    for (const item of ['bob', 'cleo', 'dan', 'cron:2']) await end(item)
    await beginsAfter(6, 'cron:3', 'cron:4')
    for (const item of ['cron:3', 'cron:4', 'cron:5', 'cron:6']) await end(item)
    await vi.waitFor(() => expect(begun).toHaveLength(10))
    await queue.end()
  })

  test('a background item gets a place even if people keep writing, and people get one between two of them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 6 }),
        async (atOnce, jobs, minutesPerTurn) => {
          let now = 1_800_000_000_000
          const clock: Clock = { ...systemClock, now: () => now }
          const background = (lane: string) => lane.startsWith('cron:')
          const queue = await open<string>({ atOnce, background }, folder(), clock)
          // As many conversations as places, each with another message waiting whenever one is answered.
          const people = Array.from({ length: atOnce }, (_, i) => `webchat:${i}`)
          let said = 0
          const say = (lane: string) => queue.lanes.put(lane, `${lane}-${said++}`, lane)
          const begun: { lane: string; at: number }[] = []
          const running: (() => void)[] = []
          queue.work(async ({ lane }) => {
            begun.push({ lane, at: now })
            if (!background(lane)) await say(lane)
            await new Promise<void>(end => running.push(end))
            return done
          })
          for (const lane of people) for (let i = 0; i < 2; i++) await say(lane)
          const began = now
          for (let i = 0; i < jobs; i++) await queue.lanes.put(`cron:${i}`, `cron-${i}`, 'job')
          const isOver = () => begun.filter(({ lane }) => background(lane)).length === jobs
          for (let steps = 0; !isOver() && steps < 100; steps++) {
            await until(() => running.length >= atOnce)
            now += minutesPerTurn * 60_000
            running.shift()?.()
            await until(() => running.length >= atOnce)
          }
          const late = begun.filter(({ lane }) => background(lane))
          expect(late.map(({ lane }) => lane)).toEqual(Array.from({ length: jobs }, (_, i) => `cron:${i}`))
          // The job overtakes people only after a long wait, and never twice in a row.
          expect(late.every(({ at }) => at - began >= 10 * 60_000)).toBe(true)
          const order = begun.map(({ lane }) => background(lane))
          expect(order.some((one, i) => one && order[i + 1] === true)).toBe(false)
          const ended = queue.end()
          const leave = setInterval(() => running.pop()?.(), 1)
          await ended.finally(() => clearInterval(leave))
        },
      ),
      { numRuns: 30 },
    )
  })

  test('with one lane named, no other lane runs', async () => {
    const queue = await open<string>()
    const first = new AbortController()
    const begun: string[] = []
    const handle = async ({ item }: Taken<string>) => {
      begun.push(item)
      return done
    }
    for (const lane of ['a', 'hook:shutdown', 'b']) await queue.lanes.put(lane, lane, lane)
    const working = queue.lanes.work(handle, first.signal, 'hook:shutdown')
    await queue.lanes.put('c', 'c', 'c')
    await pause(20)
    expect(begun).toEqual(['hook:shutdown'])
    first.abort()
    await working
    queue.work(handle)
    await queue.lanes.drain()
    expect(begun).toEqual(['hook:shutdown', 'a', 'b', 'c'])
    await queue.end()
  })

  test('at its maximum depth the queue refuses and stays as it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        async (maxDepth, more, together) => {
          const queue = await open<number>({ maxDepth })
          const put = (i: number) => queue.lanes.put(`lane-${i % 3}`, `key-${i}`, i)
          const all = Array.from({ length: maxDepth + more }, (_, i) => i)
          const answers = together ? await Promise.all(all.map(put)) : []
          if (!together) for (const i of all) answers.push(await put(i))
          expect(answers.slice(0, maxDepth).every(answer => answer.type === 'accepted')).toBe(true)
          for (const answer of answers.slice(maxDepth))
            expect(answer).toMatchObject({ type: 'refused', why: 'full', depth: maxDepth })
          expect(queue.lanes.depth().waiting).toBe(maxDepth)
          await queue.end()
        },
      ),
      { numRuns: 100 },
    )
  })

  test('items that always wait are accepted even without room', async () => {
    const alwaysWaits = (item: string) => item === 'missed'
    const queue = await open<string>({ atOnce: 1, maxDepth: 2, busy: 'reject', alwaysWaits })
    const gate = Promise.withResolvers<void>()
    const order: string[] = []
    queue.work(async ({ key }) => {
      await gate.promise
      order.push(key)
      return done
    })
    await queue.lanes.put('ada', 'first', 'now')
    for (let i = 0; i < 5; i++)
      expect(await queue.lanes.put(`lane-${i}`, `missed-${i}`, 'missed')).toMatchObject({ type: 'accepted' })
    expect(await queue.lanes.put('ada', 'second', 'now')).toMatchObject({ type: 'refused', why: 'full', depth: 5 })
    gate.resolve()
    await queue.lanes.drain()
    expect(order).toEqual(['first', 'missed-0', 'missed-1', 'missed-2', 'missed-3', 'missed-4'])
    await queue.end()
  })

  test('a known key is the same item: waiting, running, finished, and even when everything is refused', async () => {
    const queue = await open<string>({ maxDepth: 1 })
    const first = await queue.lanes.put('a', 'key', 'one')
    expect(await queue.lanes.put('a', 'key', 'one')).toEqual({
      type: 'duplicate',
      id: first.type === 'accepted' ? first.id : -1,
    })
    const seen: string[] = []
    queue.work(async ({ item }) => {
      seen.push(item)
      return done
    })
    await queue.lanes.drain()
    expect((await queue.lanes.put('a', 'key', 'one')).type).toBe('duplicate')
    expect(seen).toEqual(['one'])
    await queue.end()
  })

  test('an item that was running when the process died waits again, marked as interrupted; after three attempts it is parked', async () => {
    const dir = folder()
    const seen: unknown[] = []
    for (let life = 1; life <= 3; life++) {
      const queue = await open<string>({}, dir)
      if (life === 1) await queue.lanes.put('a', 'deadly', 'x')
      const taken = Promise.withResolvers<void>()
      queue.work(async ({ attempt, interrupted }) => {
        seen.push([attempt, interrupted])
        taken.resolve()
        return new Promise(() => undefined)
      })
      await taken.promise
      await queue.close() // as if killed: nothing is settled
    }
    const aside: string[] = []
    const queue = await open<string>(
      {
        giveUp: ({ key, attempt }) => {
          aside.push(`${key} ${attempt}`)
          return { type: 'failed', why: 'set aside' }
        },
      },
      dir,
    )
    const others: string[] = []
    await queue.lanes.put('a', 'harmless', 'y')
    queue.work(async ({ key }) => {
      others.push(key)
      return done
    })
    await queue.lanes.drain()
    expect(seen).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ])
    expect(aside).toEqual(['deadly 4'])
    expect(others).toEqual(['harmless'])
    expect(queue.queueStore.counts('in')).toMatchObject({ received: 2, answered: 1, failed: 1 })
    await queue.end()
  })

  test('a deferred item stays at the head of its lane and runs again at its time, with its retries counted', async () => {
    const queue = await open<string>()
    const seen: string[] = []
    queue.work(async ({ key, retries, attempt }) => {
      seen.push(`${key} ${retries} ${attempt}`)
      return key === 'first' && retries < 2 ? { type: 'later', at: systemClock.now() + 20, retry: true } : done
    })
    await queue.lanes.put('a', 'first', '')
    await queue.lanes.put('a', 'second', '')
    await queue.lanes.put('b', 'other', '')
    await queue.lanes.drain()
    expect(seen.filter(one => !one.startsWith('other'))).toEqual(['first 0 1', 'first 1 1', 'first 2 1', 'second 0 1'])
    expect(seen.indexOf('other 0 1')).toBeLessThan(2)
    await queue.end()
  })

  test('a clock that is set back does not delay deferred items', async () => {
    let behind = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() - behind }
    const queue = await open<string>({}, folder(), clock)
    let tries = 0
    queue.work(async ({ retries }) => {
      tries++
      return retries === 0 ? { type: 'later', at: clock.now() + 60, retry: true } : done
    })
    await queue.lanes.put('a', 'k', 'x')
    await vi.waitFor(() => expect(tries).toBe(1))
    behind = 3_600_000
    await queue.lanes.drain()
    expect(tries).toBe(2)
    await queue.end()
  })

  test('after a restart with a clock that was set back, a deferred item waits no longer than intended', async () => {
    let behind = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() - behind }
    const dir = folder()
    const first = await open<string>({}, dir, clock)
    const tried = new Set<string>()
    first.work(async ({ key }) => {
      tried.add(key)
      return { type: 'later', at: clock.now() + (key === 'soon' ? 60 : 3 * 86_400_000), retry: true }
    })
    await first.lanes.put('a', 'soon', 'x')
    await first.lanes.put('b', 'parked', 'x')
    await vi.waitFor(() => expect(tried.size).toBe(2))
    await first.end()
    behind = 86_400_000
    const next = await open<string>({}, dir, clock)
    const seen: string[] = []
    next.work(async ({ key }) => {
      seen.push(key)
      return done
    })
    await expect.poll(() => seen, { timeout: 5000 }).toEqual(['soon'])
    const [parked] = await next.lanes.waiting('b')
    expect(Math.round((parked!.notBefore - clock.now()) / 60_000)).toBe(3 * 24 * 60)
    await next.end()
    // Correcting the clock does not change a long wait.
    behind = 0
    const last = await open<string>({}, dir, clock)
    expect((await last.lanes.waiting('b'))[0]?.notBefore).toBe(parked!.notBefore)
    await last.end()
  })

  test('an item is marked as interrupted once: a retry after that is only marked as deferred', async () => {
    const dir = folder()
    const queue = await open<string>({}, dir)
    const begun = Promise.withResolvers<void>()
    queue.work(() => {
      begun.resolve()
      return new Promise(() => undefined)
    })
    await queue.lanes.put('a', 'k', 'x')
    await begun.promise
    await queue.close()
    const next = await open<string>({}, dir)
    const seen: { interrupted: boolean; putOff: boolean }[] = []
    next.work(async ({ interrupted, putOff }) => {
      seen.push({ interrupted, putOff })
      return seen.length < 3 ? { type: 'later', at: 1, retry: seen.length === 2 } : done
    })
    await next.lanes.drain()
    expect(seen).toEqual([
      { interrupted: true, putOff: false },
      { interrupted: false, putOff: true },
      { interrupted: false, putOff: true },
    ])
    await next.end()
  })

  test('an item deferred without a time sleeps across restarts until its lane is woken, even if the wake-up comes while it runs', async () => {
    const dir = folder()
    let queue = await open<string>({}, dir)
    let present = false
    let tries = 0
    const deliver = async (): Promise<Outcome> => {
      tries++
      return present ? done : { type: 'later', at: Number.POSITIVE_INFINITY }
    }
    queue.work(deliver)
    await queue.lanes.put('a', 'letter', 'x')
    await queue.lanes.drain()
    await queue.end()
    queue = await open<string>({}, dir)
    queue.work(deliver)
    await queue.lanes.drain()
    expect(tries).toBe(1)
    await queue.lanes.wake('a')
    expect(tries).toBe(2)
    present = true
    await queue.lanes.wake('a')
    expect(tries).toBe(3)
    expect(await queue.lanes.waiting()).toEqual([])
    let knocked = false
    await queue.end()
    queue = await open<string>({}, dir)
    const begun = Promise.withResolvers<void>()
    const knock = Promise.withResolvers<void>()
    queue.work(async () => {
      if (knocked) return done
      begun.resolve()
      await knock.promise
      return { type: 'later', at: Number.POSITIVE_INFINITY }
    })
    await queue.lanes.put('b', 'second', 'x')
    await begun.promise
    knocked = true
    const woken = queue.lanes.wake('b')
    knock.resolve()
    await woken
    expect(await queue.lanes.waiting()).toEqual([])
    await queue.end()
  })

  test('waiting items can be edited and cancelled, running ones cannot', async () => {
    const queue = await open<string>({ atOnce: 1 })
    const gate = Promise.withResolvers<void>()
    const seen: string[] = []
    queue.work(async ({ item }) => {
      await gate.promise
      seen.push(item)
      return done
    })
    await queue.lanes.put('a', 'running', 'r')
    await queue.lanes.put('a', 'edited', 'before')
    await queue.lanes.put('a', 'cancelled', 'c')
    await queue.lanes.put('b', 'b1', 'b1')
    await queue.lanes.put('b', 'b2', 'b2')
    expect(await queue.lanes.change('running', 'no')).toBe(false)
    expect(await queue.lanes.change('running', null)).toBe(false)
    expect(await queue.lanes.change('nobody', 'x')).toBe(false)
    expect(await queue.lanes.change('edited', 'after')).toBe(true)
    const positions = () => queue.lanes.positions('a').map(({ key, position }) => `${position} ${key}`)
    expect(positions()).toEqual(['1 edited', '2 cancelled'])
    expect(await queue.lanes.change('cancelled', null)).toBe(true)
    expect(positions()).toEqual(['1 edited'])
    expect(queue.lanes.positions('nobody')).toEqual([])
    expect(await queue.lanes.change('cancelled', null)).toBe(false)
    expect(await queue.lanes.cancel('b')).toEqual(['b1', 'b2'])
    gate.resolve()
    await queue.lanes.drain()
    expect(seen).toEqual(['r', 'after'])
    expect(queue.queueStore.counts('in')).toMatchObject({ received: 5, answered: 2, refused: 3 })
    await queue.end()
  })

  test('a cancellation and its follow-ups are one commit', async () => {
    const queue = await open<string>()
    const followUps = [{ queue: 'in', lane: 'other', key: 'told', item: 'it was cancelled' } as const]
    await queue.lanes.put('a', 'one', 'x')
    expect(await queue.lanes.change('nobody', null, followUps)).toBe(false)
    expect(await queue.lanes.knows('told')).toBe(false)
    expect(await queue.lanes.change('one', null, followUps)).toBe(true)
    const heard: string[] = []
    queue.work(async ({ item }) => {
      heard.push(item)
      return done
    })
    await queue.lanes.drain()
    expect(heard).toEqual(['it was cancelled'])
    await queue.end()
  })

  test('with collect, items that arrived meanwhile are taken together, in order', async () => {
    const queue = await open<string>({ collect: true })
    const gate = Promise.withResolvers<void>()
    const turns: string[][] = []
    queue.work(async ({ item, earlier }) => {
      turns.push([...earlier.map(one => one.item), item])
      await gate.promise
      return done
    })
    for (const item of ['1', '2', '3', '4']) await queue.lanes.put('a', item, item)
    gate.resolve()
    await queue.lanes.drain()
    expect(turns).toEqual([['1'], ['2', '3', '4']])
    expect(queue.queueStore.counts('in')).toMatchObject({ received: 4, answered: 4 })
    await queue.end()
  })

  test('follow-ups are stored in the same commit, once, and reach the other queue', async () => {
    const dir = folder()
    const { queueStore, close } = queueStores[name]!(dir, systemClock)
    const inbox = await openLanes<string>(queueStore, systemClock, rules<string>())
    const outbox = await openLanes<{ text: string }>(queueStore, systemClock, rules<{ text: string }>({ queue: 'out' }))
    const stop = new AbortController()
    const sent: string[] = []
    const work = [
      inbox.work(async ({ item, retries }) => {
        const followUps = [{ queue: 'out' as const, lane: 'here', key: `final of ${item}`, item: { text: item } }]
        return retries === 0 ? { type: 'later', at: 0, retry: true, followUps } : { type: 'done', followUps }
      }, stop.signal),
      outbox.work(async ({ item }) => {
        sent.push(item.text)
        return done
      }, stop.signal),
    ]
    await inbox.put('a', 'k1', 'one')
    await inbox.put('a', 'k2', 'two')
    await inbox.drain()
    await outbox.drain()
    expect(sent).toEqual(['one', 'two'])
    stop.abort()
    await Promise.all(work)
    await close()
  })

  test('a handler that throws ends its item visibly, and the lane continues', async () => {
    const broke: unknown[] = []
    const queue = await open<string>({
      broke: (_, error) => {
        broke.push(error)
        return { type: 'failed', why: 'broke' }
      },
    })
    const seen: string[] = []
    queue.work(async ({ item }) => {
      if (item === 'bad') throw new Error('bug')
      seen.push(item)
      return done
    })
    await queue.lanes.put('a', '1', 'bad')
    await queue.lanes.put('a', '2', 'good')
    await queue.lanes.drain()
    expect(broke).toHaveLength(1)
    expect(seen).toEqual(['good'])
    await queue.end()
  })

  test('stop aborts the running item; an attempt cut by our own shutdown is not counted', async () => {
    const dir = folder()
    let queue = await open<string>({}, dir)
    const begun = Promise.withResolvers<void>()
    queue.work((_, signal) => {
      begun.resolve()
      return new Promise(resolve => signal.addEventListener('abort', () => resolve({ type: 'cut' })))
    })
    expect(queue.lanes.stop('a')).toBe(false)
    await queue.lanes.put('a', 'k', 'x')
    await begun.promise
    const ended = queue.end()
    expect(queue.lanes.stop('a')).toBe(true)
    await ended
    queue = await open<string>({}, dir)
    const seen: unknown[] = []
    queue.work(async ({ attempt, interrupted }) => {
      seen.push([attempt, interrupted])
      return done
    })
    await queue.lanes.drain()
    expect(seen).toEqual([[1, true]])
    await queue.end()
  })

  test('an item that is handed over is done without a run of its own; if it is not taken, it keeps its place', async () => {
    const { lanes, work, end } = await open<string>({ atOnce: 1 })
    const ran: string[] = []
    const first = Promise.withResolvers<void>()
    work(async ({ item }) => {
      ran.push(item)
      if (item === 'first') await first.promise
      return done
    })
    for (const key of ['first', 'taken', 'kept', 'last']) await lanes.put('a', key, key)
    expect(await lanes.handOver('a', 'taken', async () => [])).toBe(true)
    expect(await lanes.handOver('a', 'taken', async () => [])).toBe(false)
    expect(await lanes.handOver('a', 'first', async () => [])).toBe(false)
    const undecided = Promise.withResolvers<null>()
    const kept = lanes.handOver('a', 'kept', () => undecided.promise)
    // The turn before it ends while it is undecided: nothing may overtake it.
    first.resolve()
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(ran).toEqual(['first'])
    undecided.resolve(null)
    expect(await kept).toBe(false)
    await lanes.drain()
    expect(ran).toEqual(['first', 'kept', 'last'])
    await end()
  })

  test('an item that only waits lends its place, keeps its lane, and gets its place back when it continues', async () => {
    const { lanes, work, end } = await open<string>({ atOnce: 1, busy: 'reject', background: key => key === 'helper' })
    const order: string[] = []
    const answered = Promise.withResolvers<void>()
    work(async ({ item }) => {
      order.push(`+${item}`)
      if (item === 'asks') {
        await lanes.put('helper', 'h', 'helps')
        await lanes.lend('a', () => answered.promise)
      }
      if (item === 'helps') answered.resolve()
      order.push(`-${item}`)
      return done
    })
    expect(await lanes.put('a', '1', 'asks')).toMatchObject({ type: 'accepted' })
    expect(await lanes.put('a', '2', 'next')).toMatchObject({ type: 'accepted' })
    await lanes.drain()
    expect(order).toEqual(['+asks', '+helps', '-helps', '-asks', '+next', '-next'])
    await end()
  })

  test('a lent place is free for others; an item that ends while its place is lent frees nothing twice; at most as many items wait as there are places', async () => {
    const { lanes, work, end } = await open<string>({ atOnce: 2, busy: 'reject' })
    const refused: unknown[] = []
    const held = new Map<string, PromiseWithResolvers<void>>()
    const hold = (name: string) => {
      const waiting = Promise.withResolvers<void>()
      held.set(name, waiting)
      return waiting.promise
    }
    let most = 0
    let now = 0
    work(async ({ lane, item }, signal) => {
      const stopped = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      if (item === 'waits') {
        const lent = lanes.lend(lane, () => hold(lane)).then(value => value === null && refused.push(lane))
        await Promise.race([lent, stopped])
        return done
      }
      most = Math.max(most, ++now)
      await Promise.race([hold(lane), stopped])
      now--
      return done
    })
    for (const lane of ['a', 'b', 'c']) {
      expect(await lanes.put(lane, lane, 'waits')).toMatchObject({ type: 'accepted' })
      await vi.waitFor(() => expect(held.has(lane) || refused.includes(lane)).toBe(true))
    }
    expect(refused).toEqual(['c'])
    await vi.waitFor(() => expect(lanes.depth().running).toBe(2))
    for (const lane of ['d', 'e']) expect(await lanes.put(lane, lane, 'works')).toMatchObject({ type: 'accepted' })
    await vi.waitFor(() => expect(held.has('e')).toBe(true))
    expect(await lanes.put('f', 'f', 'works')).toMatchObject({ type: 'refused', why: 'busy' })
    // It ends while its place is lent, and the result it waited for comes too late.
    lanes.stop('a')
    await vi.waitFor(() => expect(lanes.depth().running).toBe(3))
    held.get('a')?.resolve()
    await pause(20)
    expect(await lanes.put('f', 'f2', 'works')).toMatchObject({ type: 'refused', why: 'busy' })
    expect([lanes.depth().running, most]).toEqual([3, 2])
    // The other continues immediately, beside the two that run.
    held.get('b')?.resolve()
    await vi.waitFor(() => expect(lanes.depth().running).toBe(2))
    for (const lane of ['d', 'e']) held.get(lane)?.resolve()
    await lanes.drain()
    expect(await lanes.put('g', 'g', 'works')).toMatchObject({ type: 'accepted' })
    await vi.waitFor(() => expect(held.has('g')).toBe(true))
    held.get('g')?.resolve()
    await end()
  })

  test('work does not resolve while an item that lent its place still runs', async () => {
    const { lanes, work, end } = await open<string>({ atOnce: 1 })
    const coming = Promise.withResolvers<void>()
    const lent = Promise.withResolvers<void>()
    let ended = false
    work(async ({ lane }) => {
      await lanes.lend(lane, () => {
        lent.resolve()
        return coming.promise
      })
      ended = true
      return done
    })
    await lanes.put('a', '1', 'waits')
    await lent.promise
    const stopped = end()
    await pause(20)
    coming.resolve()
    await stopped
    expect(ended).toBe(true)
  })

  test('items that wait when work stops are there for the next process', async () => {
    const dir = folder()
    let queue = await open<number>({}, dir)
    for (let i = 0; i < 10; i++) await queue.lanes.put(`lane-${i % 3}`, `key-${i}`, i)
    await queue.end()
    queue = await open<number>({}, dir)
    const seen: number[] = []
    queue.work(async ({ item }) => {
      seen.push(item)
      return done
    })
    await queue.lanes.drain()
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, i) => i))
    await queue.end()
  })

  test('work ends even if an outcome cannot be stored, without waiting for the next attempt', async () => {
    let pauses = 0
    // Simulated time stands still: only the end of the work ends a pause.
    const sleep: Clock['sleep'] = (_, signal) =>
      new Promise(resolve => {
        pauses++
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve())
      })
    const clock: Clock = { ...systemClock, sleep }
    const { queueStore, close } = queueStores[name]!(folder(), clock)
    const settle = async () => {
      throw new Error('the disk is read-only')
    }
    const lanes = await openLanes<string>({ ...queueStore, settle }, clock, rules<string>({ stuck: () => 'again' }))
    const stop = new AbortController()
    const working = lanes.work(async () => done, stop.signal)
    await lanes.put('a', 'k', 'x')
    await until(() => pauses > 0)
    stop.abort()
    await working
    await close()
  })

  const again = (clock: Clock = systemClock): Outcome => ({ type: 'later', at: clock.now() + 5, retry: true })

  test('an item that fails again and again lets the others pass after a while, also in the next process, and is not given up', async () => {
    const dir = folder()
    let queue = await open<string>({ patience: 3 }, dir)
    const tries: string[] = []
    const bad = async ({ item }: Taken<string>) => {
      tries.push(item)
      return item === 'bad' ? again() : done
    }
    queue.work(bad)
    for (const item of ['bad', 'b']) await queue.lanes.put('a', item, item)
    await until(() => tries.includes('b'))
    expect(tries.slice(0, 5)).toEqual(['bad', 'bad', 'bad', 'bad', 'b'])
    await queue.end()
    queue = await open<string>({ patience: 3 }, dir)
    tries.length = 0
    queue.work(bad)
    await queue.lanes.put('a', 'c', 'c')
    const left = () => queue.lanes.depth().waiting + queue.lanes.depth().running
    await until(() => tries.includes('c') && !queue.lanes.isBusy('a') && left() === 1)
    await queue.end()
    queue = await open<string>({ patience: 3 }, dir)
    queue.work(async () => done)
    await queue.lanes.drain()
    expect(queue.queueStore.counts('in')).toMatchObject({ received: 3, answered: 3 })
    await queue.end()
  })

  test('after a long outage, in which items let others pass, the original order is restored', async () => {
    const queue = await open<number>({ patience: 2 })
    let tries = 0
    const seen: number[] = []
    queue.work(async ({ item }) => {
      // The outage ends, and the newest would be due first.
      if (++tries <= 60 || (item !== 0 && !seen.includes(0)))
        return { type: 'later', at: systemClock.now() + 2 + 30 * (5 - item), retry: true }
      seen.push(item)
      return done
    })
    for (let i = 0; i < 6; i++) await queue.lanes.put('a', `key-${i}`, i)
    await queue.lanes.drain()
    expect(seen).toEqual([0, 1, 2, 3, 4, 5])
    await queue.end()
  })

  test('an item that goes ahead passes deferred items, and nothing else', async () => {
    const queue = await open<string>({ ahead: item => item.startsWith('/') })
    const seen: string[] = []
    const gate = Promise.withResolvers<void>()
    queue.work(async ({ item, retries }) => {
      if (item === 'slow') await gate.promise
      if (item === 'bad' && retries < 1) return { type: 'later', at: systemClock.now() + 400, retry: true }
      seen.push(item)
      return done
    })
    for (const item of ['slow', 'bad', 'b', '/status', '/help']) await queue.lanes.put('a', item, item)
    gate.resolve()
    await queue.lanes.drain()
    expect(seen).toEqual(['slow', '/status', '/help', 'bad', 'b'])
    await queue.end()
  })

  test('nothing goes ahead of an item that sleeps until it is woken', async () => {
    const queue = await open<string>({ ahead: item => item.startsWith('/') })
    const seen: string[] = []
    let there = false
    let tries = 0
    queue.work(async ({ item }) => {
      tries++
      if (!there) return { type: 'later', at: Number.POSITIVE_INFINITY }
      seen.push(item)
      return done
    })
    for (const item of ['a', '/status']) await queue.lanes.put('a', item, item)
    await vi.waitFor(() => expect(tries).toBe(1))
    await pause(20)
    there = true
    await queue.lanes.wake('a')
    await vi.waitFor(() => expect(seen).toEqual(['a', '/status']))
    await queue.end()
  })

  test('the counts add up for any mix: received = answered + waiting + running + refused + failed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('done', 'failed', 'refuse', 'cancel', 'repeat'), { maxLength: 30 }),
        async steps => {
          const queue = await open<string>({ maxDepth: 8 })
          for (const [i, step] of steps.entries()) {
            if (step === 'refuse') await queue.lanes.refuse('x', `key-${i}`)
            else await queue.lanes.put(`lane-${i % 4}`, step === 'repeat' ? 'key-0' : `key-${i}`, step)
            if (step === 'cancel') await queue.lanes.change(`key-${i}`, null)
          }
          const sum = () => {
            const { received, answered, refused, failed } = queue.queueStore.counts('in') as Record<string, number>
            const { waiting, running } = queue.lanes.depth()
            expect(received).toBe(answered! + waiting + running + refused! + failed!)
          }
          sum()
          queue.work(async ({ item }) => (item === 'failed' ? { type: 'failed', why: 'x' } : done))
          await queue.lanes.drain()
          sum()
          await queue.end()
        },
      ),
      { numRuns: 100 },
    )
  })
})
