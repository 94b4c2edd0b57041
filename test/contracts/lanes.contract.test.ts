// What every implementation of the lanes must hold, looped over all of them.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/app/clock.ts'
import type { Happening } from '../../src/base/event.ts'
import type { Outcome, Shelf, Taken } from '../../src/base/lanes.ts'
import type { Clock } from '../../src/base/time.ts'
import { type LaneRules, openLanes } from '../../src/lanes/index.ts'
import { openDatabase, openShelf } from '../../src/store/index.ts'

interface Opened {
  readonly shelf: Shelf & { counts(box: 'in' | 'out'): Record<string, number> }
  close(): Promise<void>
}

/** Each opens the shelf kept under `dir`, as a new process would. */
const shelves: Record<string, (dir: string, clock: Clock) => Opened> = {
  sqlite(dir, clock) {
    const db = openDatabase(join(dir, 'lanes.db'))
    return { shelf: openShelf(db, clock) as unknown as Opened['shelf'], close: db.close }
  },
}

const folders: string[] = []
const folder = () => {
  // In memory where there is such a disk: the laws are the same and hundreds of databases are opened.
  const dir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'aetheel-lanes-'))
  folders.push(dir)
  return dir
}
afterEach(() => {
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true, force: true })
})

const rules = <Item>(given: Partial<LaneRules<Item>> = {}): LaneRules<Item> => ({
  box: 'in',
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
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe.each(Object.keys(shelves))('lanes on %s', name => {
  const open = async <Item>(given: Partial<LaneRules<Item>> = {}, dir = folder(), clock: Clock = systemClock) => {
    const opened = shelves[name]!(dir, clock)
    const lanes = await openLanes<Item>(opened.shelf, clock, rules<Item>(given))
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
        const box = await open<number>()
        const order = new Map<string, number[]>()
        const busy = new Set<string>()
        box.work(async ({ lane, item }) => {
          expect(busy.has(lane)).toBe(false)
          busy.add(lane)
          order.set(lane, [...(order.get(lane) ?? []), item])
          await pause(tasks[item]?.[1] ?? 0)
          busy.delete(lane)
          return done
        })
        await Promise.all(tasks.map(([lane], i) => box.lanes.put(`lane-${lane}`, `key-${i}`, i)))
        await box.lanes.drain()
        for (const [lane, seen] of order)
          expect(seen).toEqual(tasks.flatMap(([of], i) => (`lane-${of}` === lane ? [i] : [])))
        expect([...order.values()].flat()).toHaveLength(tasks.length)
        await box.end()
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 14: Concurrency limit rejection
  test('a new conversation is refused as busy while the limit is reached, and one under way is not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 }), async (atOnce, more) => {
        const box = await open<number>({ atOnce, busy: 'reject' })
        const gate = Promise.withResolvers<void>()
        let begun = 0
        box.work(async () => {
          begun++
          await gate.promise
          return done
        })
        for (let i = 0; i < atOnce; i++) expect((await box.lanes.put(`lane-${i}`, `key-${i}`, i)).type).toBe('accepted')
        for (let i = 0; i < more; i++)
          expect(await box.lanes.put(`new-${i}`, `new-${i}`, i)).toMatchObject({ type: 'refused', why: 'busy' })
        expect(await box.lanes.put('lane-0', 'second', 9)).toMatchObject({ type: 'accepted', position: 1 })
        await pause(1)
        expect(begun).toBe(atOnce)
        gate.resolve()
        await box.lanes.drain()
        expect(begun).toBe(atOnce + 1)
        expect(box.shelf.counts('in')).toMatchObject({
          received: atOnce + more + 1,
          answered: atOnce + 1,
          refused: more,
        })
        await box.end()
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 15: Event queue accepts all event types with monotonic IDs
  test('all kinds of events are accepted, with strictly growing ids and times that never go back', async () => {
    const kinds = ['message', 'heartbeat', 'cron', 'hook', 'webhook', 'report'] as const satisfies Happening['kind'][]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...kinds), fc.integer({ min: -5000, max: 5000 })), {
          minLength: 1,
          maxLength: 30,
        }),
        async events => {
          let wall = 1_700_000_000_000
          const clock: Clock = { ...systemClock, now: () => wall }
          const box = await open<{ kind: string }>({}, folder(), clock)
          const ids: number[] = []
          for (const [i, [kind, jump]] of events.entries()) {
            wall += jump // the wall clock goes backwards as it likes
            const put = await box.lanes.put('one', `key-${i}`, { kind })
            expect(put.type).toBe('accepted')
            if (put.type === 'accepted') ids.push(put.id)
          }
          const waiting = await box.lanes.waiting()
          expect(waiting.map(one => one.id)).toEqual(ids)
          expect(waiting.map(one => one.item.kind)).toEqual(events.map(([kind]) => kind))
          for (const [i, one] of waiting.entries()) {
            const before = waiting[i - 1]
            if (!before) continue
            expect(one.id).toBeGreaterThan(before.id)
            expect(one.at).toBeGreaterThanOrEqual(before.at)
          }
          await box.end()
        },
      ),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 16: Event queue FIFO dispatch with sequential processing
  test('with one lane at a time, everything runs in the exact order of arrival, one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(4), { minLength: 1, maxLength: 20 }), async lanesOf => {
        const box = await open<number>({ atOnce: 1 })
        const log: string[] = []
        for (const [i, lane] of lanesOf.entries()) await box.lanes.put(`lane-${lane}`, `key-${i}`, i)
        box.work(async ({ item }) => {
          log.push(`begin ${item}`)
          await pause(0)
          log.push(`end ${item}`)
          return done
        })
        await box.lanes.drain()
        expect(log).toEqual(lanesOf.flatMap((_, i) => [`begin ${i}`, `end ${i}`]))
        await box.end()
      }),
      { numRuns: 100 },
    )
  })

  // Feature: discord-claude-gateway, Property 17: Event queue depth rejection
  test('a storm in the background is refused while there is still room for people', async () => {
    const background = (lane: string) => lane.startsWith('webhook:')
    const box = await open<string>({ atOnce: 1, maxDepth: 10, busy: 'queue', background })
    const put = async (lane: string, i: number) => (await box.lanes.put(lane, `${lane}-${i}`, 'x')).type
    const storm: string[] = []
    for (let i = 0; i < 20; i++) storm.push(await put('webhook:git', i))
    expect(storm.filter(type => type === 'accepted')).toHaveLength(8)
    expect([await put('webchat:a', 1), await put('webchat:a', 2), await put('webchat:a', 3)]).toEqual([
      ...['accepted', 'accepted', 'refused'],
    ])
    await box.end()
  })

  test('people go first: what runs in the background waits behind them, leaves them places and is never busy', async () => {
    const background = (lane: string) => lane.startsWith('cron:')
    const box = await open<string>({ atOnce: 4, busy: 'reject', background })
    const gates = new Map<string, () => void>()
    const begun: string[] = []
    box.work(({ item }) => {
      begun.push(item)
      return new Promise(resolve => gates.set(item, () => resolve(done)))
    })
    const put = (lane: string) => box.lanes.put(lane, lane, lane)
    const end = async (item: string) => {
      gates.get(item)?.()
      await pause(20)
    }
    for (const n of [1, 2, 3, 4, 5]) expect(await put(`cron:${n}`)).toMatchObject({ type: 'accepted' })
    await pause(20)
    // Of four places two stay free for people, and a full background is no reason to turn one away.
    expect(begun).toEqual(['cron:1', 'cron:2'])
    for (const who of ['ada', 'bob', 'cleo', 'dan']) expect(await put(who)).toMatchObject({ type: 'accepted' })
    expect(await put('eve')).toMatchObject({ type: 'refused', why: 'busy' })
    expect(await put('cron:6')).toMatchObject({ type: 'accepted' })
    await pause(20)
    expect(begun.slice(2)).toEqual(['ada', 'bob'])
    // Older ones of the background wait; the next place goes to a person.
    await end('cron:1')
    expect(begun.slice(4)).toEqual(['cleo'])
    await end('ada')
    expect(begun.slice(5)).toEqual(['dan'])
    for (const item of ['bob', 'cleo', 'dan', 'cron:2']) await end(item)
    expect(begun.slice(6)).toEqual(['cron:3', 'cron:4'])
    for (const item of ['cron:3', 'cron:4', 'cron:5', 'cron:6']) await end(item)
    expect(begun).toHaveLength(10)
    await box.end()
  })

  test('with one lane named, nothing else is taken up', async () => {
    const box = await open<string>()
    const first = new AbortController()
    const begun: string[] = []
    const handle = async ({ item }: Taken<string>) => {
      begun.push(item)
      return done
    }
    for (const lane of ['a', 'hook:shutdown', 'b']) await box.lanes.put(lane, lane, lane)
    const working = box.lanes.work(handle, first.signal, 'hook:shutdown')
    await box.lanes.put('c', 'c', 'c')
    await pause(20)
    expect(begun).toEqual(['hook:shutdown'])
    first.abort()
    await working
    box.work(handle)
    await box.lanes.drain()
    expect(begun).toEqual(['hook:shutdown', 'a', 'b', 'c'])
    await box.end()
  })

  test('at its maximum depth the queue refuses and stays as it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        async (maxDepth, more, together) => {
          const box = await open<number>({ maxDepth })
          const put = (i: number) => box.lanes.put(`lane-${i % 3}`, `key-${i}`, i)
          const all = Array.from({ length: maxDepth + more }, (_, i) => i)
          const answers = together ? await Promise.all(all.map(put)) : []
          if (!together) for (const i of all) answers.push(await put(i))
          expect(answers.slice(0, maxDepth).every(answer => answer.type === 'accepted')).toBe(true)
          for (const answer of answers.slice(maxDepth))
            expect(answer).toMatchObject({ type: 'refused', why: 'full', depth: maxDepth })
          expect(box.lanes.depth().waiting).toBe(maxDepth)
          await box.end()
        },
      ),
      { numRuns: 100 },
    )
  })

  test('a known key is the same item: waiting, running, finished, and even when everything is refused', async () => {
    const box = await open<string>({ maxDepth: 1 })
    const first = await box.lanes.put('a', 'key', 'one')
    expect(await box.lanes.put('a', 'key', 'one')).toEqual({
      type: 'duplicate',
      id: first.type === 'accepted' ? first.id : -1,
    })
    const seen: string[] = []
    box.work(async ({ item }) => {
      seen.push(item)
      return done
    })
    await box.lanes.drain()
    expect((await box.lanes.put('a', 'key', 'one')).type).toBe('duplicate')
    expect(seen).toEqual(['one'])
    await box.end()
  })

  test('what ran when the process died waits again, is told so, and after three attempts it is set aside', async () => {
    const dir = folder()
    const seen: unknown[] = []
    for (let life = 1; life <= 3; life++) {
      const box = await open<string>({}, dir)
      if (life === 1) await box.lanes.put('a', 'deadly', 'x')
      const taken = Promise.withResolvers<void>()
      box.work(async ({ attempt, interrupted }) => {
        seen.push([attempt, interrupted])
        taken.resolve()
        return new Promise(() => undefined)
      })
      await taken.promise
      await box.close() // as if killed: nothing is settled
    }
    const aside: string[] = []
    const box = await open<string>(
      {
        giveUp: ({ key, attempt }) => {
          aside.push(`${key} ${attempt}`)
          return { type: 'failed', why: 'set aside' }
        },
      },
      dir,
    )
    const others: string[] = []
    await box.lanes.put('a', 'harmless', 'y')
    box.work(async ({ key }) => {
      others.push(key)
      return done
    })
    await box.lanes.drain()
    expect(seen).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ])
    expect(aside).toEqual(['deadly 4'])
    expect(others).toEqual(['harmless'])
    expect(box.shelf.counts('in')).toMatchObject({ received: 2, answered: 1, failed: 1 })
    await box.end()
  })

  test('a put-off item keeps its place at the head of its lane and comes back at its time, with its retries counted', async () => {
    const box = await open<string>()
    const seen: string[] = []
    box.work(async ({ key, retries, attempt }) => {
      seen.push(`${key} ${retries} ${attempt}`)
      return key === 'first' && retries < 2 ? { type: 'later', at: systemClock.now() + 20, retry: true } : done
    })
    await box.lanes.put('a', 'first', '')
    await box.lanes.put('a', 'second', '')
    await box.lanes.put('b', 'other', '')
    await box.lanes.drain()
    expect(seen.filter(one => !one.startsWith('other'))).toEqual(['first 0 1', 'first 1 1', 'first 2 1', 'second 0 1'])
    expect(seen.indexOf('other 0 1')).toBeLessThan(2)
    await box.end()
  })

  test('a clock that is set back does not keep what was put off from coming back', async () => {
    let behind = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() - behind }
    const box = await open<string>({}, folder(), clock)
    let tries = 0
    box.work(async ({ retries }) => {
      tries++
      return retries === 0 ? { type: 'later', at: clock.now() + 60, retry: true } : done
    })
    await box.lanes.put('a', 'k', 'x')
    await pause(20)
    behind = 3_600_000
    await box.lanes.drain()
    expect(tries).toBe(2)
    await box.end()
  })

  test('an interrupted item is told so until it has come to an end, also after a pause', async () => {
    const dir = folder()
    const box = await open<string>({}, dir)
    box.work(() => new Promise(() => undefined))
    await box.lanes.put('a', 'k', 'x')
    await pause(20)
    await box.close()
    const next = await open<string>({}, dir)
    const seen: boolean[] = []
    next.work(async ({ interrupted, retries }) => {
      seen.push(interrupted)
      return retries === 0 ? { type: 'later', at: 0, retry: true } : done
    })
    await next.lanes.drain()
    expect(seen).toEqual([true, true])
    await next.end()
  })

  test('what is put off without a time sleeps over restarts until it is woken, also when the knock comes while it runs', async () => {
    const dir = folder()
    let box = await open<string>({}, dir)
    let present = false
    let tries = 0
    const deliver = async (): Promise<Outcome> => {
      tries++
      return present ? done : { type: 'later', at: Number.POSITIVE_INFINITY }
    }
    box.work(deliver)
    await box.lanes.put('a', 'letter', 'x')
    await box.lanes.drain()
    await box.end()
    box = await open<string>({}, dir)
    box.work(deliver)
    await box.lanes.drain()
    expect(tries).toBe(1)
    await box.lanes.wake('a')
    expect(tries).toBe(2)
    present = true
    await box.lanes.wake('a')
    expect(tries).toBe(3)
    expect(await box.lanes.waiting()).toEqual([])
    let knocked = false
    await box.end()
    box = await open<string>({}, dir)
    const begun = Promise.withResolvers<void>()
    const knock = Promise.withResolvers<void>()
    box.work(async () => {
      if (knocked) return done
      begun.resolve()
      await knock.promise
      return { type: 'later', at: Number.POSITIVE_INFINITY }
    })
    await box.lanes.put('b', 'second', 'x')
    await begun.promise
    knocked = true
    const woken = box.lanes.wake('b')
    knock.resolve()
    await woken
    expect(await box.lanes.waiting()).toEqual([])
    await box.end()
  })

  test('what waits can be edited and cancelled, what runs cannot', async () => {
    const box = await open<string>({ atOnce: 1 })
    const gate = Promise.withResolvers<void>()
    const seen: string[] = []
    box.work(async ({ item }) => {
      await gate.promise
      seen.push(item)
      return done
    })
    await box.lanes.put('a', 'running', 'r')
    await box.lanes.put('a', 'edited', 'before')
    await box.lanes.put('a', 'cancelled', 'c')
    await box.lanes.put('b', 'b1', 'b1')
    await box.lanes.put('b', 'b2', 'b2')
    expect(await box.lanes.change('running', 'no')).toBe(false)
    expect(await box.lanes.change('running', null)).toBe(false)
    expect(await box.lanes.change('nobody', 'x')).toBe(false)
    expect(await box.lanes.change('edited', 'after')).toBe(true)
    expect(await box.lanes.change('cancelled', null)).toBe(true)
    expect(await box.lanes.change('cancelled', null)).toBe(false)
    expect(await box.lanes.cancel('b')).toEqual(['b1', 'b2'])
    gate.resolve()
    await box.lanes.drain()
    expect(seen).toEqual(['r', 'after'])
    expect(box.shelf.counts('in')).toMatchObject({ received: 5, answered: 2, refused: 3 })
    await box.end()
  })

  test('a cancellation and what follows from it are one', async () => {
    const box = await open<string>()
    const followUps = [{ box: 'in', lane: 'other', key: 'told', item: 'it was cancelled' } as const]
    await box.lanes.put('a', 'one', 'x')
    expect(await box.lanes.change('nobody', null, followUps)).toBe(false)
    expect(await box.lanes.knows('told')).toBe(false)
    expect(await box.lanes.change('one', null, followUps)).toBe(true)
    const heard: string[] = []
    box.work(async ({ item }) => {
      heard.push(item)
      return done
    })
    await box.lanes.drain()
    expect(heard).toEqual(['it was cancelled'])
    await box.end()
  })

  test('with collect, what came in meanwhile is taken together, in order', async () => {
    const box = await open<string>({ collect: true })
    const gate = Promise.withResolvers<void>()
    const turns: string[][] = []
    box.work(async ({ item, earlier }) => {
      turns.push([...earlier.map(one => one.item), item])
      await gate.promise
      return done
    })
    for (const item of ['1', '2', '3', '4']) await box.lanes.put('a', item, item)
    gate.resolve()
    await box.lanes.drain()
    expect(turns).toEqual([['1'], ['2', '3', '4']])
    expect(box.shelf.counts('in')).toMatchObject({ received: 4, answered: 4 })
    await box.end()
  })

  test('follow-ups are stored in the same commit, once, and reach the other box', async () => {
    const dir = folder()
    const { shelf, close } = shelves[name]!(dir, systemClock)
    const inbox = await openLanes<string>(shelf, systemClock, rules<string>())
    const outbox = await openLanes<{ text: string }>(shelf, systemClock, rules<{ text: string }>({ box: 'out' }))
    const stop = new AbortController()
    const sent: string[] = []
    const work = [
      inbox.work(async ({ item, retries }) => {
        const followUps = [{ box: 'out' as const, lane: 'here', key: `final of ${item}`, item: { text: item } }]
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

  test('a handler that throws is a visible end, and its lane goes on', async () => {
    const broke: unknown[] = []
    const box = await open<string>({
      broke: (_, error) => {
        broke.push(error)
        return { type: 'failed', why: 'broke' }
      },
    })
    const seen: string[] = []
    box.work(async ({ item }) => {
      if (item === 'bad') throw new Error('bug')
      seen.push(item)
      return done
    })
    await box.lanes.put('a', '1', 'bad')
    await box.lanes.put('a', '2', 'good')
    await box.lanes.drain()
    expect(broke).toHaveLength(1)
    expect(seen).toEqual(['good'])
    await box.end()
  })

  test('stop reaches what runs; an attempt that we cut off ourselves is given back', async () => {
    const dir = folder()
    let box = await open<string>({}, dir)
    const begun = Promise.withResolvers<void>()
    box.work((_, signal) => {
      begun.resolve()
      return new Promise(resolve => signal.addEventListener('abort', () => resolve({ type: 'cut' })))
    })
    expect(box.lanes.stop('a')).toBe(false)
    await box.lanes.put('a', 'k', 'x')
    await begun.promise
    const ended = box.end()
    expect(box.lanes.stop('a')).toBe(true)
    await ended
    box = await open<string>({}, dir)
    const seen: unknown[] = []
    box.work(async ({ attempt, interrupted }) => {
      seen.push([attempt, interrupted])
      return done
    })
    await box.lanes.drain()
    expect(seen).toEqual([[1, true]])
    await box.end()
  })

  test('what waits when work stops is still there for the next process', async () => {
    const dir = folder()
    let box = await open<number>({}, dir)
    for (let i = 0; i < 10; i++) await box.lanes.put(`lane-${i % 3}`, `key-${i}`, i)
    await box.end()
    box = await open<number>({}, dir)
    const seen: number[] = []
    box.work(async ({ item }) => {
      seen.push(item)
      return done
    })
    await box.lanes.drain()
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, i) => i))
    await box.end()
  })

  test('the sum holds for any mix: received = answered + waiting + running + refused + failed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('done', 'failed', 'refuse', 'cancel', 'repeat'), { maxLength: 30 }),
        async steps => {
          const box = await open<string>({ maxDepth: 8 })
          for (const [i, step] of steps.entries()) {
            if (step === 'refuse') await box.lanes.refuse('x', `key-${i}`)
            else await box.lanes.put(`lane-${i % 4}`, step === 'repeat' ? 'key-0' : `key-${i}`, step)
            if (step === 'cancel') await box.lanes.change(`key-${i}`, null)
          }
          const sum = () => {
            const { received, answered, refused, failed } = box.shelf.counts('in') as Record<string, number>
            const { waiting, running } = box.lanes.depth()
            expect(received).toBe(answered! + waiting + running + refused! + failed!)
          }
          sum()
          box.work(async ({ item }) => (item === 'failed' ? { type: 'failed', why: 'x' } : done))
          await box.lanes.drain()
          sum()
          await box.end()
        },
      ),
      { numRuns: 100 },
    )
  })
})
